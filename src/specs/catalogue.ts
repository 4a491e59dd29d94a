/** Every specification and goal, by name: what `conclave specs` lists. */
import { agreement } from './agreement.ts'
import { elected, leaderChanged } from './goals.ts'
import { liveLeader } from './live-leader.ts'
import { maximality } from './maximality.ts'
import { oneLeader } from './one-leader.ts'
import type { Goal, Spec } from './spec.ts'

export const specs: readonly Spec[] = [agreement, maximality, liveLeader, oneLeader]
export const goals: readonly Goal[] = [elected, leaderChanged]

export function specNamed(name: string): Spec | null {
  return specs.find((spec) => spec.name === name) ?? null
}

export function goalNamed(name: string): Goal | null {
  return goals.find((goal) => goal.name === name) ?? null
}
