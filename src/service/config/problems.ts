/** What is wrong with a configuration: all of it at once, each with its field, its place and what to do. */
import type { z } from 'zod'
import { nearest } from '../../core/index.ts'

export type Problem = {
  /** As in `groups[1].listen`. */
  readonly field: string
  /** Where it was said: a flag, a variable, or file, line and column; null when it was said nowhere. */
  readonly place: string | null
  readonly message: string
}

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
  // A flag and a variable say which field they are; where they list several things, the field says which one.
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

/** An issue of a schema, taken apart: one for each unknown field, and of a union the branch that was meant. */
export function told(
  issue: Issue,
  known: readonly string[],
): readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownField(key, known) }))
  }
  if (issue.code === 'invalid_union') {
    // A branch that fails deeper than at its own type was the one that was meant.
    const meant = issue.errors.find((errors) => errors.every((each) => !isOtherType(each)))
    if (meant !== undefined)
      return meant.flatMap((each) => told({ ...each, path: [...issue.path, ...each.path] }, known))
  }
  return [{ path: issue.path, message: issue.message }]
}

function isOtherType({ code, path }: Issue): boolean {
  return code === 'invalid_type' && path.length === 0
}

function unknownField(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  return near === null
    ? `there is no such field: take it out, or see docs/reference/configuration.md for those that there are`
    : `there is no such field: did you mean ${near}?`
}
