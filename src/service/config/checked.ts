/** Checks values against a schema, and describes how a missing field can be given. */
import type { z } from 'zod'
import { explain } from '../../core/index.ts'
import { type Layered, placeIn } from './layers.ts'
import { issueProblems, type Problem, pathText } from './problems.ts'
import { KNOWN_FIELDS } from './schema.ts'

/** The parsed value; null when something is wrong, which is added to the problems. */
export function checked(
  schema: z.ZodType,
  { values, from }: Layered,
  problems: Problem[],
  path: readonly PropertyKey[],
): unknown {
  const result = schema.safeParse(values, { error: explain })
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    for (const { path: inside, message } of issueProblems(issue, KNOWN_FIELDS)) {
      const field = String(inside[0])
      const isMissing = values[field] === undefined
      problems.push({
        field: pathText([...path, ...inside]),
        place: placeIn(from, field),
        message: isMissing ? howToGive(field) : message,
      })
    }
  }
  return null
}

/** Repeatable flags are named in the singular. */
const REPEATED: { readonly [field: string]: string } = {
  peers: 'peer',
  options: 'option',
  httpNames: 'httpName',
}

/** The name of the flag of a field. */
export function flagOf(field: string): string {
  const words = REPEATED[field] ?? field
  return `--${words.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

export function variableOf(field: string): string {
  return `CONCLAVE_${flagOf(field).slice(2).toUpperCase().replaceAll('-', '_')}`
}

function howToGive(field: string): string {
  return `is missing: give ${flagOf(field)}, set ${variableOf(field)}, or write it in the file (--config)`
}
