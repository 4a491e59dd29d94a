/**
 * The content of a checkpoint. It has everything that another node needs to continue: how the job is defined, its state,
 * and the outputs that the sink may not have yet. The definition is in every checkpoint, because older checkpoints are
 * dropped. State, outputs and result are encoded values (value.ts) within an encoded value.
 */
import { describePayload } from '../checkpoints/index.ts'
import { InvalidJobValueError } from './errors.ts'
import { decodeParts, encodeParts } from './value.ts'

/** `function`: every node runs the same program, which registers it. `module`: the file is at the same path on every node. */
export type JobDefinition =
  | { readonly kind: 'function' }
  | {
      readonly kind: 'module'
      /** Absolute path. */
      readonly file: string
      /** SHA-256 of the file, in hexadecimal: a node with another file declines the job. */
      readonly digest: string
      readonly input: unknown
    }

/** `value` is encoded. */
export type NumberedOutput = { readonly seq: number; readonly value: Uint8Array }

export type JobProgress = {
  /** From 0 to 1. */
  readonly done: number
  readonly text: string
}

export type JobContent = {
  /** Tells the outputs of this job from those of an earlier job of the same name (sink/submission.ts). */
  readonly submission: string
  readonly definition: JobDefinition
  /** Null before the first checkpoint of the job itself. */
  readonly state: Uint8Array | null
  readonly outputs: readonly NumberedOutput[]
  readonly progress: JobProgress | null
  /** Null until the job has returned. */
  readonly result: Uint8Array | null
}

export type EncodedContent = {
  /** To be joined in order. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** See checkpoints/digest.ts. */
  readonly digest: string
}

const FORMAT = 1

/** The digest is computed in slices, so that a large state does not block the thread. */
export async function encodeContent(content: JobContent): Promise<EncodedContent> {
  const { outputs } = content
  const chunks = encodeParts(
    { ...content, format: FORMAT, outputs: outputs.map(({ seq, value }) => [seq, value]) },
    'checkpoint',
  )
  return { chunks, ...(await describePayload(chunks)) }
}

type StoredContent = Omit<JobContent, 'outputs'> & {
  readonly format: unknown
  readonly outputs: readonly (readonly [number, Uint8Array])[]
}

/** Throws InvalidJobValueError if the bytes are not a checkpoint, or one of another version. */
export function decodeContent(bytes: Uint8Array): JobContent {
  const stored = decodeParts(bytes) as StoredContent | null
  if (stored === null || typeof stored !== 'object' || stored.format !== FORMAT)
    throw new InvalidJobValueError('checkpoint', `must have the format ${FORMAT}`)
  const { submission, definition, state, outputs, progress, result } = stored
  return {
    submission,
    definition,
    state,
    outputs: outputs.map(([seq, value]) => ({ seq, value })),
    progress,
    result,
  }
}
