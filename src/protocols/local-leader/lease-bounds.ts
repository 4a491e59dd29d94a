/** The bounds of leases: each node enforces its own, learns those of others from refusals, and can change its own. */
import { type Micros, microsOf, msOf, type NodeId, output } from '../../core/index.ts'
import type { Context, LocalLeaderStep } from './context.ts'
import type { Need } from './evidence.ts'
import { boundsProblem } from './lease-options.ts'
import { boundsBetween, withinBounds } from './levels.ts'
import type { Reply } from './messages.ts'
import { reportMismatch } from './mismatches.ts'
import { changedPace } from './pace.ts'
import { changed, type LocalLeaderState } from './state.ts'

type Bounds = { readonly shortest: Micros; readonly longest: Micros }

export function createLeaseBounds({ self }: Context) {
  /**
   * A voter refuses a lock that is outside its bounds. Where no level suits both, that is reported once, with the bounds
   * of both. Otherwise the candidate asks for a lock that the voter grants.
   */
  function reportBounds(step: LocalLeaderStep, from: NodeId, { candidate, votes }: Reply): LocalLeaderStep {
    const { pace } = step.state
    if (pace === null || candidate !== self) return step
    const theirs = votes.find(({ node }) => node === from)?.bounds
    if (theirs === undefined || isOverlap(pace.bounds, theirs)) return step
    const seen = reportMismatch(step.state, {
      peer: from,
      field: 'lease bounds',
      ours: inMs(pace.bounds),
      theirs: inMs(theirs),
    })
    const event = seen.event === null ? [] : [output(seen.event)]
    return { state: seen.state, effects: [...step.effects, ...event] }
  }

  /** Null when the bounds are valid, and the node has levels. Otherwise it begins with the bound that is wrong. */
  function commandProblem({ pace }: LocalLeaderState, leaseMinMs: number, leaseMaxMs: number): string | null {
    if (pace === null) return 'the timing of this node is fixed'
    return boundsProblem(leaseMinMs, leaseMaxMs)?.join(': ') ?? null
  }

  /** From now on the node asks for leases between these bounds, and grants no others. Locks that it gave still bind it. */
  function setBounds(state: LocalLeaderState, leaseMinMs: number, leaseMaxMs: number): LocalLeaderState {
    const { pace } = state
    const bounds = boundsBetween(microsOf(leaseMinMs), microsOf(leaseMaxMs))
    if (pace === null || bounds === null) return state
    const level = withinBounds(bounds, pace.level)
    const need: Need = level === pace.level ? pace.need : { level, cause: 'bounds', by: self }
    return changed(state, { pace: changedPace(pace, { bounds, ceiling: bounds.most, level, need }) })
  }

  return { reportBounds, boundsProblem: commandProblem, setBounds }
}

/** Whether a level lies within the bounds of both. */
function isOverlap(a: Bounds, b: Bounds): boolean {
  return boundsBetween(Math.max(a.shortest, b.shortest), Math.min(a.longest, b.longest)) !== null
}

function inMs({ shortest, longest }: Bounds): { readonly leaseMinMs: number; readonly leaseMaxMs: number } {
  return { leaseMinMs: msOf(shortest), leaseMaxMs: msOf(longest) }
}
