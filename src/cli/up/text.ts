/** Formats the state of a group for `conclave up`: full screens, and single lines. */
import type { AgentEvent } from '../../service/client/index.ts'
import { formatView } from '../ask/text.ts'
import { clip, formatTable, measureWidth, NEW_LINE, paint } from '../output.ts'
import type { LocalAgent } from './local-agent.ts'
import type { LocalGroup, LogEntry } from './local-group.ts'

const KEYS = [
  '1-9 select',
  'k kill',
  'r restart',
  'p pause',
  'x cut off',
  'h heal',
  'l kill the leader',
  'd step down',
  ': command',
  'q quit',
]
const MAX_LOG_LINES = 8
/** Columns that are dropped from a table that is too wide, in this order. */
const OPTIONAL_COLUMNS = ['address', 'reaches', 'leader', 'token']

/** The size of a terminal in characters. Without rows the number of lines is unlimited, and no keys are shown. */
export type Size = { readonly columns: number; readonly rows: number | null }

/**
 * Renders a screen: no line is wider than the terminal, and there are at most as many lines as it has rows. `typed` is
 * the command that is being typed, or null.
 */
export function renderScreen(
  group: LocalGroup,
  chosen: number,
  typed: string | null,
  { columns, rows }: Size,
): readonly string[] {
  const { agents } = group
  const banner = wrap(bannerOf(agents).split(' '), ' ', columns)
  const { lines: nodes, isWhole } = formatNodes(group, chosen, columns)
  const url = agents[chosen]?.url
  const below = typed === null ? wrap(KEYS, '  ', columns).map((line) => paint('dim', line)) : [`:${typed}`]
  const address = isWhole || url === undefined ? [] : [`  ${url}`]
  const logLines = (limit: number): readonly string[] =>
    limit < 1 ? [] : group.log.slice(-Math.min(limit, MAX_LOG_LINES)).map(formatLogEntry)
  const head = [...banner, '', ...nodes, ...address, '']
  if (rows === null) return clipAll([...head, ...logLines(MAX_LOG_LINES)], columns)
  // Without enough rows, drop the log first, then empty lines, the address and all but one line of keys.
  const left = rows - head.length - below.length
  const log = logLines(left - 1)
  if (left >= 0) return clipAll([...head, ...log, ...(log.length === 0 ? [] : ['']), ...below], columns)
  const first = banner.slice(0, 1)
  const last = typed === null ? below.slice(0, 1) : below
  const room = Math.max(2, rows - first.length - last.length)
  return clipAll([...first, ...rowsAround(nodes, chosen, room), ...last].slice(0, Math.max(1, rows)), columns)
}

const clipAll = (lines: readonly string[], columns: number): readonly string[] =>
  lines.map((line) => clip(line, columns))

/** The header of the table, and as many rows around the selected row as fit. */
function rowsAround(
  [head = '', ...rows]: readonly string[],
  chosen: number,
  room: number,
): readonly string[] {
  const shown = Math.max(1, room - 1)
  const from = Math.max(0, Math.min(chosen - Math.floor(shown / 2), rows.length - shown))
  return [head, ...rows.slice(from, from + shown)]
}

/** The table with as many columns as fit. `isWhole`: no column was dropped. */
function formatNodes(group: LocalGroup, chosen: number, width: number) {
  const { agents } = group
  const cells: readonly { readonly [column: string]: string }[] = agents.map((agent, index) => ({
    '': index === chosen ? '>' : ' ',
    node: agent.id,
    role: roleOf(agent),
    leader: String(agent.status?.leader?.id ?? '-'),
    token: String(agent.status?.leader?.token ?? '-'),
    [hasViews(agents) ? 'view' : 'lease left']: formatLeaseOrView(agent),
    reaches: formatReachable(group, agent),
    address: agent.url,
  }))
  const all = Object.keys(cells[0] ?? {})
  for (let dropped = 0; ; dropped++) {
    const columns = all.filter((column) => !OPTIONAL_COLUMNS.slice(0, dropped).includes(column))
    const lines = formatTable([columns, ...cells.map((row) => columns.map((column) => row[column] ?? ''))])
      .split(NEW_LINE)
      .map((line) => line.trimEnd())
    if (dropped === OPTIONAL_COLUMNS.length || lines.every((line) => measureWidth(line) <= width))
      return { lines, isWhole: dropped === 0 }
  }
}

/** Joins pieces into lines that are no wider than the terminal. */
function wrap(pieces: readonly string[], between: string, columns: number): readonly string[] {
  const lines: string[] = []
  for (const piece of pieces) {
    const longer = lines.length === 0 ? piece : `${lines.at(-1)}${between}${piece}`
    if (lines.length > 0 && measureWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(piece)
  }
  return lines
}

export function formatLogEntry({ atMs, text }: LogEntry): string {
  return `${(atMs / 1000).toFixed(2).padStart(8)} s  ${text}`
}

/** The sentence of the leader, or else of any agent that answers. */
function bannerOf(agents: readonly LocalAgent[]): string {
  const agent = agents.find(({ isLeader }) => isLeader) ?? agents.find(({ status }) => status !== null)
  const status = agent?.status ?? null
  return status === null ? 'no agent answers' : `${status.banner} (says ${status.self.id})`
}

function hasViews(agents: readonly LocalAgent[]): boolean {
  return agents.some(({ status }) => status?.view !== undefined)
}

/** The rest of the lease. With a protocol that has views: the view, in parentheses if it has no quorum. */
function formatLeaseOrView({ status }: LocalAgent): string {
  if (status?.view !== undefined) {
    if (status.view === null) return '-'
    const text = `${status.view.id.join('.')} ${status.view.members.join(',')}`
    return status.inQuorum === true ? text : `(${text})`
  }
  const remainingMs = status?.leader?.expiresInMs ?? null
  return remainingMs === null ? '-' : `${remainingMs.toFixed(0)} ms`
}

function roleOf(agent: LocalAgent): string {
  return agent.state === 'up' ? (agent.status?.self.role ?? 'silent') : agent.state
}

/** For each other node its number if it is reachable, otherwise a dot. */
function formatReachable({ agents }: LocalGroup, { id, status }: LocalAgent): string {
  if (status === null) return '-'
  return agents
    .map((other, index) => {
      if (other.id === id) return ' '.repeat(String(index + 1).length)
      const isReachable = status.nodes.some((node) => node.id === other.id && node.reachable)
      return isReachable ? String(index + 1) : '.'.padStart(String(index + 1).length)
    })
    .join(' ')
}

/** One line: the leader, and the nodes that are down or paused. */
export function formatState({ agents, leaders }: LocalGroup): string {
  const led = leaders.map(({ id, status }) => `${id} (token ${status?.leader?.token})`)
  const down = agents.filter(({ state }) => state !== 'up').map(({ id, state }) => `${id} ${state}`)
  return [led.length === 0 ? 'no leader' : `${led.join(' and ')} leads`, ...down].join(', ')
}

/** Describes a line of an agent's log; null if the line is not shown. */
export function describeLogLine(id: string, line: string): string | null {
  let event: Partial<AgentEvent>
  try {
    event = JSON.parse(line) as typeof event
  } catch {
    return `${id}: ${line}`
  }
  const suffix =
    event.reason === null || event.reason === undefined || event.reason === '' ? '' : ` (${event.reason})`
  switch (event.event) {
    case 'elected':
      return `${id} leads with token ${event.token}${suffix}`
    case 'revoked':
      return `${id} no longer leads with token ${event.token}${suffix}`
    case 'view':
      // Every member logs the view; show it once, from its leader.
      return event.leader === id ? `view ${event.view?.id.join('.')}: ${formatView(event.view)}` : null
    case 'warning':
    case 'alarm':
      return `${id} ${event.event}${suffix}`
    default:
      return null
  }
}
