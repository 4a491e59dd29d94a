/** What real nodes need to run the protocol. */
import { microsOf, type NodeId, type PlainObject } from '../../core/index.ts'
import {
  type Asked,
  type Chosen,
  LEASE_FIELDS,
  type PeerHosting,
  type Problem,
  type ProfileName,
} from '../hosting.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { localLeaderAssumptions } from './assumptions.ts'
import { marginOf } from './constants.ts'
import { lowestLevel } from './evidence.ts'
import { localLeaderGroup, localLeaderHandOver, timingFor, timingInState } from './group.ts'
import { insightOf, leadUntilOf, pulseOf } from './insight.ts'
import { leaseInsightOf } from './lease-insight.ts'
import { constantsIn, defaultTiming, LEVEL_STEP, LONGEST_LEASE_MS, leaseBoundsOf } from './lease-options.ts'
import { lockAt } from './levels.ts'
import { type LocalLeaderOptions, votersIn } from './options.ts'
import { localLeaderPlanning } from './planning.ts'
import { PROFILES } from './profiles.ts'
import { recoverLocalLeader } from './recover.ts'
import { forgetfulStable } from './stable.ts'
import type { LocalLeaderState } from './state.ts'
import { localLeaderWire } from './wire.ts'

/** Options that have a field of their own, would be ignored, or are for the workbench only. */
const OWN_FIELDS: { readonly [option: string]: string } = {
  mode: 'use the field `mode` instead',
  profile: 'use the field `profile` instead',
  sticky: 'use the field `sticky` instead',
  priorities: 'use the field `priority` on each node instead',
  yieldWhenTold: 'is always on in real nodes; remove it',
  requests: 'is for searches only; remove it',
  link: 'is for the workbench only; remove it, because real nodes use fail-aware datagrams',
  hostedGroup: 'is written by recordings only; remove it',
  levels: 'is for tests only; remove it',
  ...Object.fromEntries(LEASE_FIELDS.map((field) => [field, `use the field \`${field}\` instead`])),
}

function optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen {
  const given = asked.options ?? {}
  const problems = Object.entries(OWN_FIELDS)
    .filter(([option]) => given[option] !== undefined)
    .map(([option, message]) => ({ field: `options.${option}`, message }))
  if (problems.length > 0) return { problems }
  const { id, mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = asked
  const timing = asked.timing ?? defaultTiming({ ...given, mode }, nodes.length)
  const mixed = asked.timing === undefined && timing === 'fixed' ? mixedTiming(asked, given) : []
  if (mixed.length > 0) return { problems: mixed }
  const isForgetful = timing === 'adaptive' && asked.data === undefined && asked.leaseMaxMs === undefined
  const tooLong = isForgetful ? forgetfulProblems(profile, asked.leaseMinMs) : []
  if (tooLong.length > 0) return { problems: tooLong }
  return {
    options: {
      ...given,
      mode,
      profile,
      sticky,
      timing,
      ...(isForgetful ? { leaseMaxMs: forgetfulBound(profile) } : {}),
      ...Object.fromEntries(
        LEASE_FIELDS.flatMap((field) => (asked[field] === undefined ? [] : [[field, asked[field]]])),
      ),
      // Work ends before the leader releases its lease.
      yieldWhenTold: true,
      priorities: { [id]: priority },
      ...(asked.observer === true ? { observers: withName(given['observers'], id) } : {}),
      ...(asked.witness === true ? { witnesses: withName(given['witnesses'], id) } : {}),
    } as PlainObject,
  }
}

/**
 * Without a data directory, a node is silent after each start for as long as any lock that it may have granted before. So
 * such a node grants no long locks, unless the configuration says so. Its longest lock follows from the profile alone: a
 * node that is restarted with another `leaseMinMs` must be silent for as long as before.
 */
function forgetfulBound(profile: ProfileName): number {
  return Math.max(FORGETFUL_MS, 4 * PROFILES[profile].leaseMinMs)
}

const FORGETFUL_MS = 1000

/** The shortest lease is too long for the longest of a node without a data directory. */
function forgetfulProblems(profile: ProfileName, leaseMinMs: number | undefined): readonly Problem[] {
  const leaseMaxMs = forgetfulBound(profile)
  const neededMs = Math.ceil((leaseMinMs ?? 0) * LEVEL_STEP)
  // Where no lease is that long, leaseMinMs itself is wrong (lease-options.ts).
  if (neededMs <= leaseMaxMs || neededMs > LONGEST_LEASE_MS) return []
  const message = `${leaseMinMs} needs a longest lease of ${neededMs} ms or more, and without data it is ${leaseMaxMs} ms; without data, set leaseMaxMs, too`
  return [{ field: 'leaseMinMs', message }]
}

/** Bounds and losses of leases are adaptive timing, a constant is fixed timing: a configuration with both must choose. */
function mixedTiming(asked: Asked, given: { readonly [option: string]: unknown }): readonly Problem[] {
  const [constant] = constantsIn(given)
  if (constant === undefined) return []
  return (['leaseMinMs', 'leaseMaxMs', 'leaseLossPerDay'] as const)
    .filter((bound) => asked[bound] !== undefined)
    .map((bound) => ({
      field: bound,
      message: `options.${constant} sets a constant, but ${bound} is for leases that adapt; remove one of them, or set timing`,
    }))
}

function withName(list: unknown, id: string): unknown {
  if (list === undefined) return [id]
  return Array.isArray(list) && !list.includes(id) ? [...(list as unknown[]), id] : list
}

/** A node without storage may have granted any lock within its bounds. */
function longestLockOf(chosen: LocalLeaderOptions): number {
  return chosen.timing === 'fixed' ? 1 : microsOf(leaseBoundsOf(chosen).leaseMaxMs)
}

const own = (options: PlainObject): LocalLeaderOptions => options as unknown as LocalLeaderOptions

export const localLeaderHosting: PeerHosting = {
  name: 'local-leader',
  needs: 'peers',
  summary: 'leases',
  optionsFor,
  problemsWith: () => [],
  hasAdaptiveTiming: true,
  slackOptions: (profile) => (profile === 'lan' ? { sigmaMs: 60 } : {}),
  leaseLength(options, nodes) {
    const chosen = own(options)
    // The same where the timing is fixed.
    const highest = timingFor(chosen, nodes.length)
    const adaptive = adaptiveTimingOf(chosen, votersIn(chosen, nodes).length)
    const shortest = adaptive === null ? highest : adaptive.timingAt(adaptive.bounds.least)
    // A round may take longer at the highest level, which may be the lowest one, too.
    return { lease: shortest.lease, margin: Math.min(marginOf(shortest), marginOf(highest)) }
  },
  assumptions: localLeaderAssumptions,
  withoutLease: null,
  recordedOptions: (group) => ({ link: 'hosted', hostedGroup: group }),
  ownOptions: ['priorities', 'sticky', 'holdDownMs', 'termMs'],
  forensics: null,
  planning: localLeaderPlanning,
  wire: localLeaderWire,
  fixedNodes: null,
  listsRoles: true,
  group: (identity, options) => localLeaderGroup(identity, own(options)),
  insight: ({ nodes }, options, state, now) =>
    insightOf(state, nodes, timingInState(own(options), nodes.length, state), now),
  leadUntil: leadUntilOf,
  pulse: ({ self, nodes }, options, state, now) =>
    pulseOf(state, self, nodes, timingInState(own(options), nodes.length, state), now),
  leaseInsight: ({ nodes }, options, state) => leaseInsightOf(own(options), nodes, state),
  leaseForLateness(options, nodes, lateness) {
    const adaptive = adaptiveTimingOf(own(options), votersIn(own(options), nodes).length)
    if (adaptive === null) return null
    return lockAt(lowestLevel((level) => adaptive.timingAt(level).tryTime >= lateness))
  },
  handOverProblem: (identity, options, state, to, now) =>
    localLeaderHandOver(identity, own(options), state as LocalLeaderState, to, now),
  modeOf: (options) => own(options).mode,
  forgetfulStable: ({ self, nodes }, options, moment) =>
    forgetfulStable(self, votersIn(own(options), nodes), moment, longestLockOf(own(options))),
  recovery: {
    isOwn: (stable) => stable !== null && typeof stable === 'object' && 'incarnation' in stable,
    recover: (stable, { self, moment, above, voters }) =>
      recoverLocalLeader(stable, { self, moment, above, voters }),
  },
}
