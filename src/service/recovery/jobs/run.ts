/**
 * One run of a job at its owner: from the restored checkpoint to the result, or until it is stopped.
 *
 * Outputs are released in order, each after the checkpoint that contains it is committed. A checkpoint contains all
 * outputs that the sink has not accepted yet. So the next owner, which releases the outputs of its checkpoint first,
 * repeats some and misses none.
 */

import { DigestMismatchError } from '../checkpoints/index.ts'
import {
  decodeContent,
  type EncodedContent,
  encodeContent,
  type JobContent,
  type JobDefinition,
  type JobProgress,
  type NumberedOutput,
} from './content.ts'
import {
  type CheckpointOptions,
  checkOutputSize,
  checkProgress,
  checkSeq,
  checkText,
  type JobContext,
  MOST_PROGRESS_TEXT,
  parseCheckpointSignal,
} from './context.ts'
import { CheckpointTooLargeError, InvalidJobValueError, JobDeclinedError, JobFencedError } from './errors.ts'
import { describeThrown, isStorageFailure } from './thrown.ts'
import { decodeValue, encodeValue } from './value.ts'

/** For code in another thread, whose values arrive encoded. */
export type EncodedContext = {
  readonly state: Uint8Array | null
  checkpoint(state: Uint8Array, signal: AbortSignal | undefined): Promise<void>
  emit(output: NumberedOutput): void
}

/** Runs the code of the job, and resolves to its encoded result. Rejects with JobDeclinedError if this node cannot. */
export type Execute = (
  definition: JobDefinition,
  context: JobContext,
  encoded: EncodedContext,
) => Promise<Uint8Array>

/** What a run needs of its node. */
export type RunPorts = {
  /** The bytes of the checkpoint that the run continues from. */
  restore(signal: AbortSignal): Promise<Uint8Array>
  execute: Execute
  /** Resolves when the content is committed as the next checkpoint. Rejects with a coded error. */
  store(content: EncodedContent, signal: AbortSignal): Promise<void>
  /** Resolves when the sink has the output. Rejects with JobFencedError if the sink has seen a larger token. */
  release(output: NumberedOutput, submission: string, signal: AbortSignal): Promise<void>
  /** Resolves when the result can be read at every member. */
  publish(result: Uint8Array, submission: string, signal: AbortSignal): Promise<void>
  progressed(progress: JobProgress): void
  log(text: string): void
}

export type RunEnd =
  | { readonly how: 'finished' }
  | { readonly how: 'threw'; readonly reason: string }
  | { readonly how: 'declined'; readonly reason: string }
  /** A checkpoint could not be stored. The job can continue from the last one. */
  | { readonly how: 'interrupted'; readonly reason: string }
  /** The checkpoint could not be restored. */
  | { readonly how: 'unrestorable'; readonly error: unknown }
  | { readonly how: 'stopped' }

export type RunSettings = {
  readonly job: string
  readonly token: number
  readonly maxCheckpointBytes: number
}

export class JobRun {
  readonly #settings: RunSettings
  readonly #ports: RunPorts
  readonly #stop = new AbortController()
  #definition: JobDefinition = { kind: 'function' }
  #submission = ''
  #state: Uint8Array | null = null
  #progress: JobProgress | null = null
  /** Emitted, and not in a committed checkpoint. */
  readonly #pending = new Map<number, NumberedOutput>()
  /** In a committed checkpoint, and not accepted by the sink yet. */
  #releasable: NumberedOutput[] = []
  #releasing: Promise<void> = Promise.resolve()
  /** Why the sink does not take the outputs of this run. If the group does not know better, another node tries. */
  #refusal: Error | null = null
  /** Checkpoints are stored one after the other. */
  #storing: Promise<unknown> = Promise.resolve()

  constructor(settings: RunSettings, ports: RunPorts) {
    this.#settings = settings
    this.#ports = ports
  }

  get progress(): JobProgress | null {
    return this.#progress
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  /** None of its outputs is released any more. */
  stop(why: string): void {
    this.#stop.abort(new JobFencedError(this.#settings.job, why))
  }

  /** Never rejects. */
  async run(): Promise<RunEnd> {
    const { signal } = this.#stop
    let content: JobContent
    try {
      content = decodeContent(await this.#ports.restore(signal))
    } catch (error) {
      if (signal.aborted) return { how: 'stopped' }
      // Its columns are good, so another try at this node would fail, too.
      if (error instanceof DigestMismatchError || error instanceof InvalidJobValueError)
        return { how: 'declined', reason: error.message }
      return { how: 'unrestorable', error }
    }
    try {
      await this.#continue(content)
      return signal.aborted ? { how: 'stopped' } : { how: 'finished' }
    } catch (error) {
      if (this.#refusal !== null) return { how: 'declined', reason: this.#refusal.message }
      if (signal.aborted) return { how: 'stopped' }
      if (error instanceof JobDeclinedError || error instanceof JobFencedError)
        return { how: 'declined', reason: error.message }
      if (isStorageFailure(error)) return { how: 'interrupted', reason: error.message }
      // No other run will release what the last checkpoint contains.
      await this.#untilStopped(this.#releasing).catch(() => {})
      return signal.aborted ? { how: 'stopped' } : { how: 'threw', reason: describeThrown(error) }
    } finally {
      // The code of the job may still run: nothing that it does counts any more.
      this.stop('it has ended')
    }
  }

  async #continue(content: JobContent): Promise<void> {
    this.#definition = content.definition
    this.#submission = content.submission
    this.#state = content.state
    this.#progress = content.progress
    if (content.progress !== null) this.#ports.progressed(content.progress)
    this.#releaseSoon(content.outputs)
    let { result } = content
    if (result === null) {
      const encoded: EncodedContext = {
        state: content.state,
        checkpoint: (state, signal) => this.#store(state, null, signal),
        emit: (output) => this.#emit(output),
      }
      const running = this.#ports.execute(content.definition, this.#context(), encoded)
      result = await this.#untilStopped(running)
      checkOutputSize('result', result)
      await this.#store(this.#state, result)
    }
    await this.#untilStopped(this.#releasing)
    await this.#ports.publish(result, this.#submission, this.#stop.signal)
  }

  #context(): JobContext {
    const { job: name, token } = this.#settings
    const { signal } = this.#stop
    const state = this.#state
    const definition = this.#definition
    return {
      name,
      input: definition.kind === 'module' ? definition.input : null,
      signal,
      token,
      restore: async () => {
        signal.throwIfAborted()
        return state === null ? undefined : decodeValue(state)
      },
      checkpoint: async (value, options) => this.#checkpoint(encodeValue(value, 'state'), options),
      emit: (seq, output) => {
        checkSeq(seq)
        this.#emit({ seq, value: encodeValue(output, 'output') })
      },
      progress: (done, text = '') => this.#setProgress(done, text),
      log: (text) => {
        checkText(text)
        this.#ports.log(text)
      },
    }
  }

  async #checkpoint(state: Uint8Array, options: CheckpointOptions | undefined): Promise<void> {
    const signal = parseCheckpointSignal(options)
    await this.#store(state, null, signal)
  }

  /** `output.seq` has been checked. */
  #emit(output: NumberedOutput): void {
    this.#stop.signal.throwIfAborted()
    checkOutputSize('output', output.value)
    if (this.#pending.has(output.seq))
      throw new InvalidJobValueError(
        'seq',
        `${output.seq} was emitted already; give each output its own number`,
      )
    this.#pending.set(output.seq, output)
  }

  #setProgress(done: number, text: string): void {
    checkProgress(done, text)
    this.#progress = { done, text: text.slice(0, MOST_PROGRESS_TEXT) }
    if (!this.isStopped) this.#ports.progressed(this.#progress)
  }

  /** What was emitted before the call is in the checkpoint; what is emitted while it is stored waits for the next. */
  #store(state: Uint8Array | null, result: Uint8Array | null, signal?: AbortSignal): Promise<void> {
    const pending = [...this.#pending.values()]
    const progress = this.#progress
    const storing = this.#storing.then(() => this.#storeNext({ state, result, pending, progress }, signal))
    this.#storing = storing.catch(() => {})
    return storing
  }

  async #storeNext(
    next: Pick<JobContent, 'state' | 'result' | 'progress'> & { readonly pending: readonly NumberedOutput[] },
    signal?: AbortSignal,
  ): Promise<void> {
    const { job, maxCheckpointBytes } = this.#settings
    const stop = this.#stop.signal
    stop.throwIfAborted()
    const { state, result, pending, progress } = next
    const content = await encodeContent({
      submission: this.#submission,
      definition: this.#definition,
      state,
      outputs: [...this.#releasable, ...pending],
      progress,
      result,
    })
    stop.throwIfAborted()
    if (content.bytes > maxCheckpointBytes)
      throw new CheckpointTooLargeError(job, content.bytes, maxCheckpointBytes)
    await this.#ports.store(content, signal === undefined ? stop : AbortSignal.any([signal, stop]))
    stop.throwIfAborted()
    this.#state = state
    for (const { seq } of pending) this.#pending.delete(seq)
    this.#releaseSoon(pending)
  }

  #releaseSoon(outputs: readonly NumberedOutput[]): void {
    this.#releasable.push(...outputs)
    const { signal } = this.#stop
    this.#releasing = this.#releasing.then(async () => {
      for (;;) {
        const [output] = this.#releasable
        if (output === undefined || signal.aborted) return
        try {
          // oxlint-disable-next-line no-await-in-loop -- outputs are released in order
          await this.#ports.release(output, this.#submission, signal)
        } catch (error) {
          if (signal.aborted) return
          this.#refusal = error as Error
          this.stop(this.#refusal.message)
          return
        }
        this.#releasable.shift()
      }
    })
  }

  /** A job that ignores its signal must not delay the stop. */
  async #untilStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stop
    const { promise, reject } = withReject()
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    try {
      return await Promise.race([work, promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

function withReject(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse
  })
  // It may be rejected after the race.
  promise.catch(() => {})
  return { promise, reject }
}
