/**
 * Encodes a payload stripe by stripe, and sends each column to its holder while the next stripe is encoded. Memory is
 * bounded by the stripes that wait in the lanes.
 */
import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NodeId } from '../../../core/index.ts'
import type { CheckpointId, Code } from '../../../recovery/manager/types.ts'
import { type ColumnWriter, columnOwner, describeCheckpoint } from '../store/index.ts'
import type { Upload } from '../transport/index.ts'
import { PooledEncoder } from './encoder.ts'
import { PayloadChangedError } from './errors.ts'
import { Lane } from './lane.ts'
import { PartCutter, type Pieces } from './payload.ts'

/** What the manager's output `upload` says. */
export type UploadPlan = {
  readonly id: CheckpointId
  readonly code: Code
  /** `holders[c]` stores column c. */
  readonly holders: readonly NodeId[]
  readonly bytes: number
  readonly digest: string
}

export type Progress = { readonly done: number; readonly total: number }

export type TransferOptions = {
  readonly signal?: AbortSignal
  /** Bytes of the payload that were encoded or restored so far. */
  readonly onProgress?: (progress: Progress) => void
}

export type UploadProblem = { readonly node: NodeId; readonly column: number; readonly problem: string }

export type UploadOutcome = {
  /** The columns whose holders have acknowledged them. */
  readonly columns: readonly number[]
  readonly problems: readonly UploadProblem[]
}

/** What a holder learns about a column before its bytes. */
export type AnnouncedColumn = Omit<Upload, 'group' | 'from' | 'token'>

/** Where columns go. */
export type UploadTarget = {
  /** Opens a column at its holder. `writes` is how often it will be written to. */
  open(holder: NodeId, column: AnnouncedColumn, writes: number, signal: AbortSignal): Promise<ColumnWriter>
  /** Called after the column is durable. It counts only when this has resolved. */
  confirm(holder: NodeId, column: AnnouncedColumn): Promise<void>
}

/** Stripes that may wait in a lane. */
const MAX_WAITING = 4

type ColumnLane = { readonly holder: NodeId; readonly column: AnnouncedColumn; readonly lane: Lane }

/** Rejects if the payload is not as announced, or on abort. Failures of holders are in the outcome. */
export async function uploadPieces(
  plan: UploadPlan,
  pieces: Pieces,
  target: UploadTarget,
  options: TransferOptions = {},
): Promise<UploadOutcome> {
  const upload = new ColumnUpload(plan, pieces, target, options)
  try {
    return await upload.run()
  } catch (error) {
    await upload.abort(error)
    throw error
  }
}

class ColumnUpload {
  readonly #plan: UploadPlan
  readonly #options: TransferOptions
  readonly #target: UploadTarget
  readonly #encoder: PooledEncoder
  readonly #parts: PartCutter
  readonly #lanes: readonly ColumnLane[]
  readonly #room = new EventEmitter()
  readonly #abandon = new AbortController()

  constructor(plan: UploadPlan, pieces: Pieces, target: UploadTarget, options: TransferOptions) {
    const { id, code, holders, bytes, digest } = plan
    if (holders.length !== code.columns)
      throw new TypeError(`holders: ${holders.length} given, the code has ${code.columns} columns`)
    this.#plan = plan
    this.#options = options
    this.#target = target
    this.#parts = new PartCutter(pieces)
    this.#encoder = new PooledEncoder(code, columnOwner({ id, digest }), bytes)
    const { signal } = this.#abandon
    const either = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
    const { layout, headers } = this.#encoder
    this.#lanes = holders.map((holder, number) => {
      const header = headers[number] as Uint8Array
      const size = header.length + layout.frameStart(layout.stripes)
      const column = { key: { id, column: number, digest }, code, bytes, size }
      const lane = new Lane(
        () => target.open(holder, column, Math.max(1, layout.stripes), either),
        () => this.#room.emit('room'),
      )
      if (layout.stripes === 0) lane.push([header])
      return { holder, column, lane }
    })
  }

  async run(): Promise<UploadOutcome> {
    const { layout } = this.#encoder
    for (let stripe = 0; stripe < layout.stripes && this.#isWorthwhile(); stripe++) {
      // Lets requests leave and connections arrive: the holders get ready while the first stripes are encoded.
      // oxlint-disable-next-line no-await-in-loop -- lets other work run
      await nextTurn()
      // oxlint-disable-next-line no-await-in-loop -- the holders set the pace
      await this.#sendStripe(stripe)
    }
    if (this.#isWorthwhile() && (await this.#parts.hasMore())) throw this.#changed('more')
    if (this.#isWorthwhile())
      await Promise.all(
        this.#lanes.map(({ lane, holder, column }) =>
          lane.finish(() => this.#target.confirm(holder, column)),
        ),
      )
    this.#options.signal?.throwIfAborted()
    await this.#parts.close()
    if (!this.#isWorthwhile()) await this.abort(new Error('too few holders are left'))
    return this.#summarize()
  }

  /** Releases what the upload holds. */
  async abort(reason: unknown): Promise<void> {
    const error = reason instanceof Error ? reason : new Error(String(reason))
    this.#abandon.abort(error)
    await this.#parts.close().catch(() => {})
    await Promise.all(this.#lanes.map(({ lane }) => lane.abort(error)))
  }

  async #sendStripe(stripe: number): Promise<void> {
    const { signal, onProgress } = this.#options
    const { layout } = this.#encoder
    const wanted = layout.payloadBytes(stripe)
    const part = await this.#parts.next(wanted)
    signal?.throwIfAborted()
    if (part.length < wanted) throw this.#changed('fewer')
    const { frames, release } = this.#encoder.encodeStripe(stripe, part)
    let sending = frames.length
    for (const [column, frame] of frames.entries()) {
      const chunks = stripe === 0 ? [this.#encoder.headers[column] as Uint8Array, ...frame] : frame
      this.#lanes[column]?.lane.push(chunks, () => {
        sending -= 1
        if (sending === 0) release()
      })
    }
    onProgress?.({ done: stripe * layout.payloadBytes(0) + wanted, total: layout.payloadLength })
    while (this.#lanes.some(({ lane }) => lane.waiting >= MAX_WAITING)) {
      // A lane that is aborted fails, so this also ends on abort.
      // oxlint-disable-next-line no-await-in-loop -- until every lane has room
      await once(this.#room, 'room')
      signal?.throwIfAborted()
    }
  }

  /** With fewer columns than the code needs, nothing can be restored. */
  #isWorthwhile(): boolean {
    return this.#lanes.filter(({ lane }) => lane.failure === null).length >= this.#plan.code.data
  }

  #changed(than: 'more' | 'fewer'): PayloadChangedError {
    const { id, bytes } = this.#plan
    return new PayloadChangedError(describeCheckpoint(id), `it has ${than} than ${bytes} bytes`)
  }

  #summarize(): UploadOutcome {
    const failed = this.#lanes.filter(({ lane }) => lane.failure !== null)
    return {
      columns: this.#lanes.flatMap(({ lane, column }) => (lane.failure === null ? [column.key.column] : [])),
      problems: failed.map(({ holder, lane, column }) => ({
        node: holder,
        column: column.key.column,
        problem: (lane.failure as Error).message,
      })),
    }
  }
}
