/** Which outputs `conclave job logs --follow` has not printed yet. */
import type { OutputsResponse } from './responses.ts'

export class NewOutputs {
  #submission = ''
  #printed = new Set<number>()

  /** A job may emit its outputs in any order. Those of another job with the same name are new. */
  select({
    submission,
    outputs,
  }: Pick<OutputsResponse, 'submission' | 'outputs'>): OutputsResponse['outputs'] {
    if (submission !== this.#submission) this.#printed = new Set()
    this.#submission = submission
    const found = outputs.filter(({ seq }) => !this.#printed.has(seq))
    for (const { seq } of found) this.#printed.add(seq)
    return found
  }
}
