/**
 * The protocol as the explorer searches it, with fewer interleavings and the same outcomes.
 *
 * A message of a node to itself arrives at once. Refusals are not sent where no leader can renew, because no node counts
 * them then (a leader that renews may raise its epoch after one: raise.ts). The timer that reports the end of a lease is
 * not set, because the clock alone ends the lease. A node that has used up its requests is not woken to make another.
 */
import type { Effect, NodeId, Protocol, Step } from '../../core/index.ts'
import type { LocalLeaderCommand, LocalLeaderMessage } from './messages.ts'
import type { LocalLeaderStable } from './stable.ts'
import type { LocalLeaderState } from './state.ts'

type Searched = Protocol<LocalLeaderState, LocalLeaderMessage, LocalLeaderCommand, LocalLeaderStable>
type LocalLeaderEffect = Effect<LocalLeaderMessage, LocalLeaderStable>

export function forSearch(protocol: Searched, self: NodeId, mostRequests: number): Searched {
  function matters(effect: LocalLeaderEffect, { requests }: LocalLeaderState): boolean {
    if (effect.type === 'setTimer') {
      return effect.name !== 'expire' && (effect.name !== 'alive' || requests < mostRequests)
    }
    if (effect.type === 'send' && effect.body.kind === 'Reply') {
      return mostRequests > 1 || effect.body.votes.some(({ support }) => support)
    }
    return true
  }

  function settle(
    step: Step<LocalLeaderState, LocalLeaderMessage, LocalLeaderStable>,
    now: number,
  ): Step<LocalLeaderState, LocalLeaderMessage, LocalLeaderStable> {
    let { state } = step
    const effects: LocalLeaderEffect[] = []
    const own: LocalLeaderMessage[] = []
    const take = (more: readonly LocalLeaderEffect[]): void => {
      for (const effect of more) {
        if (effect.type === 'send' && effect.to === self) own.push(effect.body)
        else if (matters(effect, state)) effects.push(effect)
      }
    }
    take(step.effects)
    for (const body of own) {
      const next = protocol.step(state, { type: 'message', from: self, body, receipt: null }, now)
      state = next.state
      take(next.effects)
    }
    return { state, effects }
  }

  return {
    ...protocol,
    start: (stable, now) => settle(protocol.start(stable, now), now),
    step: (state, input, now) => settle(protocol.step(state, input, now), now),
  }
}
