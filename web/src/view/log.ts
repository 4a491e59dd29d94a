/** Words for events, and the filter of the log. */
import type { LogEntry, LogKind } from '../data/event-log.ts'
import type { AgentEvent } from '../data/types.ts'

export const KIND_WORDS: { readonly [kind in LogKind]: string } = {
  elected: 'elected',
  revoked: 'revoked',
  change: 'change',
  view: 'view',
  level: 'lease',
  warning: 'warning',
  alarm: 'ALARM',
  page: 'page',
}

export const KINDS: readonly LogKind[] = [
  'elected',
  'revoked',
  'change',
  'view',
  'level',
  'warning',
  'alarm',
  'page',
]

export function entryOf(event: AgentEvent): Omit<LogEntry, 'number'> {
  return {
    atMs: Date.parse(event.at),
    kind: event.event,
    node: String(event.self),
    text: textOf(event),
  }
}

const withToken = (token: number | null): string => (token === null ? '' : ` with token ${token}`)

function textOf(event: AgentEvent): string {
  const why = event.cause?.text ?? event.reason
  const because = why === null || why === '' ? '' : `: ${why}`
  switch (event.event) {
    case 'elected':
      return `${event.self} leads${withToken(event.token)}`
    case 'revoked':
      return `${event.self} no longer leads${because}`
    case 'change':
      return event.leader === null
        ? `no leader known${because}`
        : `${event.leader} leads${withToken(event.token)}`
    case 'view':
      return viewText(event)
    case 'level':
    case 'warning':
    case 'alarm':
    default:
      return why ?? ''
  }
}

function viewText({ view, reason }: AgentEvent): string {
  if (view === undefined) return reason ?? 'in no view'
  const changes = [
    ...(view.joined.length === 0 ? [] : [`${view.joined.join(', ')} joined`]),
    ...(view.left.length === 0 ? [] : [`${view.left.join(', ')} left`]),
  ]
  const change = changes.length === 0 ? '' : ` (${changes.join('; ')})`
  return `view ${view.id.join('.')}: ${view.members.join(', ')}${change}`
}

export type LogFilter = { readonly kind: LogKind | 'all'; readonly words: string }

/** Every word must occur, in any order and case. Newest first. */
export function filterLog(entries: readonly LogEntry[], { kind, words }: LogFilter): readonly LogEntry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const found: LogEntry[] = []
  for (let place = entries.length - 1; place >= 0; place -= 1) {
    const entry = entries[place]
    if (entry === undefined || (kind !== 'all' && entry.kind !== kind)) continue
    if (wanted.length > 0) {
      const text = `${entry.node ?? ''} ${entry.kind} ${entry.text}`.toLowerCase()
      if (!wanted.every((word) => text.includes(word))) continue
    }
    found.push(entry)
  }
  return found
}

/** The rows of a long list that are visible, and some around them. */
export function visibleRows(
  count: number,
  { top, height, row }: { readonly top: number; readonly height: number; readonly row: number },
): { readonly first: number; readonly end: number } {
  const around = 8
  const first = Math.max(0, Math.min(Math.floor(top / row), count) - around)
  const end = Math.min(count, Math.ceil((top + height) / row) + around)
  return { first, end }
}

/** Where to scroll to, so that a row is visible: as little as possible. */
export function placeFor(
  place: number,
  { top, height, row }: { readonly top: number; readonly height: number; readonly row: number },
): number {
  return Math.min(place * row, Math.max(top, (place + 1) * row - height))
}
