import { z } from 'zod'
import { define, type NodeId, perNode } from '../../core/index.ts'
import { omega } from './omega.ts'
import type { OmegaSettings } from './settings.ts'

function options(nodes: readonly NodeId[]) {
  return z.strictObject({
    quorum: z
      .enum(['none', 'static', 'dynamic'])
      .default('dynamic')
      .describe(
        'when a view may be installed: always (none), with a majority of all nodes (static), with one of the last view (dynamic)',
      ),
    tie: z.boolean().default(false).describe('dynamic: half of the last view is enough if its least node is in it'),
    reinit: z
      .enum(['never', 'all', 'quorum'])
      .default('quorum')
      .describe('when nobody is alive, begin again: never, when all nodes are linked, or by the quorum rule'),
    filter: z
      .boolean()
      .default(false)
      .describe('dead nodes that are linked with only some of the members do not hold up the others'),
    weights: perNode(nodes, z.number())
      .default({})
      .describe('the least weight leads (0 unless given), equal ones by id'),
  })
}

type Options = z.infer<ReturnType<typeof options>>

export const omegaDefinition = define({
  name: 'omega',
  title: 'Omega+: numbered views of the living, and a leader once all in the view have agreed on it',
  source: 'Franceschetti & Bruck 1999, corrected',
  kinds: ['status', 'cand', 'cancel', 'accept', 'withdraw'],
  prefers: 'lowest',
  order: 'fifo',
  leastNodes: 2,
  links: () => 'reported',
  options,
  promises: [
    'omega-views',
    'omega-lives',
    'connected-leaders',
    'weak-liveness',
    'filtered-liveness',
    'theorem-3-3-logical',
    'primary-chain',
  ],
  goals: ['elected', 'leader-changed', 'view-installed', 'released'],
  keeps: ({ quorum, filter }: Options) => ({
    promises: [
      'omega-views',
      'omega-lives',
      'connected-leaders',
      filter ? 'filtered-liveness' : 'weak-liveness',
      'theorem-3-3-logical',
      ...(quorum === 'none' ? [] : ['primary-chain']),
    ],
    goals: ['elected', 'leader-changed', 'view-installed', 'released'],
  }),
  constants: ({ quorum, tie, reinit }) => ({
    staticQuorum: Number(quorum === 'static'),
    dynamicQuorum: Number(quorum === 'dynamic'),
    tie: Number(tie),
    reinitAll: Number(reinit === 'all'),
    reinitQuorum: Number(reinit === 'quorum'),
  }),
  create: (identity, settings: Options) => omega(identity, { ...settings, flaws: [] } satisfies OmegaSettings),
  settlesWithin: (_options, maxDelay, nodes) => (20 + 10 * nodes) * maxDelay,
  exploration: {
    from: 'settled',
    options: { quorum: 'none', reinit: 'never' },
    crashes: 0,
    recoveries: 0,
    flips: 3,
    progress: true,
  },
  swarm: {
    faults: ['crash', 'partition', 'cut', 'graph', 'slow'],
    delayMs: [0.1, 5],
    driftPpm: 0,
    options: {
      quorum: ['none', 'static', 'dynamic'],
      reinit: ['all', 'quorum'],
      filter: [false, false, true],
      tie: [false, true],
    },
  },
})
