/** Options and commands of epochs. */
import { z } from 'zod'
import {
  type Command,
  microsOf,
  milliseconds,
  millisecondsOr,
  msOf,
  type NodeId,
  nodeAmong,
} from '../../core/index.ts'
import { MISREADINGS } from './defects.ts'
import { leastLease, leastPeriod, type TimingInput } from './timing.ts'

const DEFAULT_PERIOD_MS = 200
const DEFAULT_ACCESS_MS = 5
const MOST_DRIFT_PPM = 100_000
const PPM = 1_000_000

const ELECTION_ORDERS = ['succession', 'oracle', 'none'] as const
export type ElectionOrder = (typeof ELECTION_ORDERS)[number]

/** The lease, and how elections start. */
function leaseFields() {
  return {
    periodMs: millisecondsOr(DEFAULT_PERIOD_MS, 'T: time between renewals of the lease'),
    accessMs: millisecondsOr(
      DEFAULT_ACCESS_MS,
      'r: how long one access to a register normally takes at most',
    ),
    driftPpm: z
      .number()
      .min(0)
      .max(MOST_DRIFT_PPM)
      .default(1000)
      .describe('d: clock drift, in parts per million'),
    leaseMs: milliseconds()
      .nullable()
      .default(null)
      .describe('D: length of a lease; null: T and three renewals'),
    start: z
      .enum(['stamps', 'simple'])
      .default('stamps')
      .describe(
        'how a new leader makes sure that earlier leases are over: by the stamps of votes, or by waiting from its tick',
      ),
    // language-ignore -- a public option name
    turns: z
      .enum(ELECTION_ORDERS)
      .default('succession')
      .describe(
        'which node starts an election: the nodes in the order of their ids, from the last leader on; the node that the oracle of Chockler and Malkhi chooses; or any node',
      ),
  }
}

export function epochsOptions() {
  const bound = z.int().min(1).max(1000).nullable().default(null)
  const fields = z.strictObject({
    ...leaseFields(),
    clock: z
      .enum(['own', 'none'])
      .default('own')
      .describe('none: untimed, without leases; nodes tick only on command'),
    tick: z
      .enum(['split', 'atomic'])
      .default('split')
      .describe('untimed: whether a node updates its counter in register and memory in two steps or in one'),
    epochs: bound.describe('for searches: the highest epoch; null: no limit'),
    ballots: bound.describe('for searches: the highest ballot; null: no limit'),
    jumps: z.boolean().default(true).describe('for searches: whether ticks may skip epochs'),
    members: z
      .enum(['listed', 'registered'])
      .default('listed')
      .describe('registered: every node that has a register, as in recorded traces of real nodes'),
    registers: z
      .enum(['atomic', 'regular', 'late'])
      .default('atomic')
      .describe(
        'for searches: how registers behave; late: writes of a crashed node may arrive late, by compare-and-swap',
      ),
    releases: z.boolean().default(false).describe('for searches: whether leaders step down'),
    removals: z.boolean().default(false).describe('for searches: whether crashed nodes are removed'),
    burials: z
      .boolean()
      .default(false)
      .describe(
        'for searches on atomic registers: whether nodes remove other nodes, which may still be alive',
      ),
    keepsRead: z
      .boolean()
      .default(false)
      .describe('for searches: whether nodes keep the blocks that they read, for INV4 and INV4k'),
    misreading: z
      .enum(MISREADINGS)
      .nullable()
      .default(null)
      .describe('runs the protocol with a known defect, so that tests can catch it; real nodes refuse it'),
  })
  return fields.superRefine((chosen, context) => {
    const { period, access, drift, lease } = timingInput(chosen)
    const refuse = (path: string, least: number, because: string): void => {
      const message = `is below ${msOf(least)}, its least value here (${because})`
      context.addIssue({ code: 'custom', path: [path], message })
    }
    if (chosen.burials && chosen.registers !== 'atomic') {
      const message = 'needs atomic registers; remove registers or burials'
      context.addIssue({ code: 'custom', path: ['burials'], message })
    }
    const slowest = leastPeriod(access, drift)
    if (period < slowest) refuse('periodMs', slowest, 'three writes and three rounds of reads, with drift')
    const shortest = leastLease(period, access, drift)
    if (lease !== null && lease < shortest) refuse('leaseMs', shortest, 'a period and two renewals')
  })
}

export type EpochsOptions = z.infer<ReturnType<typeof epochsOptions>>

export function timingInput({ periodMs, accessMs, driftPpm, leaseMs }: EpochsOptions): TimingInput {
  return {
    period: microsOf(periodMs),
    access: microsOf(accessMs),
    drift: driftPpm / PPM,
    lease: leaseMs === null ? null : microsOf(leaseMs),
  }
}

export function epochsCommands(nodes: readonly NodeId[]): z.ZodType<EpochsCommand> {
  const node = nodeAmong(nodes)
  return z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('tick'), to: z.int().min(1).optional() }),
    z.strictObject({ do: z.literal('stepDown') }),
    z.strictObject({ do: z.literal('contend') }),
    z.strictObject({ do: z.literal('campaign'), willing: z.boolean(), lapse: z.boolean() }),
    z.strictObject({ do: z.literal('remove'), of: node }),
    z.strictObject({ do: z.literal('view'), members: z.array(node) }),
    z.strictObject({ do: z.literal('fenced'), of: node, token: z.int().min(1) }),
    // A field that may be left out is `undefined` to zod, which no plain object holds.
  ]) as unknown as z.ZodType<EpochsCommand>
}

export type EpochsCommand = Command &
  (
    | { readonly do: 'tick'; readonly to?: number }
    | { readonly do: 'stepDown' }
    /** The node writes itself into the oracle. */
    | { readonly do: 'contend' }
    | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
    | { readonly do: 'remove'; readonly of: NodeId }
    /** The state continues with other nodes in the group: see open-group.ts. */
    | { readonly do: 'regrouped' }
    | { readonly do: 'view'; readonly members: readonly NodeId[] }
    | { readonly do: 'fenced'; readonly of: NodeId; readonly token: number }
  )
