/** A partition, and messages lost by chance: things that concern all links. */
import { useEffect, useState } from 'preact/hooks'
import type { NodeId } from '../../../../../src/core/index.ts'
import { colourNumber } from '../colours.ts'
import { roleAfter } from '../look-up.ts'
import { act, calmCursor, canAct, dialog, picture } from '../state.ts'
import { closeDialog, Frame } from './frame.tsx'

/** Each node is on one of two sides; the leader starts alone. */
export function PartitionDialog() {
  const shown = picture.value
  const [inside, setInside] = useState<readonly NodeId[]>([])
  const isOpen = dialog.value === 'partition'
  useEffect(() => {
    if (!isOpen || shown === null) return
    const leader = shown.lanes.find((lane) => roleAfter(lane, calmCursor.value.moment)?.leads === true)
    setInside(leader === undefined ? shown.nodes.slice(0, 1) : [leader.node])
  }, [isOpen])
  if (shown === null) return null
  const outside = shown.nodes.filter((node) => !inside.includes(node))
  const move = (node: NodeId): void =>
    setInside((before) =>
      before.includes(node)
        ? before.filter((each) => each !== node)
        : shown.nodes.filter((each) => each === node || before.includes(each)),
    )
  return (
    <Frame name="partition" title="Partition the network">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          closeDialog()
          act({ partition: [inside, outside] })
        }}
      >
        <p class="hint">
          Nodes talk only to nodes of their side. Select a node to move it to the other side.
        </p>
        <div class="sides">
          {[inside, outside].map((side, place) => (
            <fieldset key={place === 0 ? 'A' : 'B'}>
              <legend>Side {place === 0 ? 'A' : 'B'}</legend>
              {side.map((node) => (
                <button
                  type="button"
                  key={String(node)}
                  class={`chip node-colour c${colourNumber(shown.nodes.indexOf(node))}`}
                  aria-label={`Move node ${node} to the other side`}
                  onClick={() => move(node)}
                >
                  {node}
                </button>
              ))}
              {side.length === 0 ? <p class="hint">at least one node</p> : null}
            </fieldset>
          ))}
        </div>
        <div class="buttons">
          <button
            type="submit"
            class="primary"
            disabled={inside.length === 0 || outside.length === 0 || !canAct.value}
          >
            Partition
          </button>
        </div>
      </form>
    </Frame>
  )
}

export function NetworkDialog() {
  const submit = (name: 'loss' | 'duplicate') => (event: SubmitEvent) => {
    event.preventDefault()
    const percent = Number(new FormData(event.currentTarget as HTMLFormElement).get(name))
    closeDialog()
    act(name === 'loss' ? { loss: percent / 100 } : { duplicate: percent / 100 })
  }
  return (
    <Frame name="network" title="Chance on all links">
      {(['loss', 'duplicate'] as const).map((name) => (
        <form key={name} class="amount" onSubmit={submit(name)}>
          <label>
            {name === 'loss' ? 'Lose' : 'Duplicate'}
            <input type="number" name={name} min={0} max={100} step="any" required defaultValue="10" />% of
            all messages from now on
          </label>
          <button type="submit" class="primary" disabled={!canAct.value}>
            {name === 'loss' ? 'Lose messages' : 'Duplicate messages'}
          </button>
        </form>
      ))}
    </Frame>
  )
}
