import { z } from 'zod'
import {
  define,
  microsOf,
  millisecondsOr,
  momentMs,
  type NodeId,
  type Protocol,
  stack,
} from '../../core/index.ts'
import {
  carriedMessages,
  checkHistory,
  framedKind,
  HISTORY_KINDS,
  historyLayer,
  historyOptions,
  historySettlesWithin,
} from '../../links/index.ts'
import { MANAGER_KINDS } from '../../recovery/manager/index.ts'
import { hostShowing } from '../host.ts'
import { bearableFaults, linkOptions, VIEW_FAULTS } from '../omega/link-options.ts'
import { LONGEST_LAPSE } from '../omega/omega.ts'
import { summaryOf } from '../omega/summary.ts'
import { commands } from './commands.ts'
import { MISREADINGS } from './defects.ts'
import { withModelHost } from './model/modelled.ts'
import { MODEL_KINDS } from './model/state.ts'
import { recovery } from './recovery.ts'
import { settingsOf } from './settings.ts'

function options(nodes: readonly NodeId[]) {
  return z
    .strictObject({
      ...linkOptions(nodes),
      waitMs: momentMs()
        .default(0)
        .describe('how long the leader waits before it restarts the jobs of a lost owner'),
      stopMs: millisecondsOr(1000, 'how long a node outside the quorum lets its jobs run'),
      model: z
        .boolean()
        .default(true)
        .describe('simulate the disks and applications of the nodes; real nodes have their own'),
      jobs: z.int().min(0).max(16).default(2).describe('model: how many nodes submit a job'),
      length: z.int().min(1).max(100_000).default(40).describe('model: after how many outputs a job ends'),
      every: z.int().min(1).max(10_000).default(2).describe('model: how many outputs a checkpoint contains'),
      slots: z.int().min(0).max(100).default(2).describe('model: how many jobs a node runs at once'),
      misreading: z
        .enum(MISREADINGS)
        .default('none')
        .describe(
          'run with a known defect, which a specification must catch (see the README of the protocol)',
        ),
      ...historyOptions(),
    })
    .superRefine(checkHistory)
}

type Options = z.infer<ReturnType<typeof options>>

/** The time that the model needs: reading and storing a checkpoint, each with a retry, and the manager's rounds. */
const MODEL_SETTLES_MS = 1500

export const recoveryDefinition = define({
  name: 'recovery',
  title:
    'Fault recovery: checkpoints in erasure-coded columns, and a manager that resumes the jobs of dead nodes',
  source: 'Franceschetti & Bruck 1999; Bohossian et al. 2001 (RAIN)',
  onlyRecorded: ({ links }) => (links === 'hosted' ? 'links' : null),
  kinds: [
    'status',
    'cand',
    'cancel',
    'accept',
    'attempt',
    'attempted',
    'withdraw',
    ...MANAGER_KINDS,
    ...MODEL_KINDS,
  ],
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
    'one-accepted-owner',
    'checkpoints-survive',
    'jobs-resume',
    'one-content',
    'omega-views',
    'omega-lives',
    'connected-leaders',
    'one-acting-leader',
    'majority-of-view-leads',
  ],
  // job-lost is too rare for a goal of every campaign: more nodes must be gone than a checkpoint tolerates.
  goals: ['elected', 'checkpoint-committed', 'job-resumed', 'reencoded', 'column-repaired'],
  constants: ({ links, timeoutMs }) => ({
    linkTimeout: links === 'reported' ? 0 : microsOf(timeoutMs),
    staticQuorum: 1,
    dynamicQuorum: 0,
    tie: 0,
    reinitAll: 0,
    reinitQuorum: 1,
  }),
  create(identity, chosen: Options) {
    if (chosen.links === 'hosted') return hostShowing(identity.self, chosen.hostedGroup)
    const { jobs, length, every, slots } = chosen
    const bare = recovery(identity, settingsOf(chosen))
    const protocol = chosen.model
      ? withModelHost(identity, bare, { jobs, length, every, slots })
      : (bare as unknown as Protocol)
    return chosen.links === 'reported' ? protocol : stack(historyLayer(identity, chosen), protocol)
  },
  settlesWithin({ waitMs, stopMs, ...chosen }, maxDelay, nodes) {
    const managed = (40 + 10 * nodes) * maxDelay + microsOf(waitMs + stopMs + MODEL_SETTLES_MS)
    const agreed = (20 + 10 * nodes) * maxDelay + LONGEST_LAPSE + managed
    if (chosen.links === 'reported') return agreed
    return historySettlesWithin(chosen, maxDelay) + agreed + 10 * microsOf(chosen.retransmitMs)
  },
  bears: ({ links }) => bearableFaults(links),
  exploration: {
    from: 'settled',
    options: { links: 'reported', jobs: 1, length: 1, every: 1, slots: 1 },
    crashes: 1,
    recoveries: 0,
    flips: 0,
    timers: 'quiet',
    progress: false,
  },
  swarm: {
    faults: VIEW_FAULTS,
    rests: true,
    delayMs: [0.1, 5],
    commands: [
      { do: 'stepDown' },
      { do: 'corrupt' },
      { do: 'corrupt' },
      { do: 'cancel', job: 'job-1' },
      { do: 'submit', job: 'job-1' },
      { do: 'submit', job: 'job-9' },
      { do: 'slots', slots: 0 },
      { do: 'slots', slots: 3 },
    ],
    options: {
      links: ['reported', 'datagrams'],
      jobs: [1, 2, 4],
      length: [4, 40, 300],
      every: [1, 3],
      slots: [1, 2],
      waitMs: [0, 0, 300],
      stopMs: [100, 1000],
    },
  },
})
