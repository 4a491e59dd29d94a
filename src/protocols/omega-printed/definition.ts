/** The definitions of Phi, Psi and Omega as printed. */
import { z } from 'zod'
import { type Definition, define } from '../../core/index.ts'
import { createPrinted, type PrintedForm } from './printed.ts'

type PrintedVariant = {
  readonly protocol: PrintedForm['protocol']
  readonly title: string
  readonly section: string
  readonly promises: readonly string[]
}

const smaller = z
  .enum(['all', 'living'])
  .default('all')
  .describe(
    'smaller nodes that keep a node from being a candidate: all (printed), or only nodes not isolated',
  )
const convergence = z
  .enum(['printed', 'recipient'])
  .default('printed')
  .describe(
    'Def. 3.2: no accept is needed once this link is down: to the changed node j (printed), or to the recipient',
  )
const rounds = z
  .boolean()
  .default(false)
  .describe('number candidacies, and forget what was exchanged over a link that goes down')
const views = z
  .enum(['none', 'naive'])
  .default('none')
  .describe(
    'none (printed): only the leader knows; naive: it sends the new component to all, and they adopt it',
  )

/** The readings and corrections that apply to each protocol. */
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

export function definePrinted({ protocol, title, section, promises }: PrintedVariant): Definition {
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
      createPrinted(identity, {
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
