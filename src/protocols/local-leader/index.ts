/** The definition of local-leader: its options, commands, promises, and how worlds run it. */
import { z } from 'zod'
import {
  type Constants,
  define,
  microsOf,
  NETWORK_FAULT_KINDS,
  type NodeId,
  nodeAmong,
  stack,
} from '../../core/index.ts'
import { carriedMessages, FAIL_AWARE_KINDS, failAware, failAwareKind } from '../../links/index.ts'
import { hostShowing } from '../host.ts'
import { handsOverWithinOf, leadsWithinOf, reachableWithinOf } from './constants.ts'
import { rulesWith } from './defects.ts'
import { failoverTermsOf } from './failover-terms.ts'
import { agreed, createLocalLeader, timingFor, timingInState } from './group.ts'
import { reachableIn } from './insight.ts'
import { judgedByLeases, leaseMs } from './lease-options.ts'
import { type LocalLeaderOptions, localLeaderOptions } from './options.ts'
import { forSearch, withLevels } from './search.ts'
import type { LocalLeaderState } from './state.ts'
import { summaryOf } from './summary.ts'

function commands(nodes: readonly NodeId[]) {
  const node = nodeAmong(nodes)
  return z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('stepDown'), to: z.exactOptional(node) }),
    z.strictObject({ do: z.literal('campaign'), willing: z.boolean(), lapse: z.boolean().default(false) }),
    z.strictObject({ do: z.literal('setPriority'), priority: z.int().min(-1_000_000).max(1_000_000) }),
    z.strictObject({ do: z.literal('addVoter'), voter: node }),
    z.strictObject({ do: z.literal('removeVoter'), voter: node }),
    z.strictObject({ do: z.literal('setLeaseBounds'), leaseMinMs: leaseMs(), leaseMaxMs: leaseMs() }),
  ])
}

const kappaFor = (chosen: LocalLeaderOptions, nodes: number): number =>
  rulesWith(chosen.misreading).kappa(timingFor(chosen, nodes))

/**
 * The longest time without a leader, the time until a leader stays, how long a node stays back after it stepped down, how
 * soon a chosen successor leads, and how soon another node leads after a crash.
 */
function progressOf(chosen: LocalLeaderOptions, nodes: number): Constants {
  if (chosen.mode !== 'majority' || chosen.rule !== 'quorum') return {}
  const timing = timingFor(chosen, nodes)
  const leadsWithin = leadsWithinOf(timing)
  const retirement = Math.ceil(timing.retirement * (1 + 2 * timing.rho))
  // Leaders that rotate do not stay.
  const supportsWithin = leadsWithin + microsOf(chosen.holdDownMs)
  const voters = chosen.voters?.length ?? nodes - chosen.observers.length
  const after = { handsOverWithin: handsOverWithinOf(timing), ...failoverTermsOf(chosen, voters) }
  const shared = { leadsWithin, retirement, supportsWithin, ...after }
  if (chosen.termMs !== null) return shared
  return { ...shared, keepsAfter: 2 * leadsWithin + microsOf(chosen.holdDownMs) }
}

const COMMON_GOALS = ['elected', 'renewed', 'lost', 'handed-over']
const EVERYWHERE = ['SO', 'LS', 'T', 'told-in-pairs', 'views-disjoint', 'reachability']
const LOCAL = ['BI', 'stable-inside-logical']
const MAJORITY = ['one-leader', 'tokens', 'voter-changes']
/** What holds for any lock of any request. */
const SAFE = ['SO', 'LS', 'told-in-pairs', 'views-disjoint', ...MAJORITY]
/** Where a majority is enough. */
const QUORUM = ['majority-leads', 'voters-support']

/** Leases that adapt do not wait for a slow minority, which may not support the leader. */
function quorumPromises(timing: LocalLeaderOptions['timing']): readonly string[] {
  return timing === 'fixed' ? QUORUM : QUORUM.filter((name) => name !== 'voters-support')
}

export const localLeaderDefinition = define({
  name: 'local-leader',
  title: 'one leader per partition, or one in all, by locks and leases on drifting clocks; the default',
  source: 'Fetzer & Cristian, A Highly Available Local Leader Election Service, 1999',
  kinds: ['Election', 'Reply', 'Release'],
  linkKinds: ['Heartbeat', ...FAIL_AWARE_KINDS],
  kindOf: failAwareKind,
  carried: (body) => carriedMessages(body),
  summaryOf,
  prefers: 'lowest',
  options: localLeaderOptions,
  commands,
  promises: [...EVERYWHERE, ...LOCAL, ...MAJORITY, ...QUORUM],
  goals: [...COMMON_GOALS, 'split', 'merged', 'reconfigured'],
  keeps({ mode, rule, link, levels, timing }) {
    if (timing === 'adaptive' && levels === 'drawn') return { promises: [...SAFE], goals: [...COMMON_GOALS] }
    if (link === 'none') return { promises: ['one-leader', 'tokens', 'LS'], goals: ['elected'] }
    const local = { promises: [...EVERYWHERE, ...LOCAL], goals: [...COMMON_GOALS, 'split', 'merged'] }
    const majority = {
      promises: [...EVERYWHERE, ...MAJORITY, ...(rule === 'equality' ? LOCAL : quorumPromises(timing))],
      goals: [...COMMON_GOALS, 'reconfigured'],
    }
    return mode === 'local' ? local : majority
  },
  timeliness(chosen) {
    const { delay, heard, lateness } = timingFor(chosen, 0)
    return { delay, fast: heard, lateness }
  },
  constants(chosen, nodes) {
    const kappa = kappaFor(chosen, nodes)
    const timing = timingFor(chosen, nodes)
    const { leastDelay } = timing
    const majority = chosen.mode === 'majority' ? 1 : 0
    const shared = { kappaT: kappa, kappaBI: kappa, majority, nodes, leastDelay, rhoPpm: chosen.rhoPpm }
    return { ...shared, reachableWithin: reachableWithinOf(timing), ...progressOf(chosen, nodes) }
  },
  judgedBy: judgedByLeases,
  neverLead: ({ witnesses }) => witnesses,
  reachable(state: LocalLeaderState, { nodes }, chosen, now) {
    return chosen.link === 'fail-aware'
      ? reachableIn(state, nodes, timingInState(chosen, nodes.length, state), now)
      : null
  },
  onlyRecorded: ({ link }) => (link === 'hosted' ? 'link' : null),
  create(identity, chosen) {
    const rules = rulesWith(chosen.misreading)
    const { protocol, timing, terms, levels } = createLocalLeader(identity, chosen, rules)
    if (chosen.requests !== null) {
      const searched = forSearch(protocol, identity.self, chosen.requests)
      return levels === null ? searched : withLevels(searched, levels)
    }
    if (chosen.link === 'none') return protocol
    if (chosen.link === 'hosted') return hostShowing(identity.self, chosen.hostedGroup)
    const echo = rules.measuresRoundTrips()
    return stack(failAware(identity, { ...terms, agreed: agreed(chosen, timing), echo }), protocol)
  },
  stimuli(state: LocalLeaderState, _identity, { requests }) {
    // In searches a leader may receive stepDown at any moment.
    const mayStepDown = requests !== null && state.term !== null
    return mayStepDown ? [{ command: { do: 'stepDown' }, whenDown: null, owed: false }] : []
  },
  settlesWithin(chosen, maxDelay, nodes) {
    return kappaFor(chosen, nodes) + 4 * maxDelay
  },
  // Long enough that a term which ends without a cause counts as a violation.
  watchesFor(chosen, nodes) {
    const { leadsWithin = 0, keepsAfter = leadsWithin } = progressOf(chosen, nodes)
    return Math.ceil(1.5 * keepsAfter)
  },
  // Two candidates and a witness; two ticks are a lock, a lease, and not yet the silence after a restart.
  exploration: {
    from: 'boot',
    options: { link: 'none', requests: 1, witnesses: [3] },
    timers: 'any',
    crashes: 1,
    recoveries: 1,
    ticks: 3,
    tick: 50_220,
  },
  driftPpm: ({ rhoPpm }) => rhoPpm,
  // Leases that adapt must bear load.
  bears: ({ timing }) => (timing === 'adaptive' ? [...NETWORK_FAULT_KINDS, 'load'] : NETWORK_FAULT_KINDS),
  // Where a majority is enough, faults at the other nodes do no harm.
  endures: ({ mode, rule }) =>
    mode === 'majority' && rule === 'quorum' ? ['cutOneWay', 'linkLoss', 'drop', 'unwritable'] : [],
  swarm: {
    faults: NETWORK_FAULT_KINDS,
    delayMs: [0.02, 5],
    driftPpm: 100,
    commands: [
      { do: 'stepDown' },
      { do: 'stepDown' },
      { do: 'setPriority', priority: 1 },
      { do: 'setPriority', priority: 0 },
      ...[1, 2].flatMap((voter) => [
        { do: 'removeVoter', voter },
        { do: 'addVoter', voter },
      ]),
    ],
    options: {
      mode: ['local', 'majority'],
      sticky: [false, false, true],
      holdDownMs: [0, 0, 200],
      fastMs: [null, null, 12, 25, 50],
      rhoPpm: [100, 100, 10, 200],
    },
  },
})
