/**
 * What a message may say to a node that knows something already. A peer that holds the key may be buggy or old: what
 * cannot be true is refused as a whole, and its sender is named.
 *
 * Epochs run ahead of what a node knows by a bounded step for each message. That bounds what a bad member can cost: it
 * would have to be believed 2^40 times before the numbers are used up. Below CLOCK_EPOCHS every epoch is plausible,
 * because a node that keeps no data starts from the time of day in milliseconds (stable.ts). A node that hears of an
 * implausible epoch still moves up to the largest plausible one: so one that was away follows the others step by step.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Context } from './context.ts'
import { type Epoch, isLater, type LocalLeaderMessage, type Reply } from './messages.ts'
import type { LocalLeaderState } from './state.ts'
import type { Configuration } from './voters.ts'

/** Milliseconds until the year 2109. */
export const CLOCK_EPOCHS = 2 ** 42
/** How far an epoch may be ahead of the largest known, beyond the time of day. */
export const EPOCH_STEP = 4096

export type Implausible = {
  readonly field: string
  readonly problem: string
  /** The largest epoch that the message may teach; null when nothing in it can be used. */
  readonly learnt: Epoch | null
}

export function plausibility(context: Context) {
  const { self, nodes, isMajority, latest, settings, timing } = context
  const known = new Set(nodes)

  function ceilingFor({ known: { seen }, vote: { promised } }: LocalLeaderState): number {
    return Math.max(CLOCK_EPOCHS, Math.max(seen.number, promised.number) + EPOCH_STEP)
  }

  /** Null when it may be true. */
  function implausible(state: LocalLeaderState, from: NodeId, body: LocalLeaderMessage): Implausible | null {
    if (from === self) return null
    const ceiling = ceilingFor(state)
    const { seen, lease } = body.herald
    return (
      ahead('herald.seen.number', seen, ceiling) ??
      (lease === null ? null : leaseProblem(lease, seen, ceiling)) ??
      bodyProblem(state, from, body, ceiling)
    )
  }

  function bodyProblem(
    state: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    ceiling: number,
  ): Implausible | null {
    switch (body.kind) {
      case 'Heartbeat':
      case 'Release':
        return null
      case 'Reply':
        return (
          ahead('promised.number', body.promised, ceiling) ??
          configProblem(body.config, ceiling) ??
          votesProblem(state, from, body)
        )
      case 'Election': {
        const { epoch, config, certificate } = body
        const asked: Epoch = { number: epoch, owner: from }
        if (isMajority !== epoch > 0) return because('epoch', 'does not belong to this mode')
        const wrong = ahead('epoch', asked, ceiling) ?? configProblem(config, epoch)
        if (wrong !== null || certificate === null) return wrong
        const isOwn = certificate.owner === self && isLater(certificate.request, latest(state))
        if (certificate.owner === from || isOwn) {
          return because('certificate', 'names requests that were never given up')
        }
        return null
      }
      default:
        return body satisfies never
    }
  }

  /** A lease never lasts longer than one that begins now, and its leader has seen its own epoch. */
  function leaseProblem(
    { left, token }: { readonly left: Micros; readonly token: number | null },
    seen: Epoch,
    ceiling: number,
  ): Implausible | null {
    if (left > timing.lease)
      return because('herald.lease.left', `is ${left} µs; no lease is longer than ${timing.lease} µs`)
    if ((token === null) === isMajority) return because('herald.lease.token', 'does not belong to this mode')
    if (token === null || token <= Math.min(seen.number, ceiling)) return null
    return because(
      'herald.lease.token',
      `is ${token}, larger than the largest epoch that its leader has seen`,
    )
  }

  /** Without a tree nobody answers for another; and an answer is to a request that was made. */
  function votesProblem(
    state: LocalLeaderState,
    from: NodeId,
    { candidate, request, votes }: Reply,
  ): Implausible | null {
    const isDirect = settings.tree === null
    if (isDirect && (votes.length > 1 || votes.some(({ node }) => node !== from))) {
      return because('votes', 'are of others than the sender')
    }
    const isAnswer = candidate === self && votes.length > 0
    if (isAnswer && isLater(request, latest(state))) return because('request', 'was never made')
    return null
  }

  /** Whose epoch is larger than `most` nobody can have written; and most of the voters must be nodes of this group. */
  function configProblem({ id, sets }: Configuration, most: number): Implausible | null {
    if (id[0] > most) return because('config.id', `is of epoch ${id[0]}, which is ahead of ${most}`)
    for (const voters of sets) {
      let count = 0
      for (const voter of voters) if (known.has(voter)) count += 1
      if (count * 2 <= voters.length) return because('config.sets', 'has a majority of unknown voters')
    }
    return null
  }

  function ahead(field: string, { number, owner }: Epoch, ceiling: number): Implausible | null {
    if (number <= ceiling) return null
    const problem = `is ${number}, more than ${EPOCH_STEP} ahead of what is known`
    return { field, problem, learnt: { number: ceiling, owner } }
  }

  return { implausible }
}

function because(field: string, problem: string): Implausible {
  return { field, problem, learnt: null }
}
