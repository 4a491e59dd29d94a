/** All specifications and goals by name: the list of `conclave specs`. */
import { agreement } from './agreement.ts'
import { assertion1 } from './assertion-1.ts'
import { assertion2 } from './assertion-2.ts'
import { assertion3 } from './assertion-3.ts'
import { assertion4, assertion4prime } from './assertion-4.ts'
import { boundedInconsistency } from './bounded-inconsistency.ts'
import { chosenSuccessor } from './chosen-successor.ts'
import { connectedLeaders } from './connected-leaders.ts'
import { inv4, inv4k } from './epoch-invariants.ts'
import { epochAgreement, oneLeaderAnEpoch } from './epoch-outcomes.ts'
import { failoverInTime } from './failover-in-time.ts'
import { elected, leaderChanged } from './goals.ts'
import { independentLeaders } from './independent-leaders.ts'
import { installedViews } from './installed-views.ts'
import { leaderSelfSupport } from './leader-self-support.ts'
import { handedOver, lost, merged, reconfigured, renewed, split } from './lease-goals.ts'
import { liveLeader } from './live-leader.ts'
import { majorityLeads } from './majority-leads.ts'
import { majorityOfViewLeads } from './majority-of-view-leads.ts'
import { maximality } from './maximality.ts'
import { groupNumbers } from './memory/group-numbers.ts'
import { oneActingLeader } from './one-acting-leader.ts'
import { oneLeader } from './one-leader.ts'
import { primaryChain } from './primary-chain.ts'
import { promisedViews } from './promised-views.ts'
import { reachability } from './reachability.ts'
import { checkpointsSurvive, jobsResume, oneAcceptedOwner, oneContent } from './recovery.ts'
import { checkpointCommitted, columnRepaired, jobLost, jobResumed, reencoded } from './recovery-goals.ts'
import { ringLiveness, ringSafety } from './ring.ts'
import { settles } from './settles.ts'
import type { Goal, Spec } from './spec.ts'
import { stableInsideLogical } from './stable-inside-logical.ts'
import { supersededLeader } from './superseded-leader.ts'
import { supportAtMostOne } from './support-at-most-one.ts'
import { theorem31, theorem32, theorem33, theorem33rest } from './theorems.ts'
import { timeliness } from './timeliness.ts'
import { tokens } from './tokens.ts'
import { toldInPairs } from './told-in-pairs.ts'
import { released, viewInstalled } from './view-goals.ts'
import { viewLives } from './view-lives.ts'
import { viewsDisjoint } from './views-disjoint.ts'
import { voterChanges } from './voter-changes.ts'
import { votersSupport } from './voters-support.ts'
import { filteredLiveness, weakLiveness } from './weak-liveness.ts'

export const specs: readonly Spec[] = [
  agreement,
  maximality,
  liveLeader,
  oneLeader,
  ringSafety,
  ringLiveness,
  assertion1,
  assertion2,
  assertion3,
  groupNumbers,
  assertion4,
  assertion4prime,
  independentLeaders,
  settles,
  timeliness,
  majorityLeads,
  reachability,
  votersSupport,
  chosenSuccessor,
  failoverInTime,
  supportAtMostOne,
  boundedInconsistency,
  leaderSelfSupport,
  stableInsideLogical,
  tokens,
  toldInPairs,
  viewsDisjoint,
  voterChanges,
  oneLeaderAnEpoch,
  epochAgreement,
  inv4,
  inv4k,
  theorem31,
  theorem32,
  theorem33,
  theorem33rest,
  promisedViews,
  installedViews,
  viewLives,
  connectedLeaders,
  weakLiveness,
  filteredLiveness,
  primaryChain,
  oneActingLeader,
  supersededLeader,
  majorityOfViewLeads,
  oneAcceptedOwner,
  checkpointsSurvive,
  jobsResume,
  oneContent,
]
export const goals: readonly Goal[] = [
  elected,
  leaderChanged,
  renewed,
  lost,
  handedOver,
  split,
  merged,
  reconfigured,
  viewInstalled,
  released,
  checkpointCommitted,
  jobResumed,
  reencoded,
  jobLost,
  columnRepaired,
]

export function specNamed(name: string): Spec | null {
  return specs.find((spec) => spec.name === name) ?? null
}

export function goalNamed(name: string): Goal | null {
  return goals.find((goal) => goal.name === name) ?? null
}
