/** What is wrong with options or a configuration: all of it at once, each problem with its field and what to do. */
import type { z } from 'zod'
import { nearest } from '../../core/index.ts'
import { InvalidFieldError } from '../runtime/index.ts'

export type FieldProblem = {
  /** As in `groups[1].listen`. */
  readonly field: string
  readonly message: string
}

export type Problem = FieldProblem & {
  /** Where the value was given: a flag, a variable, or file, line and column; null when it was not given. */
  readonly place: string | null
}

/** Options of `join` that cannot work. `problems` has all of them, `field` and `problem` are those of the first. */
export class InvalidOptionsError extends InvalidFieldError {
  override readonly name = 'InvalidOptionsError'
  readonly code = 'ERR_CONCLAVE_INVALID_OPTIONS'
  readonly problems: readonly FieldProblem[]

  constructor(field: string, message: string, others: readonly FieldProblem[] = [], options?: ErrorOptions) {
    super(field, message, options)
    this.problems = [{ field, message }, ...others]
    this.message = this.problems.map((each) => `${each.field}: ${each.message}`).join('\n')
  }
}

/** Throws all problems as one error, if there are any. */
export function rejectOptions(problems: readonly FieldProblem[]): void {
  const [first, ...others] = problems
  if (first !== undefined) throw new InvalidOptionsError(first.field, first.message, others)
}

/** A configuration that cannot work. The message has one line per problem. */
export class InvalidConfigError extends Error {
  override readonly name = 'InvalidConfigError'
  readonly code = 'ERR_CONCLAVE_INVALID_CONFIG'
  readonly problems: readonly Problem[]
  readonly field: string | null

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
    this.field = problems[0]?.field ?? null
  }
}

export function problemText({ field, place, message }: Problem): string {
  if (place === null) return `${field} ${message}`
  // A flag and a variable name the field; where they list several values, the field says which one.
  if (/^(--|CONCLAVE_)/.test(place) && /^[a-zA-Z]+$/.test(field)) return `${place}: ${message}`
  return `${place}: ${field}: ${message}`
}

export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? String(key) : `${text}.${String(key)}`
  }, '')
}

type Issue = z.core.$ZodIssue
type IssueProblem = { readonly path: readonly PropertyKey[]; readonly message: string }

/** The problems in an issue of a schema: one for each unknown field, and for a union those of the branch that was meant. */
export function issueProblems(
  issue: Issue,
  known: readonly string[],
  otherwise = 'see the configuration reference for all fields',
): readonly IssueProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: unknownField(key, known, otherwise),
    }))
  }
  if (issue.code === 'invalid_union') {
    // A branch that fails deeper than at its own type was meant.
    const meant = issue.errors.find((errors) => errors.every((each) => !isOtherType(each)))
    if (meant !== undefined)
      return meant.flatMap((each) =>
        issueProblems({ ...each, path: [...issue.path, ...each.path] }, known, otherwise),
      )
  }
  return [{ path: issue.path, message: issue.message }]
}

/** The problems of a value that a schema rejects, each with its field under `prefix`. */
export function fieldProblems(
  error: z.ZodError,
  known: readonly string[],
  { prefix = [], otherwise }: { readonly prefix?: readonly PropertyKey[]; readonly otherwise?: string } = {},
): readonly FieldProblem[] {
  return error.issues
    .flatMap((issue) => issueProblems(issue, known, otherwise))
    .map(({ path, message }) => ({ field: pathText([...prefix, ...path]), message }))
}

function isOtherType({ code, path }: Issue): boolean {
  return code === 'invalid_type' && path.length === 0
}

function unknownField(key: string, known: readonly string[], otherwise: string): string {
  if (known.includes(key)) return `does not belong here; move it, or ${otherwise}`
  const near = nearest(key, known)
  return `unknown field; ${near === null ? `remove it, or ${otherwise}` : `did you mean ${near}?`}`
}
