/** Formats the state and the events of a group for `conclave up` as single lines. */
import type { AgentEvent } from '../../service/client/index.ts'
import { formatView } from '../ask/text.ts'
import type { LocalGroup, LogEntry } from './local-group.ts'

export function formatLogEntry({ atMs, text }: LogEntry): string {
  return `${(atMs / 1000).toFixed(2).padStart(8)} s  ${text}`
}

/** One line: the leader, and the nodes that are down or paused. */
export function formatState({ agents, leaders }: LocalGroup): string {
  const led = leaders.map(({ id, status }) => `${id} (token ${status?.leader?.token})`)
  const down = agents.filter(({ state }) => state !== 'up').map(({ id, state }) => `${id} ${state}`)
  return [led.length === 0 ? 'no leader' : `${led.join(' and ')} leads`, ...down].join(', ')
}

/** The event in a line of an agent's log; null if the line is not JSON. */
export function parseLogLine(line: string): Partial<AgentEvent> | null {
  try {
    return JSON.parse(line) as Partial<AgentEvent>
  } catch {
    return null
  }
}

/** Describes an event of an agent's log; null if it is not shown. */
export function describeEvent(id: string, event: Partial<AgentEvent>): string | null {
  const why = [event.reason, event.event === 'revoked' ? event.cause?.text : null].filter(
    (text) => typeof text === 'string' && text !== '',
  )
  const suffix = why.length === 0 ? '' : ` (${why.join(': ')})`
  switch (event.event) {
    case 'elected':
      return `${id} leads with token ${event.token}${suffix}`
    case 'revoked':
      return `${id} no longer leads with token ${event.token}${suffix}`
    case 'view':
      // Every member logs the view; show it once, from its leader.
      return event.leader === id ? `view ${event.view?.id.join('.')}: ${formatView(event.view)}` : null
    case 'level':
      return `${id}: ${event.reason}`
    case 'warning':
    case 'alarm':
      return `${id} ${event.event}${suffix}`
    default:
      return null
  }
}
