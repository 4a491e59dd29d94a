/** Parts of schemas that the options and commands of protocols share. */
import { type ZodDefault, type ZodNumber, type ZodType, z } from 'zod'
import type { NodeId } from './ids.ts'

/** No duration in a scenario or an option is longer than this: 30 days. */
export const LONGEST_MS = 30 * 24 * 3_600_000

/** A duration in milliseconds; fractions down to a microsecond are kept. */
export function milliseconds(): ZodNumber {
  return z.number().min(0.001).max(LONGEST_MS)
}

/** A duration that may be 0. */
export function momentMs(): ZodNumber {
  return z.number().min(0).max(LONGEST_MS)
}

export function millisecondsOr(byDefault: number, meaning: string): ZodDefault<ZodNumber> {
  return milliseconds().default(byDefault).describe(meaning)
}

/** One of the world's nodes. */
export function nodeAmong(nodes: readonly NodeId[]): ZodType<NodeId> {
  return z.union([z.number(), z.string()]).refine((id) => nodes.includes(id), {
    error: (issue) => `${JSON.stringify(issue.input)} is not one of the nodes (${nodes.join(', ')})`,
  })
}

/**
 * Describes what is wrong with a value in the terms of the file, not of the validation library. For
 * `safeParse(value, { error: explain })`. A message of the schema itself takes precedence.
 */
export function explain(issue: z.core.$ZodRawIssue): string | undefined {
  const { discriminator } = issue as { readonly discriminator?: string }
  const input: unknown =
    discriminator === undefined ? issue.input : (issue.input as { [field: string]: unknown })[discriminator]
  if (input === undefined && issue.code !== 'unrecognized_keys') return `is missing${describeExpected(issue)}`
  const got = formatValue(input)
  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_value':
    case 'invalid_union':
      return `${got} is not ${expected(issue)}`
    case 'too_small':
    case 'too_big': {
      const [bound, limit] =
        issue.code === 'too_small' ? ['at least', issue.minimum] : ['at most', issue.maximum]
      if (issue.origin === 'array')
        return `has ${(input as unknown[]).length} entries: it needs ${bound} ${limit}`
      if (issue.origin === 'string')
        return issue.code === 'too_small'
          ? 'must be a non-empty string'
          : `is longer than ${String(limit)} characters`
      return `${got} is out of bounds: it must be ${bound} ${limit}`
    }
    default:
      return undefined
  }
}

function describeExpected(issue: z.core.$ZodRawIssue): string {
  const what = expected(issue)
  return what === UNNAMED ? '' : `: write ${what}`
}

const UNNAMED = 'of a kind that is valid here'

function expected(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') return NAMES[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value') return oneOf(issue.values.map(formatValue))
  if (issue.code !== 'invalid_union') return UNNAMED
  const { options } = issue as { readonly options?: readonly unknown[] }
  if (options !== undefined) return oneOf(options.map(formatValue))
  const names = issue.errors.map(([first]) =>
    first?.code === 'invalid_type' ? (NAMES[first.expected] ?? null) : null,
  )
  return names.includes(null) ? UNNAMED : names.join(' or ')
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? (values[0] as string) : `one of ${values.join(', ')}`
}

const NAMES: { readonly [type: string]: string } = {
  array: 'a list',
  boolean: 'true or false',
  int: 'an integer',
  number: 'a finite number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
  tuple: 'a pair',
}

/** A value as it is written in a file, shortened to fit on one line. */
function formatValue(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const text = asJson(value) ?? String(value)
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`
}

/** Values from a program are not always JSON. */
function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** A value for some of the world's nodes, by name. */
export function perNode<T>(nodes: readonly NodeId[], value: ZodType<T>): ZodType<Record<string, T>> {
  const names = nodes.map(String)
  return z.record(z.string(), value).superRefine((record, context) => {
    const stranger = Object.keys(record).find((name) => !names.includes(name))
    if (stranger === undefined) return
    const message = `is not one of the nodes (${names.join(', ')})`
    context.addIssue({ code: 'custom', path: [stranger], message })
  })
}
