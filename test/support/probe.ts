/**
 * A scripted protocol for tests of worlds. A command lists the effects to return; every other input becomes
 * an output event with the time on the node's clock.
 */
import { z } from 'zod'
import { type Definition, define, type Effect, output, type Protocol } from '../../src/core/index.ts'

const probe: Protocol = {
  start: (stable, now) => ({ state: 0, effects: [output({ type: 'started', stable, now })] }),
  step(state, input, now) {
    if (input.type === 'command') {
      const asked = input.command['effects'] as readonly Effect[]
      return { state, effects: asked.map((effect) => relative(effect, now)) }
    }
    return { state, effects: [output({ type: 'got', input, now })] }
  },
  view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
  shift: (state) => state,
}

/** Timer deadlines are given as durations from now. */
function relative(effect: Effect, now: number): Effect {
  if (effect.type !== 'setTimer') return effect
  const { at } = effect
  return { ...effect, at: typeof at === 'number' ? now + at : [now + at[0], now + at[1]] }
}

export const probeDefinition: Definition = define({
  name: 'probe',
  title: 'does what its commands say',
  source: 'a test',
  kinds: ['note', 'other'],
  prefers: 'lowest',
  order: 'any',
  commands: () => z.strictObject({ do: z.literal('act'), effects: z.array(z.record(z.string(), z.json())) }),
  create: () => probe,
  settlesWithin: () => 10_000,
})
