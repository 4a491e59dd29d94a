/**
 * The protocol as the explorer searches it, with fewer interleavings and the same outcomes.
 *
 * A message of a node to itself arrives at once. Refusals are not sent where no leader can renew, because no node counts
 * them then (a leader that renews may raise its epoch after one: raise.ts). The timer that reports the end of a lease is
 * not set, because the clock alone ends the lease. A node that has used up its requests is not woken to make another.
 */
import { type Effect, type NodeId, type Protocol, type Step, stopTimer } from '../../core/index.ts'
import { TIMER } from './context.ts'
import type { LevelBounds } from './levels.ts'
import type { LocalLeaderCommand, LocalLeaderMessage } from './messages.ts'
import { changedPace } from './pace.ts'
import type { LocalLeaderStable } from './stable.ts'
import { changed, type LocalLeaderState } from './state.ts'

type Searched = Protocol<LocalLeaderState, LocalLeaderMessage, LocalLeaderCommand, LocalLeaderStable>
type LocalLeaderEffect = Effect<LocalLeaderMessage, LocalLeaderStable>
type SearchStep = Step<LocalLeaderState, LocalLeaderMessage, LocalLeaderStable>

/** The timer of a candidacy at a level. */
const aliveAt = (level: number): string => `${TIMER.alive} ${level}`

/**
 * With adaptive timing, the world chooses the level of every request: each level has a timer, and the first timer to
 * fire stops the others. Between requests the level is the highest one, so that states do not differ by it.
 */
export function withLevels(protocol: Searched, { least, most }: LevelBounds): Searched {
  const levels = [...new Set([least, (least + most) >> 1, most])]

  const atLevel = (state: LocalLeaderState, level: number): LocalLeaderState =>
    state.pace === null ? state : changed(state, { pace: changedPace(state.pace, { level }) })

  function withTimers(step: SearchStep): SearchStep {
    const effects = step.effects.flatMap((effect): readonly LocalLeaderEffect[] => {
      if (effect.type === 'setTimer' && effect.name === TIMER.alive)
        return levels.map((level) => ({ ...effect, name: aliveAt(level) }))
      if (effect.type === 'stopTimer' && effect.name === TIMER.alive)
        return levels.map((level) => ({ ...effect, name: aliveAt(level) }))
      return [effect]
    })
    return { state: atLevel(step.state, most), effects }
  }

  return {
    ...protocol,
    start: (stable, now) => withTimers(protocol.start(stable, now)),
    step(state, input, now) {
      const level = input.type === 'timer' ? levels.find((each) => aliveAt(each) === input.name) : undefined
      if (level === undefined) return withTimers(protocol.step(state, input, now))
      const asked = protocol.step(atLevel(state, level), { type: 'timer', name: TIMER.alive }, now)
      const { state: next, effects } = withTimers(asked)
      const others = levels.filter((each) => each !== level)
      return { state: next, effects: [...others.map((each) => stopTimer(aliveAt(each))), ...effects] }
    },
  }
}

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

  function settle(step: SearchStep, now: number): SearchStep {
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
