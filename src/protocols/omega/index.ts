import { z } from 'zod'
import { define, microsOf, type NodeId, type Protocol, stack } from '../../core/index.ts'
import {
  carriedMessages,
  checkHistory,
  framedKind,
  HISTORY_KINDS,
  historyLayer,
  historyOptions,
  historySettlesWithin,
} from '../../links/index.ts'
import { hostShowing } from '../host.ts'
import { bearableFaults, linkOptions, VIEW_FAULTS } from './link-options.ts'
import { LONGEST_LAPSE, omega } from './omega.ts'
import { RULES } from './rules.ts'
import type { OmegaSettings } from './settings.ts'
import { summaryOf } from './summary.ts'

function options(nodes: readonly NodeId[]) {
  return z
    .strictObject({
      ...linkOptions(nodes),
      quorum: z
        .enum(['none', 'static', 'dynamic'])
        .default('dynamic')
        .describe(
          'when a view may be installed: always (none), with a majority of all nodes (static), with a majority of the last view (dynamic)',
        ),
      tie: z
        .boolean()
        .default(false)
        .describe('dynamic: half of the last view is enough if its least node is in it'),
      reinit: z
        .enum(['never', 'all', 'quorum'])
        .default('quorum')
        .describe(
          'when all nodes are dead, form a first view: never, when all nodes are linked, or by the quorum rule',
        ),
      filter: z
        .boolean()
        .default(false)
        .describe('leave out dead nodes that are linked with only some of the members'),
      ...historyOptions(),
    })
    .superRefine(checkHistory)
}

const commands = () =>
  z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('stepDown') }),
    z.strictObject({
      do: z.literal('campaign'),
      willing: z.boolean().describe('whether the node would lead'),
      lapse: z
        .boolean()
        .default(false)
        .describe('announce ineligibility only after a delay, because work of the term has not ended'),
    }),
  ])

type Options = z.infer<ReturnType<typeof options>>

export const omegaDefinition = define({
  name: 'omega',
  title: 'Omega+: numbered views of live nodes, and a leader once all members of the view agree',
  source: 'Franceschetti & Bruck 1999, corrected',
  onlyRecorded: ({ links }) => (links === 'hosted' ? 'links' : null),
  kinds: ['status', 'cand', 'cancel', 'accept', 'attempt', 'attempted', 'withdraw'],
  prefers: 'lowest',
  order: 'fifo',
  leastNodes: 2,
  links: ({ links }) => (links === 'reported' ? 'reported' : 'silent'),
  linkKinds: HISTORY_KINDS,
  kindOf: framedKind,
  carried: (body) => carriedMessages(body),
  summaryOf,
  options,
  commands,
  promises: [
    'omega-views',
    'omega-lives',
    'connected-leaders',
    'weak-liveness',
    'filtered-liveness',
    'theorem-3-3-logical',
    'primary-chain',
    'one-acting-leader',
    'superseded-leader',
    'majority-of-view-leads',
  ],
  goals: ['elected', 'leader-changed', 'view-installed', 'released'],
  keeps: ({ quorum, filter }: Options) => ({
    promises: [
      'omega-views',
      'omega-lives',
      'connected-leaders',
      'weak-liveness',
      ...(filter ? ['filtered-liveness'] : []),
      'theorem-3-3-logical',
      ...(quorum === 'none' ? [] : ['primary-chain', 'one-acting-leader', 'superseded-leader']),
      'majority-of-view-leads',
    ],
    goals: ['elected', 'leader-changed', 'view-installed', 'released'],
  }),
  constants: ({ quorum, tie, reinit, links, timeoutMs }) => ({
    linkTimeout: links === 'reported' ? 0 : microsOf(timeoutMs),
    staticQuorum: Number(quorum === 'static'),
    dynamicQuorum: Number(quorum === 'dynamic'),
    tie: Number(tie),
    reinitAll: Number(reinit === 'all'),
    reinitQuorum: Number(reinit === 'quorum'),
  }),
  create(identity, settings: Options) {
    if (settings.links === 'hosted') return hostShowing(identity.self, settings.hostedGroup)
    const { quorum, tie, reinit, filter, weights } = settings
    const own: OmegaSettings = { quorum, tie, reinit, filter, weights, rules: RULES }
    const protocol = omega(identity, own) as unknown as Protocol
    return settings.links === 'reported' ? protocol : stack(historyLayer(identity, settings), protocol)
  },
  settlesWithin(settings, maxDelay, nodes) {
    const agreed = (20 + 10 * nodes) * maxDelay + LONGEST_LAPSE
    if (settings.links === 'reported') return agreed
    return historySettlesWithin(settings, maxDelay) + agreed + 10 * microsOf(settings.retransmitMs)
  },
  bears: ({ links }) => bearableFaults(links),
  exploration: {
    from: 'settled',
    options: { links: 'reported', quorum: 'none', reinit: 'never' },
    crashes: 0,
    recoveries: 0,
    flips: 3,
    progress: true,
  },
  swarm: {
    faults: VIEW_FAULTS,
    rests: true,
    delayMs: [0.1, 5],
    commands: [
      { do: 'stepDown' },
      { do: 'campaign', willing: false, lapse: false },
      { do: 'campaign', willing: false, lapse: true },
      { do: 'campaign', willing: true, lapse: false },
    ],
    options: {
      links: ['reported', 'datagrams'],
      quorum: ['none', 'static', 'dynamic'],
      reinit: ['all', 'quorum'],
      filter: [false, true, true],
      tie: [false, true],
    },
  },
})
