/**
 * The default sink: every node keeps the outputs of all jobs. An output is accepted once a majority of all nodes has it on
 * disk. Any later majority contains one of them, so a read that asks a majority finds every accepted output. Nodes fetch
 * what they lack when they read, and in every new view.
 */
import type { NodeId } from '../../../core/index.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import { SinkFailedError } from './errors.ts'
import { type JobLog, type LogEntry, type LogSummary, OutputLog } from './output-log.ts'
import type { PeerMessages } from './peer-messages.ts'
import type { Acceptance, Sink } from './sink.ts'
import { SUBMISSION_FORM } from './submission.ts'

export type ReplicatedOptions = {
  readonly self: NodeId
  /** All nodes of the group. */
  readonly nodes: readonly NodeId[]
  readonly folder: string
  readonly peers: PeerMessages
  /** Outputs on this node's disk were found damaged. */
  readonly warn?: (detail: string) => void
}

/** Requests between the sinks of two nodes. */
export type SinkRequest =
  | { readonly sink: 'accept'; readonly entry: LogEntry }
  | { readonly sink: 'summaries' }
  | { readonly sink: 'numbers'; readonly job: string; readonly submission: string }
  | {
      readonly sink: 'fetch'
      readonly job: string
      readonly submission: string
      readonly seqs: readonly number[]
    }

type Fetched = {
  readonly token: number
  readonly outputs: readonly (readonly [number, Uint8Array])[]
  readonly result: Uint8Array | null
}

/** Bytes of outputs in one reply. */
const MOST_FETCHED = 4 * 1024 * 1024
const CALL_MS = 10_000

export class ReplicatedSink implements Sink {
  readonly place: string
  readonly #options: ReplicatedOptions
  readonly #log: OutputLog

  private constructor(options: ReplicatedOptions, log: OutputLog) {
    this.#options = options
    this.#log = log
    this.place = options.folder
  }

  static async open(options: ReplicatedOptions): Promise<ReplicatedSink> {
    const { folder, warn } = options
    return new ReplicatedSink(options, await OutputLog.open(folder, warn === undefined ? {} : { warn }))
  }

  accept({ output, ...entry }: Parameters<Sink['accept']>[0], signal?: AbortSignal): Promise<Acceptance> {
    return this.acceptEncoded({ ...entry, value: encodeValue(output, 'output') }, signal)
  }

  /** Resolves when a majority of all nodes has it. */
  async acceptEncoded(entry: LogEntry, signal?: AbortSignal): Promise<Acceptance> {
    const { nodes, self } = this.#options
    const majority = Math.floor(nodes.length / 2) + 1
    const problems: string[] = []
    let stored = 0
    let isNew = false
    return new Promise((resolve, reject) => {
      let left = nodes.length
      const count = (acceptance: Acceptance): void => {
        if (acceptance === 'fenced') return resolve('fenced')
        stored += 1
        isNew ||= acceptance === 'accepted'
        if (stored >= majority) resolve(isNew ? 'accepted' : 'duplicate')
      }
      for (const node of nodes) {
        const offer = node === self ? this.#log.accept(entry) : this.#offer(node, entry, signal)
        offer
          .then(count, (error: Error) => problems.push(`${node}: ${error.message}`))
          .finally(() => {
            left -= 1
            if (left > 0 || stored >= majority) return
            const why = `${stored} of ${nodes.length} nodes have it, and ${majority} are needed (${problems.join('; ')})`
            reject(new SinkFailedError(this.place, why))
          })
      }
    })
  }

  /** All outputs of one submission of a job, in the order of their numbers. */
  async outputs(
    job: string,
    submission: string,
  ): Promise<readonly { readonly seq: number; readonly output: unknown }[]> {
    await this.catchUp(job)
    const log = this.#log.find(job, submission)
    if (log === null) return []
    const numbers = [...log.seqs].sort((a, b) => a - b)
    const outputs: { readonly seq: number; readonly output: unknown }[] = []
    for (const seq of numbers) {
      // oxlint-disable-next-line no-await-in-loop -- one output at a time bounds the reads that are under way
      const value = (await log.read(seq)) ?? (await this.#readAgain(job, log, seq))
      outputs.push({ seq, output: decodeValue(value) })
    }
    return outputs
  }

  /** The output is damaged at this node. */
  async #readAgain(job: string, log: JobLog, seq: number): Promise<Uint8Array> {
    await this.catchUp(job)
    const value = await log.read(seq)
    if (value !== null) return value
    throw new Error(`output ${seq} of job "${job}" is damaged at this node, and no other node sends it`)
  }

  /** Null if it is not known here, or at any node that answers. */
  async result(job: string, submission: string): Promise<{ readonly value: unknown } | null> {
    if (this.#log.find(job, submission)?.hasResult !== true) await this.catchUp(job)
    const bytes = (await this.#log.find(job, submission)?.read(null)) ?? null
    return bytes === null ? null : { value: decodeValue(bytes) }
  }

  /** Fetches outputs that other nodes have and this node lacks: of one job, or of all. */
  async catchUp(job: string | null = null): Promise<void> {
    const { nodes, self } = this.#options
    await Promise.all(
      nodes.filter((node) => node !== self).map((node) => this.#catchUpFrom(node, job).catch(() => {})),
    )
  }

  /** Answers a request of another node's sink. */
  async handle(request: SinkRequest): Promise<unknown> {
    switch (request.sink) {
      case 'accept':
        return SUBMISSION_FORM.test(request.entry.submission) ? this.#log.accept(request.entry) : 'fenced'
      case 'summaries':
        return this.#log.summaries()
      case 'numbers':
        return this.#log.find(request.job, request.submission)?.seqs ?? []
      case 'fetch':
        return this.#select(request.job, request.submission, request.seqs)
      default:
        return request satisfies never
    }
  }

  /** Deletes the outputs of a job that the group has forgotten. */
  forget(job: string): Promise<void> {
    return this.#log.forget(job)
  }

  close(): Promise<void> {
    return this.#log.close()
  }

  async #select(job: string, submission: string, seqs: readonly number[]): Promise<Fetched> {
    const log = this.#log.find(job, submission)
    const outputs: (readonly [number, Uint8Array])[] = []
    let bytes = 0
    for (const seq of seqs) {
      // oxlint-disable-next-line no-await-in-loop -- stops at the limit
      const value = (await log?.read(seq)) ?? null
      if (value === null) continue
      bytes += value.length
      if (bytes > MOST_FETCHED && outputs.length > 0) break
      outputs.push([seq, value])
    }
    // Alone: together with outputs it might not fit into a message.
    const result = seqs.length === 0 ? ((await log?.read(null)) ?? null) : null
    return { token: log?.token ?? 0, outputs, result }
  }

  async #offer(node: NodeId, entry: LogEntry, signal?: AbortSignal): Promise<Acceptance> {
    return (await this.#ask(node, { sink: 'accept', entry }, signal)) as Acceptance
  }

  async #catchUpFrom(node: NodeId, wanted: string | null): Promise<void> {
    const summaries = (await this.#ask(node, { sink: 'summaries' })) as readonly LogSummary[]
    for (const { job, submission, outputs, numbers, hasResult } of summaries) {
      if (wanted !== null && job !== wanted) continue
      const own = this.#log.find(job, submission)
      const hasAll = own !== null && own.size === outputs && own.numbers === numbers
      const isComplete = hasAll && (own.hasResult || !hasResult)
      // oxlint-disable-next-line no-await-in-loop -- one job at a time leaves the disk to the jobs that run
      if (!isComplete) await this.#fetchFrom(node, job, submission)
    }
  }

  async #fetchFrom(node: NodeId, job: string, submission: string): Promise<void> {
    const numbers = (await this.#ask(node, { sink: 'numbers', job, submission })) as readonly number[]
    let missing = numbers.filter((seq) => this.#log.find(job, submission)?.has(seq) !== true)
    while (missing.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- the next part depends on this one
      const { token, outputs } = await this.#fetch(node, job, submission, missing)
      // oxlint-disable-next-line no-await-in-loop -- outputs in the order of their numbers
      for (const [seq, value] of outputs) await this.#log.accept({ job, submission, seq, token, value })
      const done = new Set(outputs.map(([seq]) => seq))
      missing = outputs.length === 0 ? [] : missing.filter((seq) => !done.has(seq))
    }
    // The result after all outputs.
    const { token, result } = await this.#fetch(node, job, submission, [])
    if (result !== null) await this.#log.accept({ job, submission, seq: null, token, value: result })
  }

  /** Without numbers: the result. */
  async #fetch(node: NodeId, job: string, submission: string, seqs: readonly number[]): Promise<Fetched> {
    const fetched = (await this.#ask(node, { sink: 'fetch', job, submission, seqs })) as Fetched
    // Outputs come from committed checkpoints, so those of an earlier run count, too.
    const token = Math.max(fetched.token, this.#log.find(job, submission)?.token ?? 0)
    return { ...fetched, token }
  }

  async #ask(node: NodeId, request: SinkRequest, signal?: AbortSignal): Promise<unknown> {
    const timeout = AbortSignal.timeout(CALL_MS)
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    return decodeValue(await this.#options.peers.call(node, encodeValue(request, 'request'), either))
  }
}
