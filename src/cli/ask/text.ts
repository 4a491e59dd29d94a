/** Formats the responses and events of an agent. */
import type {
  AgentEvent,
  NodeResponse,
  ObservedNodeResponse,
  StatusResponse,
  WarningResponse,
} from '../../service/client/index.ts'
import { formatTable } from '../output.ts'

export function formatToken({ token }: { readonly token: number | null }): string {
  return token === null ? '' : ` with token ${token}`
}

export function formatEvent({ event, self, leader, token, reason, cause, view }: AgentEvent): string {
  switch (event) {
    case 'elected':
      return `${self} is elected${formatToken({ token })}${reason === 'elected' ? '' : ` (${reason})`}`
    case 'revoked':
      return `${self} no longer leads${formatToken({ token })} (${reason})`
    case 'change':
      if (leader === null) return `${self} knows of no leader${cause === undefined ? '' : ` (${cause.text})`}`
      return `${self} ${leader === self ? 'leads' : `follows ${leader}`}${formatToken({ token })}`
    case 'level':
      return `${self} changed the ${reason}`
    case 'view':
      return `${self} is in view ${view?.id.join('.')}: ${formatView(view)}`
    default:
      return `${event} at ${self}: ${reason}`
  }
}

/** The members of a view, then the ids that left (-) and joined (+). */
export function formatView(view: AgentEvent['view']): string {
  if (view === undefined) return ''
  const { members, joined, left } = view
  const changes = [...left.map((id) => `-${id}`), ...joined.map((id) => `+${id}`)]
  return `${members.join(', ')}${changes.length === 0 ? '' : ` (${changes.join(' ')})`}`
}

/** The status also says which voters are witnesses; an older agent does not. */
type ListedNode = NodeResponse & Partial<Pick<ObservedNodeResponse, 'role'>>

export function formatNodes(nodes: readonly ListedNode[]): string {
  const rows = nodes.map(({ id, voter, leader, role, reachable, evidenceMsAgo, heardMsAgo }) => [
    String(id),
    leader ? 'leader' : (role ?? (voter ? 'voter' : 'observer')),
    reachable ? `yes${evidenceMsAgo === null ? '' : ` (evidence ${formatAge(evidenceMsAgo)} old)`}` : 'no',
    heardMsAgo === null ? 'never' : `${formatAge(heardMsAgo)} ago`,
  ])
  return formatTable([['id', 'role', 'reachable', 'last message'], ...rows])
}

/** The length of leases that tune themselves, what it gives, and why; empty where the timing is fixed. */
export function formatTiming({
  timing,
  leader,
}: Pick<StatusResponse, 'timing' | 'leader'>): readonly string[] {
  if (timing === undefined) return []
  const { leaseMs, leaseMinMs, leaseMaxMs, failoverMs, need, refusals } = timing
  const failover =
    failoverMs === null
      ? ''
      : `; failover takes ${formatMs(failoverMs.typical)}, at most ${formatMs(failoverMs.worst)}`
  const reason = leader === null ? null : `the agent of ${leader.id}, which leads, knows why`
  const whose = leader === null ? ' if this node leads next' : ''
  return [
    `leases of ${formatMs(leaseMs)}${whose} (bounds ${leaseMinMs} to ${leaseMaxMs} ms)${failover}`,
    ...(need === null ? (reason === null ? [] : [`  ${reason}`]) : [`  because ${need.text}`]),
    ...refusals.map((each) => `  ${each.id} grants only ${each.leaseMinMs} to ${each.leaseMaxMs} ms`),
  ]
}

function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** How long ago: "73 ms", "34.6 s", "3 min 20 s", "3 d 4 h". Milliseconds of something an hour ago say nothing. */
export function formatAge(ms: number): string {
  if (ms < 999.5) return `${ms.toFixed(0)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  let left = Math.round(ms / 1000)
  const parts = UNITS.map(([unit, seconds]) => {
    const count = Math.floor(left / seconds)
    left -= count * seconds
    return [count, unit] as const
  })
  const first = parts.findIndex(([count]) => count > 0)
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}

/** Older warnings are only counted. */
const SHOWN_WARNINGS = 5

/** One line per warning, the newest first; empty without warnings. */
export function formatWarnings(warnings: readonly WarningResponse[]): readonly string[] {
  const lines = warnings
    .slice(0, SHOWN_WARNINGS)
    .map(({ at, what, detail, count }) => `${at}  ${what}: ${detail}${count > 1 ? ` (${count} times)` : ''}`)
  const more = warnings.length - SHOWN_WARNINGS
  return more > 0 ? [...lines, `and ${more} more; --json lists all`] : lines
}
