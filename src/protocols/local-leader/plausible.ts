/**
 * Plausibility checks: what a message may say to a node that already knows something. A peer that holds the key may be
 * buggy or outdated. A message that cannot be true is refused as a whole, and the event names its sender.
 *
 * Epochs may run ahead of what a node knows by one bounded step per `expires`, regardless of the number of messages.
 * That bounds the harm that a faulty node can do. It would have to be believed 2^40 times to use up the numbers, and
 * correct nodes, which hear each other that often, never fall far behind. Below CLOCK_EPOCHS every epoch is plausible,
 * because a node without storage starts from the wall clock in milliseconds (stable.ts). A node that receives an
 * implausible epoch still moves up to the largest plausible one. So a node that was away catches up step by step.
 *
 * A correct node passes on what it received. So values that may come from a third node are not held against the sender:
 * they are removed.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Context } from './context.ts'
import { LONGEST_LOCK } from './levels.ts'
import { type Epoch, isLater, type LocalLeaderMessage, type Reply } from './messages.ts'
import { changed, type LocalLeaderState } from './state.ts'
import type { Configuration } from './voters.ts'

/** Milliseconds until the year 2109. */
export const CLOCK_EPOCHS = 2 ** 42
/** How far an epoch may be ahead of the largest known epoch, beyond CLOCK_EPOCHS. */
export const EPOCH_STEP = 4096

export type Implausible = {
  readonly field: string
  readonly problem: string
  /** The largest epoch that the node may learn from the message; null when nothing in it can be used. */
  readonly learnt: Epoch | null
}

export function createPlausibilityChecks(context: Context) {
  const { self, nodes, isMajority, latest, settings, timingIn } = context
  const known = new Set(nodes)
  /** The last voters that passed the check: in a simulation, the messages share them. */
  let plausibleSets: Configuration['sets'] | null = null
  const { adaptive } = settings
  // Peers may have other bounds.
  const longestLease = adaptive === null ? settings.timing.lease : LONGEST_LOCK

  const largestOf = ({ known: { seen }, vote: { promised } }: LocalLeaderState): number =>
    Math.max(seen.number, promised.number)

  function ceilingFor(state: LocalLeaderState, now: Micros): number {
    const { epochGrowth } = state
    const base =
      epochGrowth !== null && now - epochGrowth.at < timingIn(state).expires
        ? epochGrowth.from
        : largestOf(state)
    return Math.max(CLOCK_EPOCHS, base + EPOCH_STEP)
  }

  /** Records from which epoch the present step started, and when. Only epochs beyond CLOCK_EPOCHS are limited. */
  function recordEpochGrowth(
    before: LocalLeaderState,
    after: LocalLeaderState,
    now: Micros,
  ): LocalLeaderState {
    if (after.known === before.known && after.vote === before.vote) return after
    if (largestOf(after) <= CLOCK_EPOCHS || largestOf(after) === largestOf(before)) return after
    const { epochGrowth } = before
    if (epochGrowth !== null && now - epochGrowth.at < timingIn(before).expires) return after
    return changed(after, { epochGrowth: { from: largestOf(before), at: now } })
  }

  /** Null when the message may be true. */
  function findImplausible(
    state: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    now: Micros,
  ): Implausible | null {
    if (from === self) return null
    const ceiling = ceilingFor(state, now)
    const { seen, lease } = body.beacon
    return (
      ahead('beacon.seen.number', seen, ceiling) ??
      (lease === null ? null : leaseProblem(lease, seen, ceiling)) ??
      bodyProblem(from, body, ceiling) ??
      (body.kind === 'Reply' ? votesProblem(state, from, body) : null)
    )
  }

  function bodyProblem(from: NodeId, body: LocalLeaderMessage, ceiling: number): Implausible | null {
    switch (body.kind) {
      case 'Heartbeat':
      case 'Release':
        return null
      case 'Reply':
        return ahead('promised.number', body.promised, ceiling) ?? configProblem(body.config, ceiling)
      case 'Election': {
        const { epoch, renew, config, certificate } = body
        // Only a probe asks under no epoch in majority mode. It writes no voters: it uses the voters that it received.
        const isProbe = isMajority && epoch === 0 && !renew
        if (isMajority !== epoch > 0 && !isProbe) return because('epoch', 'does not belong to this mode')
        const wrong =
          ahead('epoch', { number: epoch, owner: from }, ceiling) ??
          configProblem(config, isProbe ? ceiling : epoch)
        if (wrong !== null) return wrong
        const isTimed = body.lock !== undefined
        if (isTimed !== (adaptive !== null)) return because('lock', 'does not belong to this timing')
        if (certificate?.owner !== from) return null
        return because('certificate', 'must not belong to the sender, which asks for support')
      }
      default:
        return body satisfies never
    }
  }

  /** Removes a certificate of requests that this node never made. The sender may have received it from a third node. */
  function withoutForeign(state: LocalLeaderState, body: LocalLeaderMessage): LocalLeaderMessage {
    if (body.kind !== 'Election' || body.certificate?.owner !== self) return body
    return isLater(body.certificate.request, latest(state)) ? { ...body, certificate: null } : body
  }

  /** A lease never lasts longer than a lease that starts now, and its leader has seen its own epoch. */
  function leaseProblem(
    { left, token }: { readonly left: Micros; readonly token: number | null },
    seen: Epoch,
    ceiling: number,
  ): Implausible | null {
    if (left > longestLease)
      return because('beacon.lease.left', `is ${left} µs; no lease is longer than ${longestLease} µs`)
    if ((token === null) === isMajority) return because('beacon.lease.token', 'does not belong to this mode')
    if (token === null || token <= Math.min(seen.number, ceiling)) return null
    return because(
      'beacon.lease.token',
      `is ${token}, larger than the largest epoch that its leader has seen`,
    )
  }

  /** Without a tree, nodes vote only for themselves. Every reply answers a request that was made. */
  function votesProblem(
    state: LocalLeaderState,
    from: NodeId,
    { candidate, request, votes }: Reply,
  ): Implausible | null {
    const isDirect = settings.tree === null
    if (isDirect && (votes.length > 1 || votes.some(({ node }) => node !== from))) {
      return because('votes', 'must be votes of the sender only')
    }
    const isAnswer = candidate === self && votes.length > 0
    if (isAnswer && isLater(request, latest(state))) return because('request', 'was never made by this node')
    return null
  }

  /** No node can have written an epoch larger than `most`, and most of the voters must be nodes of this group. */
  function configProblem({ id, sets }: Configuration, most: number): Implausible | null {
    if (id[0] > most) return because('config.id', `is of epoch ${id[0]}, which is ahead of ${most}`)
    if (sets === plausibleSets) return null
    for (const voters of sets) {
      let count = 0
      for (const voter of voters) if (known.has(voter)) count += 1
      if (count * 2 <= voters.length) return because('config.sets', 'has a majority of unknown voters')
    }
    plausibleSets = sets
    return null
  }

  function ahead(field: string, { number, owner }: Epoch, ceiling: number): Implausible | null {
    if (number <= ceiling) return null
    const problem = `is ${number}, more than ${EPOCH_STEP} ahead of what is known`
    return { field, problem, learnt: { number: ceiling, owner } }
  }

  return { findImplausible, withoutForeign, recordEpochGrowth }
}

function because(field: string, problem: string): Implausible {
  return { field, problem, learnt: null }
}
