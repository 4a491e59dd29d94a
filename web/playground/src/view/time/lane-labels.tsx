/** The names beside the lanes, with the role of each node and how far its clock is off. */
import type { Lane, Picture } from '../../engine/picture.ts'
import { colourNumber } from '../colours.ts'
import { ownElapsed } from '../look-up.ts'
import { Mark } from '../mark.tsx'
import { conditionAt, markOf, wordOf } from '../node-words.ts'
import { calmCursor, selection, selectNode } from '../state.ts'
import type { LaneBox } from './lanes.ts'

export type LaneLabelsProps = {
  readonly picture: Picture
  readonly boxes: readonly LaneBox[]
  readonly width: number
}

const ROOM_FOR_WORDS = 34
const ROOM_FOR_CLOCK = 54
/** A clock that is off by less is called exact. */
const LEAST_OFF = 500

export function LaneLabels({ picture, boxes, width }: LaneLabelsProps) {
  const now = calmCursor.value
  const chosen = selection.value
  return (
    <ul class="lane-labels" style={{ width: `${width}px` }}>
      {boxes.map(({ lane, place, top, height }) => {
        const condition = conditionAt(lane, now)
        const isChosen = chosen?.type === 'node' && chosen.node === lane.node
        return (
          <li
            key={String(lane.node)}
            class={height < ROOM_FOR_WORDS ? 'is-small' : ''}
            style={{ top: `${top}px`, height: `${height}px` }}
          >
            <button
              type="button"
              class={`lane-label c${colourNumber(place)}`}
              aria-pressed={isChosen}
              aria-label={`Select node ${lane.node}: ${wordOf(condition)}`}
              tabIndex={-1}
              onClick={() => selectNode(lane.node)}
            >
              <b>
                <Mark name={markOf(condition)} /> {lane.node}
              </b>
              {height < ROOM_FOR_WORDS ? null : <span>{wordOf(condition)}</span>}
              {height < ROOM_FOR_CLOCK ? null : <ClockText lane={lane} at={now.at} />}
            </button>
          </li>
        )
      })}
      {picture.lanes.length === 0 ? <li>no nodes</li> : null}
    </ul>
  )
}

function ClockText({ lane, at }: { readonly lane: Lane; readonly at: number }) {
  const off = ownElapsed(lane, at) - at
  if (Math.abs(off) < LEAST_OFF) return null
  const ms = Math.abs(off) / 1000
  return (
    <span class="clock-off">
      clock {off < 0 ? '−' : '+'}
      {ms < 100 ? ms.toFixed(1) : ms.toFixed(0)} ms
    </span>
  )
}
