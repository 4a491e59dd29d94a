/**
 * The trials of `conclave plan`. Each trial simulates the given configuration many times, with one fault at a random
 * moment, and states what the computed guarantees promise for it.
 */
import { type Micros, microsOf, msOf, type NodeId, sortIds } from '../../core/index.ts'
import type { PlanAsked, PlannedTrial, Span, TrialWorld } from '../planning.ts'
import type { Guarantees } from './guarantees.ts'
import { type LocalLeaderOptions, votersIn } from './options.ts'

export type LocalLeaderPlan = {
  readonly nodes: readonly NodeId[]
  readonly options: LocalLeaderOptions
  /** The simulated delays; null: as the configuration assumes them. */
  readonly delayMs: Span | null
  readonly loss: number
}

export function planFor({ nodes, network }: PlanAsked, options: LocalLeaderOptions): LocalLeaderPlan {
  return { nodes, options, delayMs: network?.delayMs ?? null, loss: network?.loss ?? 0 }
}

/** Partitions and cut links run with a tenth of the seeds, because there are many of them. */
const FEW = 0.1
/** In larger groups only selected sizes of a partition are tried. */
const SMALL_GROUP = 9

type Adder = (trial: Partial<PlannedTrial> & Pick<PlannedTrial, 'name' | 'what' | 'fault'>) => void

/** What all trials of one card share. */
type TrialContext = {
  readonly guarantees: Guarantees
  readonly group: Group
  readonly punctual: TrialWorld
  readonly isMajority: boolean
  /** Whether the group still has a leader after it has lost one follower. */
  readonly survives: boolean
  readonly add: Adder
}

export function trialsOf(plan: LocalLeaderPlan, guarantees: Guarantees): readonly PlannedTrial[] {
  const { timing, quorum, voters: count } = guarantees
  const late = worldOf(plan, guarantees, true)
  const isMajority = timing.mode === 'majority'
  const trials: PlannedTrial[] = []
  const add: Adder = (trial) => {
    const whole = { share: FEW, settings: late, restoredWithin: null, stoppedWithin: null, ...trial }
    // Under rotation no leader stays, even if nothing fails.
    const isTurn = whole.restoredWithin === 0 && plan.options.termMs !== null
    trials.push(isTurn ? { ...whole, restoredWithin: null } : whole)
  }
  const context: TrialContext = {
    guarantees,
    group: groupOf(plan),
    punctual: worldOf(plan, guarantees, false),
    isMajority,
    survives: !isMajority || count - 1 >= quorum,
    add,
  }
  addSuccessions(context)
  if (count < 2) return trials
  addCrashes(context)
  for (const small of smallSides(count)) addPartitions(context, small)
  addCuts(context)
  return trials
}

function addSuccessions({ guarantees: { failOver, handOver }, group, punctual, add }: TrialContext): void {
  if (failOver !== null) {
    const crash = { what: 'the leader crashes', share: 1, restoredWithin: failOver.worst }
    add({
      ...crash,
      name: 'crash',
      settings: punctual,
      fault: (leader) => ({ events: [{ crash: leader }], among: group.without(leader) }),
    })
    add({
      ...crash,
      name: 'crash-late',
      fault: (leader, random) => ({
        events: [
          {
            crash: leader,
            ...(random.integer(0, 1) === 0
              ? {}
              : { afterEffects: random.integer(0, group.nodes.length - 1) }),
          },
        ],
        among: group.without(leader),
      }),
    })
  }
  if (handOver === null) return
  const command = { what: 'the leader steps down', share: 1, restoredWithin: handOver.worst }
  const fault: PlannedTrial['fault'] = (leader) => ({
    events: [{ command: { node: leader, do: 'stepDown' } }],
    among: group.without(leader),
  })
  add({ ...command, name: 'hand-over', settings: punctual, fault })
  add({ ...command, name: 'hand-over-late', fault })
}

function addCrashes({
  guarantees: { longestGap, followerLoss, leaseEnd },
  group,
  survives,
  add,
}: TrialContext): void {
  add({
    name: 'restart',
    what: 'the leader crashes and restarts at once',
    fault: (leader) => ({ events: [{ crash: leader }, { recover: leader }], among: group.voters }),
    restoredWithin: longestGap,
  })
  add({
    name: 'follower-crash',
    what: 'a follower crashes',
    fault: (leader) => {
      const lost = group.without(leader)[0] as NodeId
      return { events: [{ crash: lost }], among: group.without(lost) }
    },
    restoredWithin: survives ? followerLoss : 'never',
    stoppedWithin: survives ? null : leaseEnd,
  })
}

/** A partition with the leader on the smaller side, and one with the leader on the larger side. */
function addPartitions(context: TrialContext, small: number): void {
  const { guarantees, group, isMajority, add } = context
  const { failOver, followerLoss, leaseEnd, quorum, voters: count } = guarantees
  const large = count - small
  const canLead = (size: number): boolean => !isMajority || size >= quorum
  for (const leads of small === large ? [small] : [small, large]) {
    const canSucceed = canLead(count - leads) && guarantees.eligible > 1
    const name = `${leads}|${count - leads}`
    const faultFor = (watched: 'with' | 'without' | 'none') => partitionFor(group, leads, watched)
    if (canLead(leads)) {
      add({
        name: `with ${name}`,
        what: `the side of the leader: ${leads} of ${count}`,
        fault: faultFor('with'),
        restoredWithin: followerLoss,
      })
    }
    if (canSucceed) {
      add({
        name: `without ${name}`,
        what: `the side without the leader: ${count - leads} of ${count}`,
        fault: faultFor('without'),
        restoredWithin: failOver?.worst ?? null,
        stoppedWithin: canLead(leads) ? null : leaseEnd,
      })
    }
    if (!canLead(leads) && !canSucceed) {
      add({
        name: `neither ${name}`,
        what: `the leader with ${leads - 1} of the others, cut off from ${count - leads}`,
        fault: faultFor('none'),
        restoredWithin: 'never',
        stoppedWithin: leaseEnd,
      })
    }
  }
}

function partitionFor(
  group: Group,
  leads: number,
  watched: 'with' | 'without' | 'none',
): PlannedTrial['fault'] {
  return (leader) => {
    const rest = group.without(leader)
    const own = [leader, ...rest.slice(rest.length - leads + 1)]
    const other = group.voters.filter((id) => !own.includes(id))
    const observers = group.nodes.filter((id) => !group.voters.includes(id))
    const among = watched === 'with' ? own : watched === 'without' ? other : []
    return { events: [{ partition: [own, [...other, ...observers]] }], among }
  }
}

function addCuts({ guarantees, group, isMajority, survives, add }: TrialContext): void {
  const keeps = isMajority && guarantees.rule === 'quorum' && survives ? 0 : null
  add({
    name: 'one-way from',
    what: 'the next in rank no longer hears the leader',
    fault: (leader) => ({ events: [{ cutOneWay: [[leader, group.heirOf(leader)]] }], among: group.voters }),
    restoredWithin: keeps,
  })
  add({
    name: 'one-way to',
    what: 'the leader no longer hears the next in rank',
    fault: (leader) => ({ events: [{ cutOneWay: [[group.heirOf(leader), leader]] }], among: group.voters }),
    restoredWithin: keeps,
  })
  if (guarantees.voters <= 2) return
  add({
    name: 'graph',
    what: 'the leader keeps one link, the other nodes keep all of theirs',
    fault: (leader) => {
      const rest = group.nodes.filter((id) => id !== leader)
      const friend = group.without(leader).at(-1)
      const cut = rest.filter((id) => id !== friend).map((id) => [leader, id] as const)
      return { events: [{ cut }], among: group.voters }
    },
  })
}

/** The possible numbers of nodes on the smaller side of a partition. */
function smallSides(count: number): readonly number[] {
  const half = Math.floor(count / 2)
  const minority = Math.floor((count - 1) / 2)
  const all =
    count <= SMALL_GROUP ? Array.from({ length: half }, (_, index) => index + 1) : [1, minority, half]
  return [...new Set(all.filter((size) => size > 0))]
}

type Group = {
  readonly nodes: readonly NodeId[]
  readonly voters: readonly NodeId[]
  /** All voters except this one, in order of rank. */
  without(node: NodeId): readonly NodeId[]
  heirOf(leader: NodeId): NodeId
}

function groupOf({ nodes, options }: LocalLeaderPlan): Group {
  const voters = votersIn(options, nodes)
  const rank = (id: NodeId): number =>
    options.witnesses.includes(id) ? Number.NEGATIVE_INFINITY : (options.priorities[String(id)] ?? 0)
  const ranked = sortIds(voters).toSorted((a, b) => rank(b) - rank(a) || 0)
  const without = (node: NodeId): readonly NodeId[] => ranked.filter((id) => id !== node)
  return { nodes, voters, without, heirOf: (leader) => without(leader)[0] as NodeId }
}

/**
 * A world as timely as the configuration assumes. Where the worst case is sought, some runs are exactly that timely.
 */
function worldOf(
  plan: LocalLeaderPlan,
  { timing, longestGap, traffic }: Guarantees,
  isLate: boolean,
): TrialWorld {
  const { delay, leastDelay, lateness, expires, roundTrip, heartbeat, rho } = timing
  const sigmaMs = msOf(lateness)
  const assumed: Span = [msOf(leastDelay), msOf(delay)]
  const settled = 2 * expires + roundTrip + heartbeat
  const phases = 8 * Math.max(traffic.renewalPeriod, heartbeat)
  return {
    nodes: plan.nodes,
    options: plan.options,
    delaysMs: plan.delayMs !== null ? [plan.delayMs] : isLate ? [assumed, assumed, msOf(delay)] : [assumed],
    latenessMs: isLate ? [[0, sigmaMs], [0, sigmaMs], sigmaMs] : [0],
    loss: plan.loss,
    driftPpm: rho * 1_000_000,
    calm: [settled, settled + phases],
    watched: longestGap,
  }
}

/** The duration of the steady-state simulation, in renewal or heartbeat periods. */
const STEADY_PERIODS = 200

export function steadyWorld(plan: LocalLeaderPlan, guarantees: Guarantees): TrialWorld {
  const { renewalPeriod, heartbeatPeriod } = guarantees.traffic
  const watched = STEADY_PERIODS * Math.max(renewalPeriod, heartbeatPeriod)
  return { ...worldOf(plan, guarantees, false), watched }
}

/** The simulated conditions that violate the assumptions of the configuration. */
export function brokenAssumptions(plan: LocalLeaderPlan, { timing }: Guarantees): readonly string[] {
  const [least, most] = plan.delayMs === null ? [null, null] : spanMicros(plan.delayMs)
  const broken: string[] = []
  if (most !== null && most > timing.delay) {
    broken.push(
      `messages take up to ${msOf(most)} ms, and the configuration assumes at most ${msOf(timing.delay)} (δ)`,
    )
  }
  if (least !== null && least < timing.leastDelay) {
    broken.push(
      `messages take as little as ${msOf(least)} ms, and the configuration assumes at least ${msOf(timing.leastDelay)} (δmin)`,
    )
  }
  if (plan.loss > 0)
    broken.push(`${plan.loss * 100} % of the messages are lost, and a lost message is not timely`)
  return broken
}

export function spanMicros(span: Span): readonly [Micros, Micros] {
  return typeof span === 'number' ? [microsOf(span), microsOf(span)] : [microsOf(span[0]), microsOf(span[1])]
}
