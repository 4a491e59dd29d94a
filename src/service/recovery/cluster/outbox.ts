/** Offers the outputs and results of runs to the sink, until it has them. */
import type { NumberedOutput } from '../jobs/content.ts'
import { JobFencedError } from '../jobs/errors.ts'
import { decodeValue } from '../jobs/value.ts'
import type { Acceptance, SinkEntry } from '../sink/index.ts'
import { pause } from './pause.ts'

/** The run that an output belongs to. */
type Origin = { readonly job: string; readonly submission: string; readonly token: number }

/** Where outputs and results go. */
export type Delivery = {
  output(entry: SinkEntry, signal: AbortSignal): Promise<Acceptance>
  result(entry: Origin & { readonly value: Uint8Array }, signal: AbortSignal): Promise<Acceptance>
}

const RETRY_MS = 500

export class Outbox {
  readonly #delivery: Delivery
  readonly #warn: (detail: string) => void

  constructor(delivery: Delivery, warn: (detail: string) => void) {
    this.#delivery = delivery
    this.#warn = warn
  }

  /** Rejects with JobFencedError if the sink has seen a later run. */
  async release(origin: Origin, { seq, value }: NumberedOutput, signal: AbortSignal): Promise<void> {
    const entry: SinkEntry = { ...origin, seq, output: decodeValue(value) }
    await this.#deliver(origin.job, () => this.#delivery.output(entry, signal), signal)
  }

  async publish(origin: Origin, value: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#deliver(origin.job, () => this.#delivery.result({ ...origin, value }, signal), signal)
  }

  async #deliver(job: string, offer: () => Promise<Acceptance>, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one offer after the other
        const acceptance = await offer()
        if (acceptance !== 'fenced') return
      } catch (error) {
        signal.throwIfAborted()
        this.#warn(`job "${job}": ${(error as Error).message}`)
        // oxlint-disable-next-line no-await-in-loop -- before it tries again
        await pause(RETRY_MS, signal)
        continue
      }
      throw new JobFencedError(job, 'the sink has outputs of a later run')
    }
  }
}
