/** The schema of all commands: those of the host, of Omega+, and of the model. */
import { z } from 'zod'
import { type Command, type NodeId, nodeAmong } from '../../core/index.ts'
import { JOB_NAME, LONGEST_DIGEST } from '../../recovery/manager/index.ts'

const MOST_COLUMNS = 64
const MOST_COUNT = 2 ** 52

export function commands(nodes: readonly NodeId[]): z.ZodType<Command> {
  const count = z.int().min(0).max(MOST_COUNT)
  const job = z.string().regex(JOB_NAME, {
    error:
      'must have 1 to 100 letters, digits, dots, hyphens or underscores, and begin with a letter or a digit',
  })
  const assignment = z.tuple([count, count])
  const id = z.strictObject({ job, assignment, epoch: count, token: count })
  const column = z
    .int()
    .min(0)
    .max(MOST_COLUMNS - 1)
  const reason = z.string().max(10_000)
  const digest = z.string().min(1).max(LONGEST_DIGEST)
  const code = z.strictObject({
    name: z.enum(['evenodd', 'reed-solomon']),
    columns: z.int().min(1).max(MOST_COLUMNS),
    data: z.int().min(1).max(MOST_COLUMNS),
  })
  const source = z.strictObject({ node: nodeAmong(nodes), column })
  return z.discriminatedUnion('do', [
    z.strictObject({ do: z.literal('stepDown') }),
    z.strictObject({
      do: z.literal('campaign'),
      willing: z.boolean().describe('whether it would lead'),
      lapse: z.boolean().default(false).describe('others take over only if that lasts, not at once'),
    }),
    z.strictObject({ do: z.literal('corrupt') }),
    z.strictObject({ do: z.literal('slots'), slots: z.int().min(0).max(100) }),
    z.strictObject({ do: z.literal('submit'), job }),
    z.strictObject({ do: z.literal('cancel'), job }),
    z.strictObject({ do: z.literal('checkpoint'), job, assignment, epoch: count, bytes: count, digest }),
    z.strictObject({
      do: z.literal('uploaded'),
      id,
      columns: z.array(column).max(MOST_COLUMNS),
      problems: z.array(reason).max(MOST_COLUMNS),
    }),
    z.strictObject({ do: z.literal('held'), id, column, code, bytes: count, digest }),
    z.strictObject({ do: z.literal('lost'), id, column, problem: reason }),
    z.strictObject({ do: z.literal('finished'), job, assignment }),
    z.strictObject({ do: z.literal('threw'), job, assignment, reason }),
    z.strictObject({ do: z.literal('declined'), job, assignment, reason }),
    z.strictObject({ do: z.literal('interrupted'), job, assignment, reason }),
    z.strictObject({
      do: z.literal('unrestorable'),
      job,
      assignment,
      id,
      bad: z.array(source).max(MOST_COLUMNS),
    }),
  ])
}
