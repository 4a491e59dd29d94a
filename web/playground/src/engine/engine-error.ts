/** The error of a request that failed, with all problems. */
import type { Problem } from './messages.ts'

export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

export function problemText({ place, message }: Problem): string {
  return place === null ? message : `${place}: ${message}`
}
