/** The guarantee card of `epochs`: which configuration, and what is tried with it. */
import { z } from 'zod'
import { type Micros, microsOf, msOf, type NodeId, type PlainObject } from '../../core/index.ts'
import { type EpochsGuarantees, epochsGuarantees } from '../../protocols/epochs/guarantees.ts'
import type { EpochsOptions } from '../../protocols/index.ts'
import { storeProtocolOptions } from '../../service/config/protocol-options.ts'
import { InvalidOptionsError } from '../../service/node/index.ts'
import { InvalidStoreError, parseStore, type StoreConfig } from '../../service/registers/index.ts'
import type { PlanTrial } from '../../workbench/guarantees/trials.ts'
import { nodeList } from '../../workbench/scenario/schema.ts'
import type { Span, TrialSettings } from '../../workbench/sim/index.ts'
import { UsageError } from '../errors.ts'
import { parseChoice, parseOptions } from '../values.ts'
import { checked, nodesOf, type PlanFlags, seedsOf, span } from './config.ts'

export type EpochsPlan = {
  readonly protocol: 'epochs'
  readonly profile: 'lan' | 'region' | 'wan'
  readonly nodes: readonly NodeId[]
  readonly options: EpochsOptions
  /** Null where none was named: the card then says what any store must give. */
  readonly store: StoreConfig | null
  /** How long accesses take in what is simulated; null: anything up to what the configuration assumes. */
  readonly delayMs: Span | null
  readonly seeds: number
}

/** `group` and `id` may stand there, as in the file of an agent; they mean nothing here. */
const configFile = z.strictObject({
  protocol: z.string().optional(),
  group: z.string().optional(),
  id: z.string().optional(),
  nodes: nodeList().optional(),
  profile: z.string().optional(),
  store: z.unknown().optional(),
  options: z.record(z.string(), z.json()).optional(),
  registers: z.strictObject({ delayMs: span.optional() }).optional(),
  seeds: z.int().min(1).max(1_000_000).optional(),
})

export function epochsPlanOf(flags: PlanFlags, said: PlainObject): EpochsPlan {
  if (flags.mode !== undefined)
    throw new UsageError('--mode: epochs has none: whoever leads, leads all that reach the store', '--mode')
  const file = checked(configFile, said, flags.config ?? '')
  const profile = parseChoice(
    flags.profile === undefined ? 'profile' : '--profile',
    flags.profile ?? file.profile ?? 'lan',
    ['lan', 'region', 'wan'],
  )
  return {
    protocol: 'epochs',
    profile,
    nodes: nodesOf(flags, file),
    options: optionsOf(profile, { ...file.options, ...parseOptions(flags.option) }),
    store: file.store === undefined ? null : storeOf(file.store),
    delayMs: file.registers?.delayMs ?? null,
    seeds: seedsOf(flags, file),
  }
}

function optionsOf(profile: EpochsPlan['profile'], given: object): EpochsOptions {
  try {
    const chosen = storeProtocolOptions({
      id: 'a',
      profile,
      options: { ...given },
    }) as unknown as EpochsOptions
    if (chosen.turns !== 'none') return chosen
    throw new InvalidOptionsError(
      'options.turns',
      'none promises no time: elections collide, and chance decides how often; take succession or oracle',
    )
  } catch (error) {
    if (error instanceof InvalidOptionsError) throw new UsageError(error.message, error.field)
    throw error
  }
}

function storeOf(given: unknown): StoreConfig {
  try {
    return parseStore(given)
  } catch (error) {
    if (error instanceof InvalidStoreError) throw new UsageError(error.message, error.field)
    throw error
  }
}

export function guaranteesFor({ options: chosen, nodes, delayMs }: EpochsPlan): EpochsGuarantees {
  return delayMs === null
    ? epochsGuarantees(chosen, nodes.length)
    : epochsGuarantees(chosen, nodes.length, bounds(delayMs))
}

function bounds(of: Span): { readonly least: Micros; readonly most: Micros } {
  const [least, most] = typeof of === 'number' ? [of, of] : of
  return { least: microsOf(least), most: microsOf(most) }
}

/** Where what is simulated is outside of what the configuration assumes, in words. */
export function brokenIn({ delayMs, options: chosen }: EpochsPlan): readonly string[] {
  if (delayMs === null || bounds(delayMs).most <= microsOf(chosen.accessMs)) return []
  return [
    `accesses take up to ${msOf(bounds(delayMs).most)} ms, and the configuration assumes at most ${chosen.accessMs} (r)`,
  ]
}

const FEW = 0.1
const LEAST_TIMEOUT_MS = 1000

/** Worlds whose accesses take anything up to r, or all of them r. */
export function settingsOf(plan: EpochsPlan, guarantees: EpochsGuarantees, isSlow: boolean): TrialSettings {
  const { timing, longestGap } = guarantees
  const usual: Span = plan.delayMs ?? [0, plan.options.accessMs]
  const slowest = typeof usual === 'number' ? usual : usual[1]
  return {
    nodes: plan.nodes,
    options: plan.options,
    delaysMs: [0],
    latenessMs: [0],
    loss: 0,
    // As processes have it: two leases, and a second at least.
    store: {
      delaysMs: isSlow ? [slowest, usual] : [usual],
      timeoutMs: Math.max(LEAST_TIMEOUT_MS, msOf(2 * timing.lease)),
    },
    driftPpm: plan.options.driftPpm,
    calm: [longestGap, longestGap + 8 * timing.period],
    watched: longestGap,
  }
}

/** For how long the steady state is watched. */
const STEADY_PERIODS = 200

export function steadySettings(plan: EpochsPlan, guarantees: EpochsGuarantees): TrialSettings {
  return { ...settingsOf(plan, guarantees, false), watched: STEADY_PERIODS * guarantees.timing.period }
}

export function epochsTrials(plan: EpochsPlan, guarantees: EpochsGuarantees): readonly PlanTrial[] {
  const { failOver, handOver, lastOne, leaseEnd, longestGap, timing } = guarantees
  const usual = settingsOf(plan, guarantees, false)
  const slow = settingsOf(plan, guarantees, true)
  const { nodes } = plan
  const without = (id: NodeId): readonly NodeId[] => nodes.filter((other) => other !== id)
  const trials: PlanTrial[] = []
  const add = (trial: Partial<PlanTrial> & Pick<PlanTrial, 'name' | 'what' | 'blow'>): void => {
    trials.push({ share: FEW, settings: slow, restoredWithin: null, stoppedWithin: null, ...trial })
  }
  if (failOver !== null) {
    const crash = { what: 'the leader crashes', share: 1, restoredWithin: failOver.worst }
    const blow: PlanTrial['blow'] = (leader) => ({ events: [{ crash: leader }], among: without(leader) })
    add({ ...crash, name: 'crash', settings: usual, blow })
    add({ ...crash, name: 'crash-slow', blow })
  }
  if (handOver !== null) {
    const down = { what: 'the leader steps down', share: 1, restoredWithin: handOver.worst }
    const blow: PlanTrial['blow'] = (leader) => ({
      events: [{ command: { node: leader, do: 'stepDown' } }],
      among: without(leader),
    })
    add({ ...down, name: 'hand-over', settings: usual, blow })
    add({ ...down, name: 'hand-over-slow', blow })
  }
  add({
    name: 'restart',
    what: 'the leader crashes and restarts at once',
    blow: (leader) => ({ events: [{ crash: leader }, { recover: leader }], among: nodes }),
    restoredWithin: longestGap,
  })
  if (nodes.length > 1 && failOver !== null) {
    add({
      name: 'follower-crash',
      what: 'a follower crashes',
      blow: (leader) => {
        const [lost] = without(leader)
        return { events: [{ crash: lost as NodeId }], among: nodes.filter((id) => id !== lost) }
      },
      restoredWithin: 0,
    })
    add({
      name: 'all-but-one',
      what: 'all crash but the one that comes last',
      blow: (leader) => {
        const place = nodes.indexOf(leader)
        const last = nodes[(place - 1 + nodes.length) % nodes.length] as NodeId
        return { events: without(last).map((id) => ({ crash: id })), among: [last] }
      },
      restoredWithin: lastOne,
    })
    add({
      name: 'leader-stands-still',
      what: 'the leader stands still, or no longer reaches the store',
      blow: (leader) => ({
        events: [{ pause: leader, forMs: msOf(longestGap) }],
        among: without(leader),
      }),
      restoredWithin: failOver.worst,
      stoppedWithin: leaseEnd,
    })
  }
  add({
    name: 'store-gone',
    what: 'the store is gone, or hangs',
    blow: () => ({ events: [{ hang: 'store', forMs: msOf(4 * longestGap) }], among: [] }),
    restoredWithin: 'never',
    stoppedWithin: leaseEnd,
  })
  const hangs = 2 * timing.lease
  add({
    name: 'store-back',
    what: 'the store hangs for two leases and answers again',
    settings: { ...slow, watched: hangs + longestGap },
    blow: () => ({ events: [{ hang: 'store', forMs: msOf(hangs) }], among: nodes }),
    restoredWithin: hangs + longestGap,
  })
  return trials
}
