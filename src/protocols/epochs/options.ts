/** The options and the commands. */
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
import { type Given, leastLease, leastPeriod } from './timing.ts'

const DEFAULT_PERIOD_MS = 200
const DEFAULT_ACCESS_MS = 5
const MOST_DRIFT_PPM = 100_000
const PPM = 1_000_000

const TURNS = ['succession', 'oracle', 'none'] as const
export type Turns = (typeof TURNS)[number]

export function epochsOptions() {
  const bound = z.int().min(1).max(1000).nullable().default(null)
  const fields = z.strictObject({
    periodMs: millisecondsOr(DEFAULT_PERIOD_MS, 'T: time between renewals of the lease'),
    accessMs: millisecondsOr(
      DEFAULT_ACCESS_MS,
      'r: how long one access to a register takes at most, ordinarily',
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
      .describe('D: how long a lease lasts; null: T and three renewals'),
    start: z
      .enum(['stamps', 'simple'])
      .default('stamps')
      .describe(
        'how a new leader knows that leases before its own are over: by stamps, or by waiting from its tick',
      ),
    turns: z
      .enum(TURNS)
      .default('succession')
      .describe(
        'who begins an election: whoever comes after the last leader, then the next; whom the oracle of Chockler and Malkhi chooses; or anybody',
      ),
    clock: z
      .enum(['own', 'none'])
      .default('own')
      .describe('none: no time, no lease; nodes tick when told to'),
    tick: z
      .enum(['split', 'atomic'])
      .default('split')
      .describe('without time: whether a counter goes to the register and to memory in two steps or in one'),
    epochs: bound.describe('for searches: no epoch above this; null: no bound'),
    ballots: bound.describe('for searches: no ballot above this; null: no bound'),
    jumps: z.boolean().default(true).describe('for searches: whether ticks may leave epochs out'),
    members: z
      .enum(['listed', 'registered'])
      .default('listed')
      .describe('registered: whoever has a register, as in what real processes have recorded'),
    registers: z
      .enum(['atomic', 'regular', 'late'])
      .default('atomic')
      .describe('for searches: what registers may do; late: writes of a dead process, compared'),
    releases: z.boolean().default(false).describe('for searches: whether leaders step down'),
    removals: z.boolean().default(false).describe('for searches: whether dead processes are removed'),
    burials: z
      .boolean()
      .default(false)
      .describe('for searches on atomic registers: whether nodes remove others, which may still live'),
    keepsRead: z
      .boolean()
      .default(false)
      .describe('for searches: whether nodes keep what they read, for INV4 and INV4k'),
    misreading: z
      .enum(MISREADINGS)
      .nullable()
      .default(null)
      .describe('runs the protocol with a known defect, so that tests can catch it; real nodes refuse it'),
  })
  return fields.superRefine((chosen, context) => {
    const { period, access, drift, lease } = givenBy(chosen)
    const refuse = (path: string, least: number, because: string): void => {
      const message = `is below ${msOf(least)}, its least value here (${because})`
      context.addIssue({ code: 'custom', path: [path], message })
    }
    if (chosen.burials && chosen.registers !== 'atomic') {
      const message = 'needs registers that are atomic: leave out registers, or burials'
      context.addIssue({ code: 'custom', path: ['burials'], message })
    }
    const slowest = leastPeriod(access, drift)
    if (period < slowest) refuse('periodMs', slowest, 'three writes and three rounds of reads, with drift')
    const shortest = leastLease(period, access, drift)
    if (lease !== null && lease < shortest) refuse('leaseMs', shortest, 'a period and two renewals')
  })
}

export type EpochsOptions = z.infer<ReturnType<typeof epochsOptions>>

export function givenBy({ periodMs, accessMs, driftPpm, leaseMs }: EpochsOptions): Given {
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
    /** Writes itself into the oracle. */
    | { readonly do: 'contend' }
    | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
    | { readonly do: 'remove'; readonly of: NodeId }
    /** The same state goes on among other nodes: see open-group.ts. */
    | { readonly do: 'regrouped' }
    | { readonly do: 'view'; readonly members: readonly NodeId[] }
    | { readonly do: 'fenced'; readonly of: NodeId; readonly token: number }
  )
