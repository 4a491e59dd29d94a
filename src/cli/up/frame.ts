/** Renders the screen of `conclave up`: no line is wider than the terminal, and there are at most as many as it has rows. */
import { clip, formatTable, measureWidth, NEW_LINE, paint } from '../output.ts'
import { describeFailovers } from './failover.ts'
import { helpLines, UP_KEYS, wrap } from './help.ts'
import type { LocalAgent } from './local-agent.ts'
import type { LocalGroup, LogEntry } from './local-group.ts'
import { formatLogEntry } from './text.ts'

/** Columns that are dropped from a table that is too wide, in this order. */
const OPTIONAL_COLUMNS = ['address', 'reaches', 'leader', 'token']
/** The lines of the log that remain in the output after the screen is closed. */
const CLOSED_LOG_LINES = 20

/** The size of a terminal in characters. Without rows the number of lines is unlimited, and no keys are shown. */
export type Size = { readonly columns: number; readonly rows: number | null }

/** What the user has selected. */
export type Selected = {
  /** The index of the selected node. */
  readonly chosen: number
  /** The command that is being typed, or null. */
  readonly typed: string | null
  /** By how many lines the log or the help is scrolled. */
  readonly scrolled: number
  readonly isHelp: boolean
}

export function renderScreen(
  group: LocalGroup,
  selected: Selected,
  { columns, rows }: Size,
): readonly string[] {
  const lines =
    rows === null
      ? [
          ...headOf(group, selected, columns),
          ...group.log.slice(-CLOSED_LOG_LINES).flatMap((entry) => entryLines(entry, columns)),
        ]
      : selected.isHelp
        ? renderHelp(selected, columns, rows)
        : renderGroup(group, selected, columns, rows)
  return lines.map((line) => clip(line, columns))
}

function headOf(group: LocalGroup, { chosen }: Selected, columns: number): readonly string[] {
  const { lines, isWhole } = formatNodes(group, chosen, columns)
  const url = group.agents[chosen]?.url
  return [
    ...wrap(bannerOf(group.agents).split(' '), ' ', columns),
    ...failoverLines(group, columns),
    '',
    ...lines,
    ...(isWhole || url === undefined ? [] : [`  ${url}`]),
    '',
  ]
}

function failoverLines(group: LocalGroup, columns: number): readonly string[] {
  const text = describeFailovers(group.failovers)
  return text === null ? [] : wrap(text.split(' '), ' ', columns)
}

/** Without enough rows, drops the log first, then empty lines, the failover, the address, and nodes far from the selected. */
function renderGroup(
  group: LocalGroup,
  selected: Selected,
  columns: number,
  rows: number,
): readonly string[] {
  const { chosen, typed } = selected
  const below = typed === null ? paint('dim', keysLine(columns)) : `:${typed}`
  const head = headOf(group, selected, columns)
  const room = rows - head.length - 2
  if (room >= 1) {
    const log = logLines(group, selected, columns, room)
    return [...head, ...log, ...Array.from({ length: room - log.length }, () => ''), '', below]
  }
  const [first = '', ...more] = wrap(bannerOf(group.agents).split(' '), ' ', columns)
  const { lines } = formatNodes(group, chosen, columns)
  const withBanner = rows - 1 - lines.length
  // As much of the banner as fits beside the whole table; then its first line and a part of the table.
  if (withBanner >= 1) {
    const spare = [...more, ...failoverLines(group, columns)].slice(0, withBanner - 1)
    return [first, ...spare, ...lines, below]
  }
  return [first, ...rowsAround(lines, chosen, Math.max(2, rows - 2)), below].slice(0, Math.max(1, rows))
}

/** The newest events that fit, or earlier ones if the user has scrolled. */
function logLines(
  { log }: LocalGroup,
  { scrolled }: Selected,
  columns: number,
  room: number,
): readonly string[] {
  // The notice takes one line.
  const back = log.length <= room ? 0 : Math.max(0, Math.min(scrolled, log.length - room + 1))
  const notice = back === 0 ? [] : [paint('dim', `${back} later events: PgDn`)]
  const space = Math.max(0, room - notice.length)
  const lines: string[] = []
  for (let at = log.length - back - 1; at >= 0 && lines.length < space; at--) {
    const entry = log[at]
    if (entry !== undefined)
      lines.unshift(...cutOff(entryLines(entry, columns), space - lines.length, columns))
  }
  return [...lines, ...notice]
}

/** As many lines as fit. The end is left out: without the beginning nobody knows what an event is about. */
function cutOff(lines: readonly string[], room: number, columns: number): readonly string[] {
  if (lines.length <= room) return lines
  const last = lines[room - 1] ?? ''
  return [...lines.slice(0, room - 1), clip(`${last} …`, columns)]
}

/** An entry that is wider than the terminal continues below its own text. */
function entryLines(entry: LogEntry, columns: number): readonly string[] {
  const line = formatLogEntry(entry)
  const indent = line.length - entry.text.length
  if (measureWidth(line) <= columns || columns < 2 * indent) return [line]
  const [first = '', ...rest] = wrap(entry.text.split(' '), ' ', columns - indent)
  return [line.slice(0, indent) + first, ...rest.map((each) => ' '.repeat(indent) + each)]
}

function renderHelp({ scrolled }: Selected, columns: number, rows: number): readonly string[] {
  const lines = helpLines(columns)
  const room = Math.max(0, rows - 1)
  const from = Math.max(0, Math.min(scrolled, lines.length - room))
  const footer = lines.length > room ? '? close  PgUp PgDn scroll' : '? close'
  return [...lines.slice(from, from + room), paint('dim', footer)]
}

/** As many keys as fit into one line; the help lists all of them. */
function keysLine(columns: number): string {
  const all = UP_KEYS.map(({ key, short }) => `${key} ${short}`)
  return wrap(all, '  ', columns)[0] ?? ''
}

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
