/** What a job can do: the argument of its function. */
import { inspect } from 'node:util'
import { isAbortSignal } from '../../config/abort-signal.ts'
import { InvalidJobValueError } from './errors.ts'

export type CheckpointOptions = { readonly signal?: AbortSignal | undefined }

export type JobContext<State = unknown, Input = unknown> = {
  /** The name of the job. */
  readonly name: string
  /** The input of a module job; null for a function. */
  readonly input: Input
  /** Aborted when the job must stop: it was cancelled, another node runs it, or this node closes. */
  readonly signal: AbortSignal
  /**
   * Of the view in which this run was assigned: larger in every later view. A resource that remembers the largest can
   * refuse the writes of a node that left the group. Two runs in one view have the same token; the signal of the first is
   * aborted before the second starts.
   */
  readonly token: number
  /** The state of the last committed checkpoint; undefined in the first run. */
  restore(): Promise<State | undefined>
  /**
   * Stores the state, and everything emitted before. Resolves when it is committed: it then survives the loss of as many
   * nodes as the group tolerates, or of one fewer while a column is missing. The state may be changed as soon as the call has returned its promise. If it rejects,
   * the last committed checkpoint stays, and outputs wait for the next one. A job that lets CheckpointFailedError or
   * CheckpointDiskFullError pass continues from the last committed checkpoint after a while.
   */
  checkpoint(state: State, options?: CheckpointOptions): Promise<void>
  /**
   * Adds a numbered output. It is released to the sink when the next checkpoint is committed, or when the job returns.
   * It may have 32 MiB. Number outputs by the state, so that a job that continues from a checkpoint gives an output the same number again.
   */
  emit(seq: number, output: unknown): void
  /** How much is done, from 0 to 1. Shown in the list of jobs. */
  progress(done: number, text?: string): void
  /** A line for the log of this node. It may appear again when the job is resumed. */
  log(text: string): void
}

/** The function of a job. What it returns is the result, which may have 32 MiB. */
export type JobFunction<State = unknown, Result = unknown, Input = unknown> = (
  context: JobContext<State, Input>,
) => Promise<Result> | Result

export const MOST_PROGRESS_TEXT = 200
/** Of an encoded output or result. Nodes send it in one message, which has at most 64 MiB. */
export const MOST_OUTPUT_BYTES = 32 * 1024 * 1024

export function checkSeq(seq: unknown): asserts seq is number {
  if (!Number.isSafeInteger(seq) || (seq as number) < 0)
    throw new InvalidJobValueError('seq', `${inspect(seq)} must be a whole number, 0 or more`)
}

export function checkOutputSize(field: 'output' | 'result', { length }: Uint8Array): void {
  if (length > MOST_OUTPUT_BYTES)
    throw new InvalidJobValueError(
      field,
      `has ${length} bytes, and at most ${MOST_OUTPUT_BYTES} are allowed: emit it in parts, or store it elsewhere`,
    )
}

export function checkProgress(done: unknown, text: unknown): void {
  if (typeof done !== 'number' || !(done >= 0 && done <= 1))
    throw new InvalidJobValueError('done', `${inspect(done)} must be a number from 0 to 1`)
  checkText(text)
}

export function checkText(text: unknown): asserts text is string {
  if (typeof text !== 'string') throw new InvalidJobValueError('text', `${inspect(text)} must be a string`)
}

export function parseCheckpointSignal(options: CheckpointOptions | undefined): AbortSignal | undefined {
  const signal = options?.signal
  if (signal === undefined || isAbortSignal(signal)) return signal
  throw new InvalidJobValueError('signal', `${inspect(signal, { depth: 0 })} must be an AbortSignal`)
}
