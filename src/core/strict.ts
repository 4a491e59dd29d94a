/**
 * Checks at every step that a protocol keeps its side of the contract: plain data, frozen, deterministic, the same object
 * when nothing changed, and independent of the absolute time on its clock. Slow; for tests.
 */
import { fail } from './assert.ts'
import type { Effect, Protocol, Step } from './contract.ts'
import { deepFreeze, equalPlain, type Plain, whyNotPlain } from './plain.ts'
import type { Micros } from './units.ts'

/** How far the clock is moved when a step is repeated at another time. */
const SHIFT: Micros = 3_600_000_000

/** The place of a violation: built only when a check fails. */
type Place = () => string

export function strict(protocol: Protocol): Protocol {
  /** Values that are known to be plain and frozen, so that what consecutive states share is checked once. */
  const vetted = new WeakSet<object>()
  /** Shifted states, cached: each is needed after one step and before the next. */
  const shiftedStates = new WeakMap<object, Plain>()

  function isPlain(value: unknown): boolean {
    if (value === null || typeof value !== 'object') return whyNotPlain(value) === null
    if (vetted.has(value)) return true
    // Iterating visits the holes of a list too, which `every` and `Object.values` skip.
    if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false
    for (const inner of Array.isArray(value) ? value : Object.values(value)) {
      if (!isPlain(inner)) return false
    }
    return true
  }

  /** Freezes plain data recursively and remembers it. */
  function vet(value: Plain): void {
    if (value === null || typeof value !== 'object' || vetted.has(value)) return
    Object.freeze(value)
    for (const inner of Object.values(value)) vet(inner)
    vetted.add(value)
  }

  function runChecked(place: Place, before: Plain | undefined, run: () => Step<Plain>): Step<Plain> {
    const first = run()
    if (!isPlain(first)) fail(`not plain data: ${whyNotPlain(first, place())}`)
    if (!equalPlain(first, run())) fail(`${place()} is not deterministic`)
    if (before !== undefined && before !== first.state && equalPlain(before, first.state)) {
      fail(`${place()} changed nothing but returned a new state`)
    }
    vet(first)
    return first
  }

  function shiftedState(state: Plain): Plain {
    if (state === null || typeof state !== 'object') return protocol.shift(state, SHIFT)
    const shifted = shiftedStates.get(state) ?? protocol.shift(state, SHIFT)
    shiftedStates.set(state, shifted)
    return shifted
  }

  function checkShift(place: Place, expected: Step<Plain>, moved: Step<Plain>): void {
    const shifted: Step<Plain> = {
      state: shiftedState(expected.state),
      effects: expected.effects.map((effect) => shiftEffect(effect, SHIFT)),
    }
    if (!equalPlain(shifted, moved)) fail(`${place()} depends on the absolute time`)
  }

  const { settled } = protocol
  return {
    start(stable, now) {
      const step = runChecked(
        () => 'start',
        undefined,
        () => protocol.start(stable, now),
      )
      checkShift(() => 'start', step, protocol.start(stable, now + SHIFT))
      return step
    },
    step(state, input, now) {
      const place = () => `step on ${JSON.stringify(input)}`
      const step = runChecked(place, state, () => protocol.step(state, input, now))
      checkShift(place, step, protocol.step(shiftedState(state), input, now + SHIFT))
      return step
    },
    view: (state, now) => protocol.view(state, now),
    shift: (state, by) => deepFreeze(protocol.shift(state, by)),
    ...(settled === undefined
      ? {}
      : {
          settled: (outcome, now) =>
            runChecked(
              () => 'settled',
              undefined,
              () => settled(outcome, now),
            ),
        }),
  }
}

function shiftEffect(effect: Effect, by: Micros): Effect {
  if (effect.type !== 'setTimer') return effect
  const at =
    typeof effect.at === 'number' ? effect.at + by : ([effect.at[0] + by, effect.at[1] + by] as const)
  return { type: 'setTimer', name: effect.name, at }
}
