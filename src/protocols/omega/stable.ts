/** Stable data of a real process, checked before it takes part again. */
import { z } from 'zod'
import type { Plain } from '../../core/index.ts'
import { stableSchema } from './wire.ts'

/** Stable data that cannot be what a process of Omega+ once wrote. It must not start: it may have promised anything. */
export class CorruptOmega extends Error {
  override readonly name = 'CorruptOmega'

  constructor(field: string, problem: string) {
    super(
      `the stable data of this process is not that of omega, or corrupt (${field === '' ? 'as a whole' : field}: ${problem}). ` +
        'It does not know what it has promised, so it must not take part under this id: ' +
        'give it the data folder that it had, or replace it in the group by a node with another id and an empty folder',
    )
  }
}

const schema = z.strictObject({ layer: z.int().min(1), upper: stableSchema }).nullable()

export function checkedStable(data: Plain): Plain {
  const result = schema.safeParse(data)
  if (result.success) return data
  const issue = result.error.issues[0] as z.core.$ZodIssue
  throw new CorruptOmega(issue.path.join('.'), issue.message)
}
