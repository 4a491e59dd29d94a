/** Formats the responses and events of an agent. */
import type { AgentEvent, NodeResponse } from '../../service/client/index.ts'
import { formatTable } from '../output.ts'

export function formatToken({ token }: { readonly token: number | null }): string {
  return token === null ? '' : ` with token ${token}`
}

export function formatEvent({ event, self, leader, token, reason, view }: AgentEvent): string {
  switch (event) {
    case 'elected':
      return `${self} is elected${formatToken({ token })} (${reason})`
    case 'revoked':
      return `${self} no longer leads${formatToken({ token })} (${reason})`
    case 'change':
      if (leader === null) return `${self} knows of no leader`
      return `${self} ${leader === self ? 'leads' : `follows ${leader}`}${formatToken({ token })}`
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

export function formatNodes(nodes: readonly NodeResponse[]): string {
  const rows = nodes.map(({ id, voter, leader, reachable, evidenceMsAgo, heardMsAgo }) => [
    String(id),
    leader ? 'leader' : voter ? 'voter' : 'observer',
    reachable ? `yes${evidenceMsAgo === null ? '' : ` (evidence ${evidenceMsAgo.toFixed(0)} ms old)`}` : 'no',
    heardMsAgo === null ? 'never' : `${heardMsAgo.toFixed(0)} ms ago`,
  ])
  return formatTable([['id', 'role', 'reachable', 'last message'], ...rows])
}
