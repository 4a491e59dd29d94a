/**
 * The event log, newest first, with a filter. Only the rows that can be seen are in the document. A selected row is shown
 * in full below the list.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LogEntry, LogKind } from '../data/event-log.ts'
import { log, logVersion } from '../data/store.ts'
import { formatTime, plural } from '../view/format.ts'
import { filterLog, KIND_WORDS, KINDS, type LogFilter, placeFor, visibleRows } from '../view/log.ts'
import { Card } from './card.tsx'
import { useSize } from './hooks.ts'
import { LogRow, ROW_PX } from './log-row.tsx'

export function LogCard() {
  const [filter, setFilter] = useState<LogFilter>({ kind: 'all', words: '' })
  const version = logVersion.value
  const entries = useMemo(() => filterLog(log.entries, filter), [version, filter])
  return (
    <Card
      name="log"
      title="Events"
      hint={plural(entries.length, 'event')}
      tools={<FilterTools filter={filter} onChange={setFilter} />}
    >
      <Rows entries={entries} />
    </Card>
  )
}

type FilterToolsProps = { readonly filter: LogFilter; readonly onChange: (filter: LogFilter) => void }

function FilterTools({ filter, onChange }: FilterToolsProps) {
  return (
    <>
      <select
        aria-label="Kind of event"
        value={filter.kind}
        onChange={({ currentTarget }) =>
          onChange({ ...filter, kind: currentTarget.value as LogKind | 'all' })
        }
      >
        <option value="all">all kinds</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {KIND_WORDS[kind]}
          </option>
        ))}
      </select>
      <input
        type="search"
        aria-label="Filter events"
        placeholder="Filter"
        value={filter.words}
        onInput={({ currentTarget }) => onChange({ ...filter, words: currentTarget.value })}
      />
    </>
  )
}

function Rows({ entries }: { readonly entries: readonly LogEntry[] }) {
  const [ref, { height }] = useSize()
  const [top, setTop] = useState(0)
  const [selected, setSelected] = useState<number | null>(null)
  useKeptPlace(ref, entries)
  const { first, end } = visibleRows(entries.length, { top, height, row: ROW_PX })
  const at = entries.findIndex(({ number }) => number === selected)
  const walk = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') setSelected(null)
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    const wanted = at < 0 ? Math.ceil(top / ROW_PX) : at + (event.key === 'ArrowDown' ? 1 : -1)
    const next = Math.min(entries.length - 1, Math.max(0, wanted))
    setSelected(entries[next]?.number ?? null)
    if (ref.current !== null) ref.current.scrollTop = placeFor(next, { top, height, row: ROW_PX })
  }
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions -- a region that scrolls must be reachable by keyboard */}
      <div
        class="log-rows"
        ref={ref}
        tabIndex={0}
        role="region"
        aria-label="Event log: the arrow keys show an event in full"
        onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
        onKeyDown={walk}
      >
        {entries.length === 0 ? <p class="empty">No events.</p> : null}
        <ol style={{ height: `${entries.length * ROW_PX}px` }}>
          {entries.slice(first, end).map((entry, index) => (
            <LogRow
              key={entry.number}
              entry={entry}
              place={first + index}
              count={entries.length}
              isSelected={first + index === at}
              onSelect={() => setSelected(first + index === at ? null : entry.number)}
            />
          ))}
        </ol>
      </div>
      <Detail entry={entries[at] ?? null} />
    </>
  )
}

/** The selected event in full: a row shows the beginning of a long sentence only. */
function Detail({ entry }: { readonly entry: LogEntry | null }) {
  if (entry === null) return null
  return (
    <p class="log-detail">
      <b>
        {formatTime(entry.atMs)} {entry.node} {KIND_WORDS[entry.kind]}
      </b>{' '}
      {entry.text}
    </p>
  )
}

/** New events must not move the rows that somebody reads: the list keeps its place unless it is at the top. */
function useKeptPlace(ref: { current: HTMLDivElement | null }, entries: readonly LogEntry[]): void {
  const newest = useRef<number | null>(null)
  useLayoutEffect(() => {
    const element = ref.current
    const before = newest.current
    newest.current = entries[0]?.number ?? null
    if (element === null || before === null || element.scrollTop === 0) return
    const added = entries.findIndex(({ number }) => number <= before)
    if (added > 0) element.scrollTop += added * ROW_PX
  }, [ref, entries])
}
