/** The protocol for given options, alone or as one of several groups in a process. */
import { type Identity, type Micros, microsOf, type NodeId, type PlainObject } from '../../core/index.ts'
import type { Group } from '../../links/index.ts'
import { assertNoDefect } from '../defect-option.ts'
import { type Timing, timingOf } from './constants.ts'
import { contextOf } from './context.ts'
import { handOverProblem } from './hand-over.ts'
import { localLeader } from './local-leader.ts'
import type { LocalLeaderMessage } from './messages.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'
import { type LocalLeaderRules, RULES } from './rules.ts'
import type { LocalLeaderSettings } from './settings.ts'
import { adoptNodes, type LocalLeaderState } from './state.ts'
import { levelsOf, type Tree } from './tree.ts'

export function timingFor(chosen: LocalLeaderOptions, nodes: number): Timing {
  return timingOf(givenBy(chosen, chosen.voters?.length ?? nodes - chosen.observers.length))
}

function treeOver(voters: number, fanout: number, { roundTrip }: Timing): Tree {
  const levels = levelsOf(voters, fanout)
  return { fanout, levels, patience: Math.floor(roundTrip / (levels + 1)) }
}

/** The constants that all nodes of a group must agree on. */
export function agreed({ mode, rule }: LocalLeaderOptions, timing: Timing): PlainObject {
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
  const { timing, voters } = settings
  return { protocol: localLeader(identity, settings), timing, voters }
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
  const { protocol, timing, voters } = createLocalLeader(identity, chosen, RULES)
  const { leastDelay, fast, rho, stampAge, lateness, mode } = timing
  return {
    protocol,
    kinds: KINDS,
    nodes: identity.nodes,
    agreed: agreed(chosen, timing),
    terms: { leastDelay, fast, rho, stampAge },
    slack: Math.floor(lateness * SLACK),
    adopt: (state, former) =>
      adoptNodes(state as LocalLeaderState, former, identity.nodes, mode === 'local' ? voters : null),
  }
}
