/** Chooses the two sides of a partition: drag a node to the other side, or focus it and press Space. */
import { useEffect, useState } from 'preact/hooks'
import { isPartitioning, proposed } from '../data/act.ts'
import { ids, status } from '../data/store.ts'
import { moveNode, proposeSides } from '../view/actions.ts'
import { colourOf } from '../view/nodes.ts'
import { useDialog } from './hooks.ts'

type Sides = ReturnType<typeof proposeSides>

export function PartitionDialog() {
  const [sides, setSides] = useState<Sides>([[], []])
  const isOpen = isPartitioning.value
  const close = (): void => {
    isPartitioning.value = false
  }
  const dialog = useDialog(isOpen, close)
  useEffect(() => {
    if (!isOpen) return
    const leader = status.value?.leader?.id
    setSides(proposeSides(ids.value, leader === undefined ? null : String(leader)))
  }, [isOpen])
  const submit = (event: Event): void => {
    event.preventDefault()
    close()
    proposed.value = { what: 'partition', sides: sides.filter((side) => side.length > 0) }
  }
  const isPossible = sides.every((side) => side.length > 0)
  return (
    <dialog {...dialog} aria-labelledby="partition-title">
      <form onSubmit={submit}>
        <h2 id="partition-title">Partition the group</h2>
        <p>Drag a node to the other side, or focus it and press Space.</p>
        <div class="sides">
          {sides.map((side, place) => (
            <Side
              key={place === 0 ? 'left' : 'right'}
              name={place === 0 ? 'One side' : 'The other side'}
              side={side}
              onMove={(id) => setSides((before) => moveNode(before, id))}
            />
          ))}
        </div>
        <div class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isPossible}>
            Continue
          </button>
        </div>
      </form>
    </dialog>
  )
}

type SideProps = {
  readonly name: string
  readonly side: readonly string[]
  readonly onMove: (id: string) => void
}

const TYPE = 'text/plain'

function Side({ name, side, onMove }: SideProps) {
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    const id = event.dataTransfer?.getData(TYPE) ?? ''
    if (ids.value.includes(id) && !side.includes(id)) onMove(id)
  }
  return (
    <fieldset onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <legend>{name}</legend>
      {side.map((id) => (
        <button
          type="button"
          key={id}
          class={`chip node-colour c${colourOf(ids.value, id)}`}
          draggable
          aria-label={`Move ${id} to the other side`}
          onDragStart={(event) => event.dataTransfer?.setData(TYPE, id)}
          onClick={() => onMove(id)}
        >
          {id}
        </button>
      ))}
      {side.length === 0 ? <p class="hint">at least one node</p> : null}
    </fieldset>
  )
}
