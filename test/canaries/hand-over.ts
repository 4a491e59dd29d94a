/** Local-leader with a hand-over that does not reach the chosen node: it must be caught. */
import type { Definition, Effect, Input } from '../../src/core/index.ts'
import { localLeaderDefinition } from '../../src/protocols/local-leader/index.ts'

/**
 * `unnamed`: the leader forgets whom it chose, so the next node in rank leads. `unreleased`: the leader does not release its
 * supporters, so no node leads before their locks have expired.
 */
export type LostHandOver = 'unnamed' | 'unreleased'

export function losingHandOvers(how: LostHandOver): Definition {
  const plain: Definition = localLeaderDefinition
  const isRelease = (effect: Effect): boolean =>
    effect.type === 'send' && plain.kindOf(effect.body) === 'Release'
  const forgetChoice = (input: Input): Input =>
    input.type === 'command' && input.command.do === 'stepDown'
      ? { ...input, command: { do: 'stepDown' } }
      : input
  return {
    ...plain,
    create(identity, options) {
      const protocol = plain.create(identity, options)
      return {
        ...protocol,
        step(state, input, now) {
          if (how === 'unnamed') return protocol.step(state, forgetChoice(input), now)
          const { state: next, effects } = protocol.step(state, input, now)
          return { state: next, effects: effects.filter((effect) => !isRelease(effect)) }
        },
      }
    },
  }
}
