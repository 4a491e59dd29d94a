/** Every specification and goal, by name: what `conclave specs` lists. */
import { agreement } from './agreement.ts'
import { assertion1 } from './assertion-1.ts'
import { assertion2 } from './assertion-2.ts'
import { assertion3 } from './assertion-3.ts'
import { assertion4, assertion4prime } from './assertion-4.ts'
import { elected, leaderChanged } from './goals.ts'
import { groupNumbers } from './group-numbers.ts'
import { independentLeaders } from './independent-leaders.ts'
import { liveLeader } from './live-leader.ts'
import { maximality } from './maximality.ts'
import { oneLeader } from './one-leader.ts'
import { ringLiveness, ringSafety } from './ring.ts'
import { settles } from './settles.ts'
import type { Goal, Spec } from './spec.ts'

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
]
export const goals: readonly Goal[] = [elected, leaderChanged]

export function specNamed(name: string): Spec | null {
  return specs.find((spec) => spec.name === name) ?? null
}

export function goalNamed(name: string): Goal | null {
  return goals.find((goal) => goal.name === name) ?? null
}
