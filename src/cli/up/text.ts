/** What `conclave up` shows. */
import type { AgentEvent } from '../../service/client/index.ts'
import { clip, formatTable, measureWidth, NEW_LINE, paint } from '../output.ts'
import type { LocalAgent } from './local-agent.ts'
import type { Happening, LocalGroup } from './local-group.ts'

const KEYS = [
  '1-9 choose',
  'k kill',
  'r restart',
  'p pause',
  'x cut off',
  'h heal',
  'l kill the leader',
  'd hand over',
  ': command',
  'q quit',
]
const MOST_HAPPENINGS = 8
/** Columns of the table that are left out when it is too wide, one after the other. */
const LESS_NEEDED = ['address', 'hears', 'leader', 'token']

/** How large a terminal is, in characters; without rows there is no limit to them, and no keys to press. */
export type Size = { readonly columns: number; readonly rows: number | null }

/**
 * Everything, in lines that fit: none is wider than the terminal, and there are no more of them than it has. `typed` is
 * a command that is being written, or null.
 */
export function screenOf(
  group: LocalGroup,
  chosen: number,
  typed: string | null,
  { columns, rows }: Size,
): readonly string[] {
  const { agents } = group
  const banner = wrapped(bannerOf(agents).split(' '), ' ', columns)
  const { lines: nodes, isWhole } = nodesTable(group, chosen, columns)
  const url = agents[chosen]?.url
  const below =
    typed === null ? wrapped(KEYS, '  ', columns).map((line) => paint('dim', line)) : [`:${typed}`]
  const address = isWhole || url === undefined ? [] : [`  ${url}`]
  const happened = (most: number): readonly string[] =>
    most < 1 ? [] : group.happenings.slice(-Math.min(most, MOST_HAPPENINGS)).map(happeningText)
  const head = [...banner, '', ...nodes, ...address, '']
  if (rows === null) return fitting([...head, ...happened(MOST_HAPPENINGS)], columns)
  // What matters least gives way first: what happened, then empty lines, the address and all but one line of keys.
  const left = rows - head.length - below.length
  const told = happened(left - 1)
  if (left >= 0) return fitting([...head, ...told, ...(told.length === 0 ? [] : ['']), ...below], columns)
  const first = banner.slice(0, 1)
  const last = typed === null ? below.slice(0, 1) : below
  const room = Math.max(2, rows - first.length - last.length)
  return fitting([...first, ...around(nodes, chosen, room), ...last].slice(0, Math.max(1, rows)), columns)
}

const fitting = (lines: readonly string[], columns: number): readonly string[] =>
  lines.map((line) => clip(line, columns))

/** The head of the table, and as many of its rows around the chosen one as there is room for. */
function around([head = '', ...rows]: readonly string[], chosen: number, room: number): readonly string[] {
  const shown = Math.max(1, room - 1)
  const from = Math.max(0, Math.min(chosen - Math.floor(shown / 2), rows.length - shown))
  return [head, ...rows.slice(from, from + shown)]
}

/** As many of the columns as fit; whether those are all. */
function nodesTable(group: LocalGroup, chosen: number, width: number) {
  const { agents } = group
  const cells: readonly { readonly [column: string]: string }[] = agents.map((agent, index) => ({
    '': index === chosen ? '>' : ' ',
    node: agent.id,
    role: roleOf(agent),
    leader: String(agent.seen?.leader?.id ?? '-'),
    token: String(agent.seen?.leader?.token ?? '-'),
    [hasViews(agents) ? 'view' : 'lease left']: lastsText(agent),
    hears: hearsOf(group, agent),
    address: agent.url,
  }))
  const all = Object.keys(cells[0] ?? {})
  for (let less = 0; ; less++) {
    const columns = all.filter((column) => !LESS_NEEDED.slice(0, less).includes(column))
    const lines = formatTable([columns, ...cells.map((row) => columns.map((column) => row[column] ?? ''))])
      .split(NEW_LINE)
      .map((line) => line.trimEnd())
    if (less === LESS_NEEDED.length || lines.every((line) => measureWidth(line) <= width))
      return { lines, isWhole: less === 0 }
  }
}

/** Pieces one after the other, in as many lines as they need. */
function wrapped(pieces: readonly string[], between: string, columns: number): readonly string[] {
  const lines: string[] = []
  for (const piece of pieces) {
    const longer = lines.length === 0 ? piece : `${lines.at(-1)}${between}${piece}`
    if (lines.length > 0 && measureWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(piece)
  }
  return lines
}

export function happeningText({ atMs, text }: Happening): string {
  return `${(atMs / 1000).toFixed(2).padStart(8)} s  ${text}`
}

/** As whoever leads sees it, or else anybody who answers. */
function bannerOf(agents: readonly LocalAgent[]): string {
  const seen = (agents.find(({ leads }) => leads) ?? agents.find((agent) => agent.seen !== null))?.seen
  if (seen === undefined || seen === null) return 'no agent answers'
  return `${seen.banner} (says ${seen.self.id})`
}

function hasViews(agents: readonly LocalAgent[]): boolean {
  return agents.some(({ seen }) => seen?.view !== undefined)
}

/** What is left of the lease; where there are views, the view, in brackets when no majority of it answers. */
function lastsText({ seen }: LocalAgent): string {
  if (seen?.view !== undefined) {
    if (seen.view === null) return '-'
    const text = `${seen.view.id.join('.')} ${seen.view.members.join(',')}`
    return seen.inQuorum === true ? text : `(${text})`
  }
  const left = seen?.leader?.expiresInMs
  return left === undefined || left === null ? '-' : `${left.toFixed(0)} ms`
}

/** Who is in a view, who is new in it and who no longer is. */
export function viewText(view: AgentEvent['view']): string {
  if (view === undefined) return ''
  const { members, joined, left } = view
  const changes = [...left.map((id) => `-${id}`), ...joined.map((id) => `+${id}`)]
  return `${members.join(', ')}${changes.length === 0 ? '' : ` (${changes.join(' ')})`}`
}

function roleOf(agent: LocalAgent): string {
  return agent.standing === 'up' ? (agent.seen?.self.role ?? 'silent') : agent.standing
}

/** For each other node its number when it is heard in time, a dot when it is not. */
function hearsOf({ agents }: LocalGroup, { id, seen }: LocalAgent): string {
  if (seen === null) return '-'
  return agents
    .map((other, index) => {
      if (other.id === id) return ' '.repeat(String(index + 1).length)
      const isHeard = seen.nodes.some((member) => member.id === other.id && member.reachable)
      return isHeard ? String(index + 1) : '.'.padStart(String(index + 1).length)
    })
    .join(' ')
}

/** One line for how it is: who leads, who is down or paused. */
export function standingText({ agents, leaders }: LocalGroup): string {
  const led = leaders.map(({ id, seen }) => `${id} (token ${seen?.leader?.token})`)
  const down = agents
    .filter(({ standing }) => standing !== 'up')
    .map(({ id, standing }) => `${id} ${standing}`)
  return [led.length === 0 ? 'nobody leads' : `${led.join(' and ')} leads`, ...down].join(', ')
}

/** What a line of an agent's log tells a person; null for what others say too. */
export function toldBy(id: string, line: string): string | null {
  let event: Partial<AgentEvent>
  try {
    event = JSON.parse(line) as typeof event
  } catch {
    return `${id}: ${line}`
  }
  const why =
    event.reason === null || event.reason === undefined || event.reason === '' ? '' : ` (${event.reason})`
  switch (event.event) {
    case 'elected':
      return `${id} leads with token ${event.token}${why}`
    case 'revoked':
      return `${id} leads no more with token ${event.token}${why}`
    case 'view':
      // Whoever leads it says so for all.
      return event.leader === id ? `view ${event.view?.id.join('.')}: ${viewText(event.view)}` : null
    case 'warning':
    case 'alarm':
      return `${id} ${event.event}${why}`
    default:
      return null
  }
}
