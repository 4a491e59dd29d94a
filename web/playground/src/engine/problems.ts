/** What went wrong in a request, in words and with a place. */
import { InvalidScenarioError } from '../../../../src/workbench/scenario/index.ts'
import { EngineError } from './engine-error.ts'
import type { Problem } from './messages.ts'

/** Every error as problems. `placeOf` finds the line of a module of the user in a stack. */
export function problemsOf(
  error: unknown,
  placeOf: (error: Error) => string | null = () => null,
): readonly Problem[] {
  if (error instanceof EngineError) return error.problems
  if (error instanceof InvalidScenarioError)
    return error.problems.map(({ field, problem }) => ({
      place: field === '' ? null : field,
      message: problem,
    }))
  if (!(error instanceof Error)) return [{ place: null, message: String(error) }]
  return [{ place: placeOf(error), message: errorText(error) }]
}

/** The first line of what an error says. An ordinary Error needs no name. */
export function errorText(error: Error): string {
  const [first = ''] = error.message.split('\n')
  return error.name === 'Error' || error.name.startsWith('Invalid') ? first : `${error.name}: ${first}`
}
