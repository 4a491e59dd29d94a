/** What `conclave up` shows. */
import type { AgentEvent } from '../client/index.ts'
import type { LocalAgent } from './local-agent.ts'
import type { Happening, LocalGroup } from './local-group.ts'
import { paint, table } from './output.ts'

const KEYS =
  '1-9 choose  k kill  r restart  p pause  x cut off  h heal  l kill the leader  d hand over  : command  q quit'
const SHOWN_HAPPENINGS = 8

/** Everything, in as many lines as there are. `typed` is a command that is being written, or null. */
export function screenOf(group: LocalGroup, chosen: number, typed: string | null): string {
  const { agents } = group
  const rows = agents.map((agent, index) => [
    index === chosen ? '>' : ' ',
    agent.id,
    roleOf(agent),
    String(agent.seen?.leader?.id ?? '-'),
    String(agent.seen?.leader?.token ?? '-'),
    lastsText(agent),
    hearsOf(group, agent),
    agent.url,
  ])
  return [
    bannerOf(agents),
    '',
    table([
      ['', 'node', 'role', 'leader', 'token', hasViews(agents) ? 'view' : 'lease left', 'hears', 'address'],
      ...rows,
    ]),
    '',
    ...group.happenings.slice(-SHOWN_HAPPENINGS).map(happeningText),
    '',
    typed === null ? paint('dim', KEYS) : `:${typed}`,
  ].join('\n')
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
      const isHeard = seen.members.some((member) => member.id === other.id && member.there)
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
