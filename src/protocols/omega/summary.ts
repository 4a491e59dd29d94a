/** Messages in words, for transcripts. */
import type { Message, MessageSummary } from '../../core/index.ts'
import type { Members, OmegaMessage, OmegaView } from './state.ts'

/** A status is routine: what matters is what its receiver does. */
export function summaryOf(message: Message): MessageSummary | null {
  const words = wordsOf(message as unknown as OmegaMessage)
  return words === null ? null : { words, isRoutine: message.kind === 'status' }
}

function wordsOf(message: OmegaMessage): string | null {
  switch (message.kind) {
    case 'status':
      return `${message.ok ? 'alive' : 'dead'} in ${viewText(message.view)}${message.aside ? ', ineligible' : ''}`
    case 'cand':
      return `proposes view ${message.n} with ${idsText(message.members)}`
    case 'cancel':
      return `withdraws its proposal of view ${message.n}`
    case 'accept':
      return `accepts view ${message.n}${message.attempts.length === 0 ? '' : `; knows the attempts ${message.attempts.map(viewText).join(', ')}`}`
    case 'attempt':
      return `asks to record view ${message.n}`
    case 'attempted':
      return `has recorded view ${message.n}`
    case 'withdraw':
      return `no longer accepts view ${message.n}`
    default:
      message satisfies never
      return null
  }
}

function viewText({ id: [number, leader], members }: OmegaView): string {
  return leader === null ? 'no view' : `view ${number}.${leader} of ${idsText(members)}`
}

function idsText(members: Members): string {
  return members.map(([id]) => id).join(', ')
}
