/**
 * What is tried with a configuration: each trial simulates that very configuration many times, with one thing that
 * befalls it at a random moment, and says what the computed guarantees promise for it.
 */
import { type Definition, type Micros, microsOf, msOf, type NodeId, sortIds } from '../../core/index.ts'
import type { Guarantees } from '../../protocols/local-leader/guarantees.ts'
import { votersIn } from '../../protocols/local-leader/options.ts'
import {
  addTrials,
  EMPTY_TRIALS,
  runTrial,
  type Span,
  type TrialFault,
  type TrialSettings,
  type TrialTally,
} from '../sim/index.ts'
import type { Plan } from './plan.ts'

/** Chance, as far as a blow needs it. */
type Draw = { integer(least: number, most: number): number }

export type PlanTrial = {
  readonly name: string
  /** What happens, in words. */
  readonly what: string
  /** Part of the seeds that are tried. */
  readonly share: number
  readonly settings: TrialSettings
  readonly blow: (leader: NodeId, random: Draw) => TrialFault
  /** Promised: there is a leader again by then (null: nothing is promised; never: there is none), and others stop. */
  readonly restoredWithin: Micros | null | 'never'
  readonly stoppedWithin: Micros | null
}

/** Partitions, graphs and the like are tried with a tenth of the seeds: there are many of them. */
const FEW = 0.1
/** In large groups only the most telling sizes of a partition are tried. */
const SMALL_GROUP = 9

export function trialsOf(plan: Plan, guarantees: Guarantees): readonly PlanTrial[] {
  const { timing, failOver, handOver, longestGap, followerLoss, leaseEnd, quorum, voters: count } = guarantees
  const punctual = settingsOf(plan, guarantees, false)
  const late = settingsOf(plan, guarantees, true)
  const group = groupOf(plan)
  const isMajority = timing.mode === 'majority'
  const trials: PlanTrial[] = []
  const add = (trial: Partial<PlanTrial> & Pick<PlanTrial, 'name' | 'what' | 'blow'>): void => {
    const whole = { share: FEW, settings: late, restoredWithin: null, stoppedWithin: null, ...trial }
    // Where leaders take turns nobody stays, whatever befalls the others.
    const isTurn = whole.restoredWithin === 0 && plan.options.termMs !== null
    trials.push(isTurn ? { ...whole, restoredWithin: null } : whole)
  }
  if (failOver !== null) {
    const crash = { what: 'the leader crashes', share: 1, restoredWithin: failOver.worst }
    add({
      ...crash,
      name: 'crash',
      settings: punctual,
      blow: (leader) => ({ events: [{ crash: leader }], among: group.without(leader) }),
    })
    add({
      ...crash,
      name: 'crash-late',
      blow: (leader, random) => ({
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
  if (handOver !== null) {
    const command = { what: 'the leader steps down', share: 1, restoredWithin: handOver.worst }
    const blow: PlanTrial['blow'] = (leader) => ({
      events: [{ command: { node: leader, do: 'stepDown' } }],
      among: group.without(leader),
    })
    add({ ...command, name: 'hand-over', settings: punctual, blow })
    add({ ...command, name: 'hand-over-late', blow })
  }
  if (count < 2) return trials
  add({
    name: 'restart',
    what: 'the leader crashes and restarts at once',
    blow: (leader) => ({ events: [{ crash: leader }, { recover: leader }], among: group.voters }),
    restoredWithin: longestGap,
  })
  const survives = !isMajority || count - 1 >= quorum
  add({
    name: 'follower-crash',
    what: 'a follower crashes',
    blow: (leader) => {
      const lost = group.without(leader)[0] as NodeId
      return { events: [{ crash: lost }], among: group.without(lost) }
    },
    restoredWithin: survives ? followerLoss : 'never',
    stoppedWithin: survives ? null : leaseEnd,
  })
  for (const small of smallSides(count)) {
    const large = count - small
    for (const side of small === large ? (['small'] as const) : (['small', 'large'] as const)) {
      const leads = side === 'small' ? small : large
      const canLead = (size: number): boolean => !isMajority || size >= quorum
      const canSucceed = canLead(count - leads) && guarantees.eligible > 1
      const name = `${leads}|${count - leads}`
      const blowTo =
        (watched: 'with' | 'without' | 'nobody'): PlanTrial['blow'] =>
        (leader) => {
          const rest = group.without(leader)
          const own = [leader, ...rest.slice(rest.length - leads + 1)]
          const other = group.voters.filter((id) => !own.includes(id))
          const observers = group.nodes.filter((id) => !group.voters.includes(id))
          const among = watched === 'with' ? own : watched === 'without' ? other : []
          return { events: [{ partition: [own, [...other, ...observers]] }], among }
        }
      if (canLead(leads)) {
        add({
          name: `with ${name}`,
          what: `the side of the leader: ${sizes(leads, count)}`,
          blow: blowTo('with'),
          restoredWithin: followerLoss,
        })
      }
      if (canSucceed) {
        add({
          name: `without ${name}`,
          what: `the side without the leader: ${sizes(count - leads, count)}`,
          blow: blowTo('without'),
          restoredWithin: failOver?.worst ?? null,
          stoppedWithin: canLead(leads) ? null : leaseEnd,
        })
      }
      if (!canLead(leads) && !canSucceed) {
        add({
          name: `neither ${name}`,
          what: `the leader with ${leads - 1} of the others, apart from ${count - leads}`,
          blow: blowTo('nobody'),
          restoredWithin: 'never',
          stoppedWithin: leaseEnd,
        })
      }
    }
  }
  const keeps = isMajority && guarantees.rule === 'quorum' && survives ? 0 : null
  add({
    name: 'one-way from',
    what: 'the next in rank no longer hears the leader',
    blow: (leader) => ({ events: [{ cutOneWay: [[leader, group.heirOf(leader)]] }], among: group.voters }),
    restoredWithin: keeps,
  })
  add({
    name: 'one-way to',
    what: 'the leader no longer hears the next in rank',
    blow: (leader) => ({ events: [{ cutOneWay: [[group.heirOf(leader), leader]] }], among: group.voters }),
    restoredWithin: keeps,
  })
  if (count > 2) {
    add({
      name: 'graph',
      what: 'the leader is left with one link, the others with all of theirs',
      blow: (leader) => {
        const rest = group.nodes.filter((id) => id !== leader)
        const friend = group.without(leader).at(-1)
        const cut = rest.filter((id) => id !== friend).map((id) => [leader, id] as const)
        return { events: [{ cut }], among: group.voters }
      },
    })
  }
  return trials
}

export function runPlanTrial(
  definition: Definition,
  { settings, blow }: PlanTrial,
  first: number,
  last: number,
): TrialTally {
  let tally = EMPTY_TRIALS
  for (let seed = first; seed <= last; seed++) {
    tally = addTrials(tally, runTrial(definition, settings, blow, seed))
  }
  return tally
}

/** How many seeds a trial is given. */
export function runsOf({ share }: PlanTrial, seeds: number): number {
  return Math.max(1, Math.min(seeds, Math.ceil(seeds * share)))
}

function sizes(size: number, of: number): string {
  return `${size} of ${of}`
}

/** How many may be on the smaller side of a partition. */
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
  /** All voters but this one, in the order in which they would lead. */
  without(node: NodeId): readonly NodeId[]
  heirOf(leader: NodeId): NodeId
}

function groupOf({ nodes, options }: Plan): Group {
  const voters = votersIn(options, nodes)
  const rank = (id: NodeId): number =>
    options.witnesses.includes(id) ? Number.NEGATIVE_INFINITY : (options.priorities[String(id)] ?? 0)
  const ranked = sortIds(voters).toSorted((a, b) => rank(b) - rank(a) || 0)
  const without = (node: NodeId): readonly NodeId[] => ranked.filter((id) => id !== node)
  return { nodes, voters, without, heirOf: (leader) => without(leader)[0] as NodeId }
}

/** Worlds as timely as the configuration assumes, and no timelier where the worst is looked for. */
export function settingsOf(
  plan: Plan,
  { timing, longestGap, traffic }: Guarantees,
  isLate: boolean,
): TrialSettings {
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

/** For how long the steady state is watched. */
const STEADY_PERIODS = 200

export function steadySettings(plan: Plan, guarantees: Guarantees): TrialSettings {
  const { renewalPeriod, heartbeatPeriod } = guarantees.traffic
  const watched = STEADY_PERIODS * Math.max(renewalPeriod, heartbeatPeriod)
  return { ...settingsOf(plan, guarantees, false), watched }
}

/** Where what is simulated is outside of what the configuration assumes, in words. */
export function brokenAssumptions(plan: Plan, { timing }: Guarantees): readonly string[] {
  const [least, most] = plan.delayMs === null ? [null, null] : bounds(plan.delayMs)
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
  if (plan.loss > 0) broken.push(`${plan.loss * 100} % of the messages are lost: those are not timely`)
  return broken
}

function bounds(span: Span): readonly [Micros, Micros] {
  return typeof span === 'number' ? [microsOf(span), microsOf(span)] : [microsOf(span[0]), microsOf(span[1])]
}
