/** What surrounds Phi, Psi and Omega as printed. */
import { z } from 'zod'
import { type Definition, define } from '../../core/index.ts'
import { type PrintedForm, printed } from './printed.ts'

type About = {
  readonly protocol: PrintedForm['protocol']
  readonly title: string
  readonly section: string
  readonly promises: readonly string[]
}

const smaller = z
  .enum(['all', 'living'])
  .default('all')
  .describe('which smaller nodes keep a node from being a candidate: all (printed), or those not isolated')
const convergence = z
  .enum(['printed', 'recipient'])
  .default('printed')
  .describe(
    'Def. 3.2: which link must be down for an accept not to be needed: to j (printed), or to whom was asked',
  )
const rounds = z
  .boolean()
  .default(false)
  .describe('number candidacies, and forget what was exchanged with a node when its link goes down')
const views = z
  .enum(['none', 'naive'])
  .default('none')
  .describe('none (printed): only the leader knows; naive: it tells the new component, and all believe it')

/** The readings and repairs that make sense for each. */
function optionsOf(protocol: PrintedForm['protocol']) {
  switch (protocol) {
    case 'phi':
      return z.strictObject({})
    case 'psi':
      return z.strictObject({ smaller })
    case 'omega':
      return z.strictObject({ smaller, convergence, rounds, views })
    default:
      return protocol satisfies never
  }
}

export function printedDefinition({ protocol, title, section, promises }: About): Definition {
  const fields = optionsOf(protocol)
  return define({
    name: protocol === 'omega' ? 'omega-printed' : protocol,
    title,
    source: `Franceschetti & Bruck 1999, section ${section}, as printed`,
    kinds: ['cand', 'accept', 'cancel', 'view'],
    prefers: 'lowest',
    order: 'fifo',
    links: () => 'reported',
    leastNodes: 2,
    options: () => fields,
    promises,
    goals: ['elected'],
    create: (identity, options: Partial<PrintedForm>) =>
      printed(identity, {
        protocol,
        smaller: 'all',
        convergence: 'recipient',
        rounds: false,
        views: 'none',
        ...options,
      }),
    settlesWithin: (_options, maxDelay, nodes) => (8 + 2 * nodes) * maxDelay,
    exploration: { from: 'settled', crashes: 0, recoveries: 0, flips: 4 },
    swarm: { faults: [], driftPpm: 0 },
  })
}
