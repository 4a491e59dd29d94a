/** One event. All rows have the same height. */
import type { LogEntry } from '../data/event-log.ts'
import { ids } from '../data/store.ts'
import { formatTime } from '../view/format.ts'
import { KIND_WORDS } from '../view/log.ts'
import { colourOf } from '../view/nodes.ts'

export const ROW_PX = 26

export type LogRowProps = {
  readonly entry: LogEntry
  readonly place: number
  readonly count: number
  readonly isSelected: boolean
  readonly onSelect: () => void
}

/** The characters of ".123". */
const MILLISECONDS = 4

export function LogRow({ entry, place, count, isSelected, onSelect }: LogRowProps) {
  const time = formatTime(entry.atMs)
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- the list handles the keys
    <li
      class={`log-row kind-${entry.kind}${isSelected ? ' is-selected' : ''}`}
      style={{ top: `${place * ROW_PX}px` }}
      aria-setsize={count}
      aria-posinset={place + 1}
      title={entry.text}
      onClick={onSelect}
    >
      <time>
        {time.slice(0, -MILLISECONDS)}
        <span class="fine">{time.slice(-MILLISECONDS)}</span>
      </time>
      <span class={`name node-colour c${colourOf(ids.value, entry.node)}`}>{entry.node ?? ''}</span>
      <span class="kind">{KIND_WORDS[entry.kind]}</span>
      <span class="text">{entry.text}</span>
    </li>
  )
}
