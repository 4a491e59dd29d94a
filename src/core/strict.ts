/**
 * A protocol that is held to its side of the contract at every step: plain data, frozen, deterministic, the
 * same object when nothing changed, and indifferent to what its clock happens to say. Slow; for tests.
 */
import { assert } from './assert.ts'
import type { Effect, Protocol, Step } from './contract.ts'
import { canonical, deepFreeze, type Plain, whyNotPlain } from './plain.ts'
import type { Micros } from './units.ts'

/** How far the clock is moved when a step is tried again elsewhere in time. */
const SHIFT: Micros = 3_600_000_000

export function strict(protocol: Protocol): Protocol {
  function checked(what: string, before: Plain | undefined, run: () => Step<Plain>): Step<Plain> {
    const first = run()
    const fault = whyNotPlain(first, what)
    assert(fault === null, `not plain data: ${fault}`)
    const text = canonical(first)
    assert(text === canonical(run()), `${what} is not deterministic`)
    if (before !== undefined && before !== first.state) {
      assert(canonical(before) !== canonical(first.state), `${what} changed nothing but made a new state`)
    }
    return deepFreeze(first)
  }

  function checkShift(what: string, expected: Step<Plain>, moved: Step<Plain>): void {
    const shifted: Step<Plain> = {
      state: protocol.shift(expected.state, SHIFT),
      effects: expected.effects.map((effect) => shiftEffect(effect, SHIFT)),
    }
    assert(canonical(shifted) === canonical(moved), `${what} depends on what the clock says`)
  }

  const { settled } = protocol
  return {
    start(stable, now) {
      const step = checked('start', undefined, () => protocol.start(stable, now))
      checkShift('start', step, protocol.start(stable, now + SHIFT))
      return step
    },
    step(state, input, now) {
      const what = `step on ${JSON.stringify(input)}`
      const step = checked(what, state, () => protocol.step(state, input, now))
      checkShift(what, step, protocol.step(protocol.shift(state, SHIFT), input, now + SHIFT))
      return step
    },
    view: (state, now) => protocol.view(state, now),
    shift: (state, by) => deepFreeze(protocol.shift(state, by)),
    ...(settled === undefined
      ? {}
      : { settled: (outcome, now) => checked('settled', undefined, () => settled(outcome, now)) }),
  }
}

function shiftEffect(effect: Effect, by: Micros): Effect {
  if (effect.type !== 'setTimer') return effect
  const at =
    typeof effect.at === 'number' ? effect.at + by : ([effect.at[0] + by, effect.at[1] + by] as const)
  return { type: 'setTimer', name: effect.name, at }
}
