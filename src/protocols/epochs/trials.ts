/** The trials that `conclave plan` simulates for a configuration, and the guaranteed bound of each. */
import { type Micros, microsOf, msOf, type NodeId } from '../../core/index.ts'
import type { PlanAsked, PlannedTrial, Span, TrialWorld } from '../planning.ts'
import { type EpochsGuarantees, epochsGuarantees } from './guarantees.ts'
import type { EpochsOptions } from './options.ts'

export type EpochsPlan = {
  readonly nodes: readonly NodeId[]
  readonly options: EpochsOptions
  /** How long simulated accesses take; null: up to what the configuration assumes. */
  readonly delayMs: Span | null
}

export function planFor({ nodes, registers }: PlanAsked, options: EpochsOptions): EpochsPlan {
  return { nodes, options, delayMs: registers?.delayMs ?? null }
}

export function guaranteesFor({ options, nodes, delayMs }: EpochsPlan): EpochsGuarantees {
  return delayMs === null
    ? epochsGuarantees(options, nodes.length)
    : epochsGuarantees(options, nodes.length, bounds(delayMs))
}

function bounds(of: Span): { readonly least: Micros; readonly most: Micros } {
  const [least, most] = typeof of === 'number' ? [of, of] : of
  return { least: microsOf(least), most: microsOf(most) }
}

/** The assumptions of the configuration that the simulated world breaks, in words. */
export function brokenAssumptions({ delayMs, options }: EpochsPlan): readonly string[] {
  if (delayMs === null || bounds(delayMs).most <= microsOf(options.accessMs)) return []
  return [
    `accesses take up to ${msOf(bounds(delayMs).most)} ms, but the configuration assumes at most ${options.accessMs} ms (r)`,
  ]
}

const FEW = 0.1
const LEAST_TIMEOUT_MS = 1000

/** A world whose accesses take up to r. In half of the slow worlds every access takes r. */
function worldOf(plan: EpochsPlan, guarantees: EpochsGuarantees, isSlow: boolean): TrialWorld {
  const { timing, longestGap } = guarantees
  const usual: Span = plan.delayMs ?? [0, plan.options.accessMs]
  const slowest = typeof usual === 'number' ? usual : usual[1]
  return {
    nodes: plan.nodes,
    options: plan.options,
    delaysMs: [0],
    latenessMs: [0],
    loss: 0,
    // As in real nodes: two leases, but at least a second.
    store: {
      delaysMs: isSlow ? [slowest, usual] : [usual],
      timeoutMs: Math.max(LEAST_TIMEOUT_MS, msOf(2 * timing.lease)),
    },
    driftPpm: plan.options.driftPpm,
    calm: [longestGap, longestGap + 8 * timing.period],
    watched: longestGap,
  }
}

/** How long the steady state is measured. */
const STEADY_PERIODS = 200

export function steadyWorld(plan: EpochsPlan, guarantees: EpochsGuarantees): TrialWorld {
  return { ...worldOf(plan, guarantees, false), watched: STEADY_PERIODS * guarantees.timing.period }
}

type Adder = (trial: Partial<PlannedTrial> & Pick<PlannedTrial, 'name' | 'what' | 'fault'>) => void

export function trialsOf(plan: EpochsPlan, guarantees: EpochsGuarantees): readonly PlannedTrial[] {
  const usual = worldOf(plan, guarantees, false)
  const slow = worldOf(plan, guarantees, true)
  const trials: PlannedTrial[] = []
  const add: Adder = (trial) => {
    trials.push({ share: FEW, settings: slow, restoredWithin: null, stoppedWithin: null, ...trial })
  }
  addSuccessions(plan, guarantees, usual, add)
  addCrashes(plan, guarantees, add)
  addStoreFaults(plan, guarantees, slow, add)
  return trials
}

function addSuccessions(
  { nodes }: EpochsPlan,
  { failOver, handOver }: EpochsGuarantees,
  usual: TrialWorld,
  add: Adder,
): void {
  const without = (id: NodeId): readonly NodeId[] => nodes.filter((other) => other !== id)
  if (failOver !== null) {
    const crash = { what: 'the leader crashes', share: 1, restoredWithin: failOver.worst }
    const fault: PlannedTrial['fault'] = (leader) => ({ events: [{ crash: leader }], among: without(leader) })
    add({ ...crash, name: 'crash', settings: usual, fault })
    add({ ...crash, name: 'crash-slow', fault })
  }
  if (handOver === null) return
  const down = { what: 'the leader steps down', share: 1, restoredWithin: handOver.worst }
  const fault: PlannedTrial['fault'] = (leader) => ({
    events: [{ command: { node: leader, do: 'stepDown' } }],
    among: without(leader),
  })
  add({ ...down, name: 'hand-over', settings: usual, fault })
  add({ ...down, name: 'hand-over-slow', fault })
}

function addCrashes(
  { nodes }: EpochsPlan,
  { failOver, lastOne, leaseEnd, longestGap }: EpochsGuarantees,
  add: Adder,
): void {
  const without = (id: NodeId): readonly NodeId[] => nodes.filter((other) => other !== id)
  add({
    name: 'restart',
    what: 'the leader crashes and restarts at once',
    fault: (leader) => ({ events: [{ crash: leader }, { recover: leader }], among: nodes }),
    restoredWithin: longestGap,
  })
  if (nodes.length < 2 || failOver === null) return
  add({
    name: 'follower-crash',
    what: 'a follower crashes',
    fault: (leader) => {
      const [lost] = without(leader)
      return { events: [{ crash: lost as NodeId }], among: nodes.filter((id) => id !== lost) }
    },
    restoredWithin: 0,
  })
  add({
    name: 'all-but-one',
    what: 'all nodes crash except the last in order',
    fault: (leader) => {
      const place = nodes.indexOf(leader)
      const last = nodes[(place - 1 + nodes.length) % nodes.length] as NodeId
      return { events: without(last).map((id) => ({ crash: id })), among: [last] }
    },
    restoredWithin: lastOne,
  })
  add({
    name: 'leader-stands-still',
    what: 'the leader is paused, or loses the store',
    fault: (leader) => ({ events: [{ pause: leader, forMs: msOf(longestGap) }], among: without(leader) }),
    restoredWithin: failOver.worst,
    stoppedWithin: leaseEnd,
  })
}

function addStoreFaults(
  { nodes }: EpochsPlan,
  { leaseEnd, longestGap, timing }: EpochsGuarantees,
  slow: TrialWorld,
  add: Adder,
): void {
  add({
    name: 'store-gone',
    what: 'the store is down or hangs',
    fault: () => ({ events: [{ hang: 'store', forMs: msOf(4 * longestGap) }], among: [] }),
    restoredWithin: 'never',
    stoppedWithin: leaseEnd,
  })
  const hangs = 2 * timing.lease
  add({
    name: 'store-back',
    what: 'the store hangs for two leases and answers again',
    settings: { ...slow, watched: hangs + longestGap },
    fault: () => ({ events: [{ hang: 'store', forMs: msOf(hangs) }], among: nodes }),
    restoredWithin: hangs + longestGap,
  })
}
