/** What is wrong with a scenario: each problem with its field in the file, and what may have been meant. */
import type { z } from 'zod'
import { nearest } from '../../core/index.ts'

export type ScenarioProblem = {
  /** The place in the file, such as `events[1].crash`; empty for the file as a whole. */
  readonly field: string
  readonly problem: string
  /** FILE:LINE:COLUMN of the value, where the scenario was read from a file. */
  readonly place?: string
}

/** A scenario that cannot be run. `problems` has all problems; `field` is that of the first. */
export class InvalidScenarioError extends Error {
  override readonly name = 'InvalidScenarioError'
  readonly code = 'ERR_CONCLAVE_INVALID_SCENARIO'
  readonly field: string
  readonly problems: readonly ScenarioProblem[]

  constructor(problems: readonly ScenarioProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.field = problems[0]?.field ?? ''
    this.problems = problems
  }

  /** The same problems, each with the place of its field. */
  locate(placeOf: (field: string) => string): InvalidScenarioError {
    return new InvalidScenarioError(
      this.problems.map((problem) => ({ ...problem, place: placeOf(problem.field) })),
    )
  }
}

function problemText({ field, problem, place }: ScenarioProblem): string {
  return [place ?? '', field, problem].filter((part) => part !== '').join(': ')
}

/** All problems in an error of a schema, one for each unknown field. Their fields begin with `place`. */
export function schemaProblems(
  error: z.ZodError,
  schema: z.ZodType | null,
  place: string,
): readonly ScenarioProblem[] {
  return error.issues.flatMap((issue): readonly ScenarioProblem[] => {
    const field = pathText(place, issue.path)
    if (issue.code !== 'unrecognized_keys') return [{ field, problem: issue.message }]
    const known = fieldsAt(schema, issue.path)
    return issue.keys.map((key) => ({ field: pathText(field, [key]), problem: unknownField(key, known) }))
  })
}

export function pathText(start: string, path: readonly PropertyKey[]): string {
  let place = start
  for (const key of path) {
    place += typeof key === 'number' ? `[${key}]` : `${place === '' ? '' : '.'}${String(key)}`
  }
  return place
}

function unknownField(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  if (near !== null) return `unknown field; did you mean ${near}?`
  return known.length === 0 ? 'unknown field' : `unknown field (known: ${known.join(', ')})`
}

/** The parts of a schema that lead to the fields inside it. */
type Part = {
  readonly def?: { readonly innerType?: Part; readonly in?: Part; readonly element?: Part }
  readonly shape?: { readonly [field: string]: Part }
}

/** The fields that an object may have at a path of a schema; none where that is not known. */
function fieldsAt(schema: z.ZodType | null, path: readonly PropertyKey[]): readonly string[] {
  let part = unwrap(schema as unknown as Part | null)
  for (const key of path) {
    part = unwrap(typeof key === 'number' ? part?.def?.element : part?.shape?.[String(key)])
  }
  return Object.keys(part?.shape ?? {})
}

/** Without defaults, optional and nullable around it. */
function unwrap(part: Part | null | undefined): Part | null {
  let inner = part ?? null
  while (inner?.def?.innerType !== undefined || inner?.def?.in !== undefined)
    inner = inner.def.innerType ?? inner.def.in ?? null
  return inner
}
