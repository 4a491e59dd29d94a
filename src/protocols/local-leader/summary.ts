/** Messages in words, for transcripts. */
import { type Message, type MessageSummary, msOf } from '../../core/index.ts'
import type { LocalLeaderMessage } from './messages.ts'

/** A renewal, and support for one, are routine: nothing changes while they succeed. */
export function summaryOf(message: Message): MessageSummary | null {
  const known = message as unknown as LocalLeaderMessage
  switch (known.kind) {
    case 'Election':
      return known.renew
        ? { words: `renews epoch ${known.epoch}`, isRoutine: true }
        : { words: `asks for support in epoch ${known.epoch}`, isRoutine: false }
    case 'Reply': {
      // An unsolicited Reply (sendNotice).
      if (known.votes.length === 0) return { words: 'names the voters', isRoutine: true }
      const supporters = known.votes.filter(({ support }) => support).map(({ node }) => node)
      return supporters.length === known.votes.length
        ? {
            words: `${supporters.join(', ')} ${supporters.length === 1 ? 'supports' : 'support'} ${known.candidate}`,
            isRoutine: true,
          }
        : {
            words: `${known.votes.map(({ node, support }) => `${node} ${support ? 'supports' : 'refuses'} ${known.candidate}`).join(', ')}, promised to ${known.promised.owner ?? 'no node'} in epoch ${known.promised.number}`,
            isRoutine: false,
          }
    }
    case 'Release':
      return { words: known.yields ? 'gives up the lease' : 'frees the locks', isRoutine: false }
    case 'Heartbeat': {
      const { lease } = known.beacon
      return {
        words: lease === null ? '' : `leads for ${msOf(lease.left).toFixed(1)} ms more`,
        isRoutine: true,
      }
    }
    default:
      return known satisfies never
  }
}
