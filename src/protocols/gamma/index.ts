import { z } from 'zod'
import { define, type Stimulus } from '../../core/index.ts'
import { canWake, type GammaState, gamma } from './gamma.ts'

const WAKE: Stimulus = { command: { do: 'wake' }, whenDown: null, owed: false }

export const gammaDefinition = define({
  name: 'gamma',
  title: 'Protocol Gamma: a candidate leads once all other nodes have accepted it; no failures',
  source: 'Franceschetti & Bruck 1999, section 3.1',
  kinds: ['candidate', 'accept', 'leader'],
  prefers: 'lowest',
  options: () =>
    z.strictObject({
      passive: z
        .boolean()
        .default(true)
        .describe('a node that was woken up by a message never becomes a candidate'),
    }),
  commands: () => z.strictObject({ do: z.literal('wake').describe('become a candidate') }),
  promises: ['one-leader'],
  goals: ['elected'],
  create: (identity, options) => gamma(identity, options),
  stimuli: (state: GammaState, _identity, options) => (canWake(state, options.passive) ? [WAKE] : []),
  settlesWithin: (_options, maxDelay) => 3 * maxDelay,
  exploration: { crashes: 0, recoveries: 0 },
  swarm: { faults: [], commands: [{ do: 'wake' }] },
})
