/** What this node serves to the other nodes: its columns, within the fence, and answers to their requests. */
import type { NodeId } from '../../../core/index.ts'
import type { CheckpointId, ManagerCommand } from '../../../recovery/manager/types.ts'
import type { JobProgress } from '../jobs/content.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import type { ReplicatedSink, SinkRequest } from '../sink/index.ts'
import { type ColumnStore, findColumnProblem } from '../store/index.ts'
import type { ColumnGate, Transfer, Upload, Verdict } from '../transport/index.ts'
import type { ManagerPort } from './ports.ts'

/** Requests between nodes, beside those of the sink. */
export type NodeRequest =
  | { readonly node: 'progress'; readonly jobs: readonly string[] }
  /** A column of this node could not be used. */
  | { readonly node: 'check'; readonly id: CheckpointId; readonly column: number; readonly digest: string }

export type SentProgress = readonly (readonly [job: string, progress: JobProgress])[]

export type DataPortOptions = {
  readonly nodes: readonly NodeId[]
  readonly manager: ManagerPort
  readonly store: ColumnStore
  readonly outputs: ReplicatedSink
  progressOf(job: string): JobProgress | null
  /** Resolves when the condition holds after a step of the protocol, or after `ms`. */
  waitUntil(isSo: () => boolean, ms: number): Promise<void>
  warn(what: string, detail: string): void
}

/** A view reaches the members one after the other: a sender may be ahead for about a round trip. */
const MAX_AHEAD_MS = 2000
const OK: Verdict = { ok: true }

export class DataPort implements ColumnGate {
  readonly #options: DataPortOptions

  constructor(options: DataPortOptions) {
    this.#options = options
  }

  async mayStore({ from, token, key }: Upload): Promise<Verdict> {
    const { manager, waitUntil } = this.#options
    const isFenced = (): boolean => manager.look().fence >= key.id.token
    if (!isFenced()) await waitUntil(isFenced, MAX_AHEAD_MS)
    return this.#verdict(from, token)
  }

  async recordStored({ key, code, bytes }: Upload): Promise<Verdict> {
    const { id, column, digest } = key
    const command: ManagerCommand = { do: 'held', id, column, code, bytes, digest }
    const refusal = await this.#options.manager.command(command)
    return refusal === null ? OK : { ok: false, reason: refusal }
  }

  async mayRead({ from, token }: Transfer): Promise<Verdict> {
    return this.#verdict(from, token)
  }

  async answer(from: NodeId, body: Uint8Array): Promise<Uint8Array> {
    if (!this.#options.nodes.includes(from)) throw new Error(`${from} is not a node of the group`)
    const request = decodeValue(body) as SinkRequest | NodeRequest
    const reply =
      'sink' in request ? await this.#options.outputs.handle(request) : await this.#handle(request)
    return encodeValue(reply, 'reply')
  }

  /** Reads the column, and reports it to the protocol if it is missing or damaged. */
  async check({ id, column, digest }: Omit<Extract<NodeRequest, { node: 'check' }>, 'node'>): Promise<void> {
    const { store, manager, warn } = this.#options
    const problem = await findColumnProblem(store, { id, column, digest }).catch(
      (error: Error) => error.message,
    )
    if (problem === null) return
    warn('columns', `column ${column} of job "${id.job}" is lost (${problem}); it is rebuilt from the others`)
    await manager.command({ do: 'lost', id, column, problem })
  }

  async #handle(request: NodeRequest): Promise<unknown> {
    if (request.node === 'check') {
      await this.check(request)
      return null
    }
    return request.jobs.flatMap((job) => {
      const progress = this.#options.progressOf(job)
      return progress === null ? [] : [[job, progress]]
    })
  }

  #verdict(from: NodeId, token: number): Verdict {
    if (!this.#options.nodes.includes(from))
      return { ok: false, reason: `${from} is not a node of the group` }
    const { fence } = this.#options.manager.look()
    if (token >= fence) return OK
    return { ok: false, reason: `token ${token} is fenced off; this node has promised ${fence}` }
  }
}
