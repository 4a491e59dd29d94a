/** The protocol for given options, alone or as one of several groups in a process. */
import {
  type Identity,
  type Micros,
  microsOf,
  type NodeId,
  type Plain,
  type PlainObject,
} from '../../core/index.ts'
import type { Group, SessionTerms } from '../../links/index.ts'
import { assertNoDefect } from '../defect-option.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { type Timing, timingOf } from './constants.ts'
import { contextOf } from './context.ts'
import { handOverProblem } from './hand-over.ts'
import { ownState } from './insight.ts'
import { localLeader } from './local-leader.ts'
import type { LocalLeaderMessage } from './messages.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'
import { type LocalLeaderRules, RULES } from './rules.ts'
import type { AdaptiveTiming, LocalLeaderSettings } from './settings.ts'
import { adoptNodes, type LocalLeaderState } from './state.ts'
import { levelsOf, type Tree } from './tree.ts'

type Constants = {
  readonly voters: number
  /** With adaptive timing: the constants of the highest level. */
  readonly timing: Timing
  readonly adaptive: AdaptiveTiming | null
}

/** The last constants of each configuration: every report of a node asks for them. */
const computed = new WeakMap<LocalLeaderOptions, Constants>()

function constantsOf(chosen: LocalLeaderOptions, nodes: number): Constants {
  const voters = chosen.voters?.length ?? nodes - chosen.observers.length
  const known = computed.get(chosen)
  if (known?.voters === voters) return known
  const adaptive = adaptiveTimingOf(chosen, voters)
  const timing = adaptive === null ? timingOf(givenBy(chosen, voters)) : timingAtMost(adaptive)
  const constants = { voters, timing, adaptive }
  computed.set(chosen, constants)
  return constants
}

const timingAtMost = ({ bounds, timingWithin }: AdaptiveTiming): Timing =>
  timingWithin({ bounds, level: bounds.most, ceiling: bounds.most })

/** With adaptive timing: the constants of the highest level. */
export function timingFor(chosen: LocalLeaderOptions, nodes: number): Timing {
  return constantsOf(chosen, nodes).timing
}

/** The constants in force in a state. */
export function timingInState(chosen: LocalLeaderOptions, nodes: number, state: Plain): Timing {
  const { timing, adaptive } = constantsOf(chosen, nodes)
  const { pace } = ownState(state)
  return pace === null || adaptive === null ? timing : adaptive.timingWithin(pace)
}

function treeOver(voters: number, fanout: number, { roundTrip }: Timing): Tree {
  const levels = levelsOf(voters, fanout)
  return { fanout, levels, patience: Math.floor(roundTrip / (levels + 1)) }
}

/** The constants that all nodes of a group must agree on. */
export function agreed({ mode, rule, timing: how }: LocalLeaderOptions, timing: Timing): PlainObject {
  // Each node enforces its own bounds. Only the drift of clocks must be the same.
  if (how === 'adaptive') return { mode, rule, timing: how, rho: timing.rho }
  const {
    delay,
    leastDelay,
    fast,
    lateness,
    rho,
    renewalInterval,
    tries,
    lockTime,
    electionPeriod,
    expires,
  } = timing
  return {
    mode,
    rule,
    delta: delay,
    deltaMin: leastDelay,
    fast,
    sigma: lateness,
    rho,
    renewalInterval,
    renewalTries: tries,
    lockTime,
    electionPeriod,
    expires,
  }
}

function settingsFor(
  identity: Identity,
  chosen: LocalLeaderOptions,
  rules: LocalLeaderRules,
): LocalLeaderSettings {
  const voters = votersIn(chosen, identity.nodes)
  const timing = timingFor(chosen, identity.nodes.length)
  return {
    timing,
    adaptive: adaptiveTimingOf(chosen, voters.length),
    rule: chosen.rule,
    sticky: chosen.sticky,
    priority: chosen.priorities[String(identity.self)] ?? 0,
    holdDown: microsOf(chosen.holdDownMs),
    rotationPeriod: chosen.termMs === null ? null : microsOf(chosen.termMs),
    tree: timing.isTree ? treeOver(voters.length, chosen.treeFanout, timing) : null,
    voters,
    witnesses: chosen.witnesses,
    yieldWhenTold: chosen.yieldWhenTold,
    rules,
    mostRequests: chosen.requests,
  }
}

export function createLocalLeader(identity: Identity, chosen: LocalLeaderOptions, rules: LocalLeaderRules) {
  const settings = settingsFor(identity, chosen, rules)
  const { timing, voters, adaptive } = settings
  const protocol = localLeader(identity, settings)
  return { protocol, timing, voters, levels: adaptive?.bounds ?? null, ...sessionTermsOf(settings) }
}

/**
 * What a group needs from the sessions. With adaptive timing it judges messages by its level, so that the terms need
 * only make sure that round trips form, and that timestamps are young enough for the lowest level.
 */
function sessionTermsOf({ timing, adaptive }: LocalLeaderSettings): {
  readonly terms: SessionTerms
  readonly lateness: Micros
} {
  const { leastDelay, rho } = timing
  if (adaptive === null) {
    const { fast, stampAge, lateness } = timing
    return { terms: { leastDelay, fast, rho, stampAge }, lateness }
  }
  const { stampAge, lateness } = adaptive.timingAt(adaptive.bounds.least)
  return { terms: { leastDelay, fast: adaptive.timingAt(adaptive.start).fast, rho, stampAge }, lateness }
}

/** Why a leader in this state cannot hand over to a node; null if it can. */
export function localLeaderHandOver(
  identity: Identity,
  chosen: LocalLeaderOptions,
  state: LocalLeaderState,
  to: NodeId,
  now: Micros,
): string | null {
  return handOverProblem(contextOf(identity, settingsFor(identity, chosen, RULES)), state, to, now)
}

/** Timer slack as a part of σ: timers of several groups coalesce within it. */
const SLACK = 1 / 5

const KINDS: readonly LocalLeaderMessage['kind'][] = ['Heartbeat', 'Election', 'Reply', 'Release']

/** One of several groups in a process. */
export function localLeaderGroup(identity: Identity, chosen: LocalLeaderOptions): Group {
  assertNoDefect(chosen.misreading)
  const { protocol, timing, voters, terms, lateness } = createLocalLeader(identity, chosen, RULES)
  return {
    protocol,
    kinds: KINDS,
    nodes: identity.nodes,
    agreed: agreed(chosen, timing),
    terms,
    slack: Math.floor(lateness * SLACK),
    adopt: (state, former) =>
      adoptNodes(state as LocalLeaderState, former, identity.nodes, timing.mode === 'local' ? voters : null),
  }
}
