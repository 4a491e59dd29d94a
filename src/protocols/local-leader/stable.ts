/** What must survive a crash, and what to do when it has not. */
import { z } from 'zod'
import type { NodeId } from '../../core/index.ts'
import type { Epoch } from './messages.ts'
import { type Configuration, initialConfiguration } from './voters.ts'

export type LocalLeaderStable = {
  readonly incarnation: number
  /** The longest lock that it may ever have given. */
  readonly lockTime: number
  readonly promised: Epoch
  readonly config: Configuration
}

/** Stable data that cannot be what this process once wrote. It must not start: it may have promised anything. */
export class CorruptStable extends Error {
  override readonly name = 'CorruptStable'

  constructor(field: string, problem: string) {
    super(
      `the stable data of this process is corrupt (${field === '' ? 'as a whole' : field}: ${problem}). ` +
        'It no longer knows what it has promised, so it must not vote under this id again: ' +
        'remove this voter, and add it as a new one with another id and an empty data folder',
    )
  }
}

const count = z.int().min(0)
const node = z.union([z.int(), z.string().min(1)])

const schema: z.ZodType<LocalLeaderStable> = z.strictObject({
  incarnation: z.int().min(1),
  lockTime: z.int().min(1),
  promised: z
    .strictObject({ number: count, owner: node.nullable() })
    .refine(({ number, owner }) => (number === 0) === (owner === null), {
      error: 'an epoch and its owner go together',
    }),
  config: z.strictObject({
    id: z.tuple([count, count]).readonly(),
    sets: z.array(z.array(node).min(1).readonly()).min(1).max(2).readonly(),
  }),
})

export function checkedStable(data: unknown): LocalLeaderStable {
  const result = schema.safeParse(data)
  if (result.success) return result.data
  const issue = result.error.issues[0] as z.core.$ZodIssue
  const field = issue.code === 'unrecognized_keys' ? (issue.keys[0] as string) : issue.path.join('.')
  throw new CorruptStable(field, issue.code === 'unrecognized_keys' ? 'is unknown' : issue.message)
}

/**
 * What a process starts from that keeps nothing: as if it had just been restarted, and had promised everything up to
 * now. It is silent until every lock that it may have given has lapsed, and supports larger epochs only. `moment` must
 * be larger than at every start before, here and elsewhere: milliseconds of the wall clock.
 */
export function forgetfulStable(self: NodeId, voters: readonly NodeId[], moment: number): LocalLeaderStable {
  return {
    incarnation: moment,
    lockTime: 1,
    promised: { number: moment, owner: self },
    config: initialConfiguration(voters),
  }
}
