/**
 * Omega+ in a real process, as one of several groups: over its own links, which use the sessions of the process.
 *
 * There is no lease. The clock only tells a process how long it would still count a majority of its view as supporters
 * if it received nothing more; then their links are down. Its view shows that instant (`until`), and a leader does not
 * act beyond it. So a leader that was stopped for longer does not act when it continues. `until` does not bind other
 * nodes: they may have formed the next view earlier. Only tokens protect against a leader that does not know yet.
 */
import {
  type Identity,
  type Micros,
  type NodeId,
  output,
  type Plain,
  type PlainObject,
  type Protocol,
  stack,
  type View,
} from '../../core/index.ts'
import {
  type Group,
  HISTORY_KINDS,
  type HistoryLinks,
  type HistoryOptions,
  historyLayer,
} from '../../links/index.ts'
import type { Insight } from '../insight.ts'
import { omega } from './omega.ts'
import { electorateSize, findMissingQuorum, isInQuorum, isSupporting } from './quorum.ts'
import { RULES } from './rules.ts'
import type { OmegaSettings } from './settings.ts'
import { checkedStable } from './stable.ts'
import type { OmegaState } from './state.ts'
import { idsOf } from './views.ts'

export type OmegaOptions = Omit<OmegaSettings, 'rules'> & HistoryOptions

type Hosted = { readonly layer: HistoryLinks; readonly upper: OmegaState; readonly kept: Plain }

/** Sessions require these values. The group does not depend on the delay of datagrams. */
const RHO = 0.0001
const STAMP_AGE: Micros = 10_000_000

export function omegaGroup(identity: Identity, options: OmegaOptions): Group {
  const { quorum, tie, reinit, filter, weights } = options
  const { pingMs, timeoutMs, detector, alphaMs, retransmitMs, slack } = options
  return {
    protocol: hostOmega(identity, options),
    kinds: HISTORY_KINDS,
    nodes: identity.nodes,
    agreed: {
      protocol: 'omega',
      nodes: identity.nodes,
      quorum,
      tie,
      reinit,
      filter,
      weights,
      pingMs,
      timeoutMs,
      detector,
      alphaMs,
      retransmitMs,
      slack,
    },
    terms: { leastDelay: 0, fast: timeoutMs * 1000, rho: RHO, stampAge: STAMP_AGE },
    slack: Math.floor(retransmitMs * 200),
    adopt: (state) => state as PlainObject,
  }
}

function settingsOf({ quorum, tie, reinit, filter, weights }: OmegaOptions): OmegaSettings {
  return { quorum, tie, reinit, filter, weights, rules: RULES }
}

function hostOmega(identity: Identity, options: OmegaOptions): Protocol {
  const settings = settingsOf(options)
  const own = omega(identity, settings)
  const inner = stack(historyLayer(identity, options), own) as unknown as Protocol<Hosted>
  const hosted: Protocol<Hosted> = {
    start: (stable, now) => inner.start(checkedStable(stable), now),
    step(state, input, now) {
      const step = inner.step(state, input, now)
      const [before, after] = [state.upper.links, step.state.upper.links]
      if (before === after) return step
      const isIn = (links: OmegaState['links'], id: NodeId): boolean => links.some(({ peer }) => peer === id)
      const changed = identity.nodes.filter((id) => isIn(before, id) !== isIn(after, id))
      if (changed.length === 0) return step
      const news = changed.map((peer) => output({ type: 'link', peer, up: isIn(after, peer) }))
      return { state: step.state, effects: [...step.effects, ...news] }
    },
    view: (state, now) => viewOf(identity, settings, state, now, own.view(state.upper, now)),
    shift: (state, by) => inner.shift(state, by),
  }
  return hosted
}

/** The view for applications: it shows only an acting leader, and only until the instant that `until` names. */
function viewOf(identity: Identity, settings: OmegaSettings, state: Hosted, now: Micros, seen: View): View {
  const { self } = identity
  const { ok, view } = state.upper
  const until = findQuorumDeadline(identity, settings, state)
  const isLed = until !== null && now < until && isLeaderWilling(self, state.upper)
  const leads = isLed && view.id[1] === self
  return {
    role: ok ? (leads ? 'leader' : 'follower') : 'dead',
    leader: isLed ? seen.leader : null,
    token: isLed ? seen.token : null,
    until: isLed ? until : null,
    members: seen.members,
    detail: seen.detail,
  }
}

/** Until when more than half of the view count as supporters if nothing more is received; null when not in quorum. */
function findQuorumDeadline(
  identity: Identity,
  settings: OmegaSettings,
  { layer, upper }: Hosted,
): Micros | null {
  if (!isInQuorum(upper, identity, settings)) return null
  const until = upper.links
    .filter((link) => isSupporting(upper, link, settings))
    .map(({ peer }) => layer.ends.find((end) => end.peer === peer)?.trustedUntil ?? 0)
    .sort((a, b) => b - a)
  // The node itself is not counted.
  const needed = Math.floor(electorateSize(upper, identity, settings) / 2)
  return until[needed - 1] ?? null
}

function isLeaderWilling(self: NodeId, { view, willing, links }: OmegaState): boolean {
  const [, leader] = view.id
  if (leader === self) return willing
  return links.find(({ peer }) => peer === leader)?.status?.aside === false
}

/** `state` is the state of the group's protocol. */
export function omegaInsight(state: Plain, identity: Identity, options: OmegaOptions, now: Micros): Insight {
  const { self, nodes } = identity
  const settings = settingsOf(options)
  const hosted = state as unknown as Hosted
  const { upper } = hosted
  const { ok, life, view, links } = upper
  const until = findQuorumDeadline(identity, settings, hosted)
  const inQuorum = until !== null && now < until
  const members = idsOf(view.members)
  return {
    leadUntil: inQuorum && isLeaderWilling(self, upper) ? until : null,
    voters: [nodes],
    named: nodes,
    heard: links.map(({ peer }) => peer),
    evidence: null,
    silentUntil: null,
    membership: {
      view: ok ? { id: view.id, members, incarnations: view.members.map((member) => member[1]) } : null,
      incarnation: life,
      inQuorum,
      waitingFor: findMissingQuorum(upper, identity, settings),
      failureTolerance: inQuorum ? countSpareMembers(upper, settings, nodes.length) : 0,
    },
  }
}

/** The number of supporters that may fail, so that the others can form the next view. A view has at least two members. */
function countSpareMembers(state: OmegaState, settings: OmegaSettings, nodes: number): number {
  const { quorum } = settings
  const supporters = 1 + state.links.filter((link) => isSupporting(state, link, settings)).length
  const majorityOf = (whole: number): number => Math.floor(whole / 2) + 1
  const whole = quorum === 'static' ? nodes : state.view.members.length
  const needed = quorum === 'none' ? 2 : Math.max(2, majorityOf(whole))
  return Math.max(0, supporters - needed)
}
