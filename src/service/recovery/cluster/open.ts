/** `openCluster`: starts the protocol, the data transport and the stores of a node, and connects them. */
import { type EventEmitter, setMaxListeners } from 'node:events'
import { join } from 'node:path'
import type { NodeId } from '../../../core/index.ts'
import type { CheckpointId, ManagerOutput } from '../../../recovery/manager/types.ts'
import { InvalidOptionsError } from '../../node/index.ts'
import { showAddress } from '../../runtime/index.ts'
import { Checkpoints } from '../checkpoints/index.ts'
import { ReplicatedSink } from '../sink/index.ts'
import { type ColumnStore, openDiskStore } from '../store/index.ts'
import { ColumnClient, ColumnOffers, ColumnServer } from '../transport/index.ts'
import { Cluster, type ClusterEvents } from './cluster.ts'
import { ColumnCare } from './column-care.ts'
import { DataPort } from './data-port.ts'
import { JobFunctions } from './functions.ts'
import { Host } from './host.ts'
import { type ManagerLink, openManagerLink } from './manager-link.ts'
import { type ClusterOptions, type ClusterSettings, clusterSettings } from './options.ts'
import { createForgetter, followViews } from './upkeep.ts'
import { Watch } from './watch.ts'

/** What a cluster is made of. */
export type ClusterParts = {
  readonly settings: ClusterSettings
  readonly manager: ManagerLink
  readonly host: Host
  readonly functions: JobFunctions
  readonly outputs: ReplicatedSink
  readonly watch: Watch
  /** For how long the threads of module jobs on this node have not answered, by job. */
  readonly stalls: ReadonlyMap<string, number>
  /** Aborted when the node closes. */
  readonly signal: AbortSignal
  /** Sends a request to another node. */
  call(node: NodeId, body: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  close(): Promise<void>
}

/**
 * Opens a node of a cluster. Resolves when the node listens and takes part. It runs jobs once it is in a view with a
 * majority of all nodes. Rejects with InvalidOptionsError. `signal` aborts opening, and later closes the node.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const settings = clusterSettings(options)
  const { signal } = options
  signal?.throwIfAborted()
  const opening = new Opening(settings)
  const cluster = await opening.open().catch(async (error: unknown) => {
    await opening.close()
    throw error
  })
  if (signal === undefined) return cluster
  signal.addEventListener('abort', () => void cluster.close(), { once: true })
  if (signal.aborted) {
    await cluster.close()
    signal.throwIfAborted()
  }
  return cluster
}

class Opening {
  readonly #settings: ClusterSettings
  readonly #watch = new Watch()
  readonly #closing = new AbortController()
  readonly #stalls = new Map<string, number>()
  /** How to close what is open, in the order of opening. */
  readonly #opened: (() => Promise<void> | void)[] = []
  /** Warnings from before there is a cluster, which has listeners once it was returned. */
  #warnings: { readonly what: string; readonly detail: string }[] = []
  /** Outputs of the protocol before there is a host. */
  #early: ManagerOutput[] = []
  #host: Host | null = null
  #cluster: Cluster | null = null

  constructor(settings: ClusterSettings) {
    this.#settings = settings
    // Every request to another node listens to it.
    setMaxListeners(0, this.#closing.signal)
  }

  async open(): Promise<Cluster> {
    const { election, slots } = this.#settings
    const { id: self, group, nodes, data } = election
    const store = await this.#openStore()
    const stored = (await store.list()).map(({ key }) => key.id)
    const offers = new ColumnOffers()
    const client = this.#openClient(offers)
    const server = await this.#listen(offers, client)
    const token = (): number => manager.look().token ?? manager.look().fence
    const call: ClusterParts['call'] = (node, body, signal) =>
      client.call(node, { group, token: token() }, body, signal)
    const peers = {
      call: (node: NodeId, body: Uint8Array, signal?: AbortSignal) =>
        call(node, body, signal ?? this.#closing.signal),
    }
    const warn = (detail: string): void => this.#warn('outputs', detail)
    const outputs = await ReplicatedSink.open({ self, nodes, folder: join(data, 'outputs'), peers, warn })
    this.#opened.push(() => outputs.close())
    const { manager, failed } = await this.#openManager()
    const port = new DataPort({
      nodes,
      manager,
      store,
      outputs,
      progressOf: (job) => this.#host?.progressOf(job) ?? null,
      waitUntil: async (isSo, ms) => {
        await this.#watch.until(isSo, AbortSignal.timeout(ms)).catch(() => {})
      },
      warn: this.#warn,
    })
    const recordStored = port.recordStored.bind(port)
    const checkpoints = new Checkpoints({ self, group, store, client, getToken: token, recordStored })
    const care = new ColumnCare({
      self,
      store,
      manager,
      port,
      call,
      signal: this.#closing.signal,
      warn: this.#warn,
    })
    const functions = this.#createFunctions()
    const host = this.#createHost({ manager, checkpoints, stored, functions, outputs, care })
    const answer = port.answer.bind(port)
    this.#opened.push(server.serve(group, { store, gate: port, answer }))
    const { signal } = this.#closing
    const watch = this.#watch
    const close = (): Promise<void> => this.close()
    const settings = this.#settings
    const stalls = this.#stalls
    const parts = { settings, manager, host, functions, outputs, watch, stalls, signal, call, close }
    const cluster = new Cluster(parts, failed)
    this.#cluster = cluster
    this.#host = host
    for (const output of this.#early) host.receive(output)
    this.#early = []
    void followViews(cluster, this.#watch, this.#closing.signal, (view) => {
      this.#emit('view', view)
      if (view.token !== null) void outputs.catchUp()
    })
    await manager.command({ do: 'slots', slots })
    care.scrubEvery(settings.scrubIntervalMs)
    setImmediate(() => {
      for (const warning of this.#warnings.splice(0)) this.#emit('warning', warning)
    })
    return cluster
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('this node is closed'))
    this.#watch.close()
    for (const close of this.#opened.splice(0).reverse()) {
      // oxlint-disable-next-line no-await-in-loop -- a part may use the parts that were opened before it
      await close()
    }
  }

  /** Later: what a listener throws must not reach the protocol or a job. */
  #emit<E extends keyof ClusterEvents>(event: E, ...values: ClusterEvents[E]): void {
    const cluster: EventEmitter | null = this.#cluster
    if (cluster !== null) queueMicrotask(() => cluster.emit(event, ...values))
  }

  readonly #warn = (what: string, detail: string): void => {
    if (this.#cluster === null) this.#warnings.push({ what, detail })
    else this.#emit('warning', { what, detail })
  }

  async #openStore(): Promise<ColumnStore> {
    const { store: given, sink, election } = this.#settings
    if (sink !== null) this.#opened.push(() => sink.close())
    const store = given ?? (await openDiskStore({ folder: join(election.data, 'columns') }))
    this.#opened.push(() => store.close())
    return store
  }

  #openClient(offers: ColumnOffers): ColumnClient {
    const { id: self, keys, secrecy, peers } = this.#settings.election
    const addresses = new Map(peers.map(({ id, address }) => [id as NodeId, address]))
    const addressOf = (node: NodeId) => addresses.get(node) ?? null
    const client = new ColumnClient({ self, keys, isSecret: secrecy, addressOf, offers })
    this.#opened.push(() => client.close())
    return client
  }

  /** At the TCP port with the number of the UDP port. */
  async #listen(offers: ColumnOffers, client: ColumnClient): Promise<ColumnServer> {
    const { id: self, keys, secrecy, listen } = this.#settings.election
    const onProblem = (error: unknown): void => this.#warn('transport', (error as Error).message)
    try {
      const server = await ColumnServer.listen({
        self,
        ...listen,
        keys,
        isSecret: secrecy,
        offers,
        fetch: client.fetchOffered.bind(client),
        onProblem,
      })
      this.#opened.push(() => server.close())
      return server
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const why = code === 'EADDRINUSE' ? 'another process uses the port' : message
      throw new InvalidOptionsError(
        'listen',
        `cannot listen at ${showAddress(listen)} (TCP): ${why}; choose another`,
      )
    }
  }

  async #openManager(): Promise<{ readonly manager: ManagerLink; readonly failed: Promise<Error> }> {
    let fail: (error: Error) => void = () => {}
    const failed = new Promise<Error>((resolve) => {
      fail = resolve
    })
    const manager = await openManagerLink(this.#settings.election, {
      output: (output) => {
        if (this.#host === null) this.#early.push(output)
        else this.#host.receive(output)
      },
      stepped: () => this.#watch.notify(),
      warn: this.#warn,
      failed: (error) => {
        if (!this.#closing.signal.aborted) fail(error)
        void this.#cluster?.close()
      },
    })
    this.#opened.push(() => manager.close())
    return { manager, failed }
  }

  #createFunctions(): JobFunctions {
    const { election, stallMs } = this.#settings
    return new JobFunctions({
      self: election.id,
      stallMs,
      stalled: (job, forMs) => {
        if (forMs === null) this.#stalls.delete(job)
        else this.#stalls.set(job, forMs)
        if (forMs !== null) this.#warn('stall', `the thread of job "${job}" has not answered for ${forMs} ms`)
      },
    })
  }

  #createHost(parts: {
    readonly manager: ManagerLink
    readonly checkpoints: Checkpoints
    readonly stored: readonly CheckpointId[]
    readonly functions: JobFunctions
    readonly outputs: ReplicatedSink
    readonly care: ColumnCare
  }): Host {
    const { manager, checkpoints, stored, functions, outputs, care } = parts
    const { sink, maxCheckpointBytes } = this.#settings
    const forget = createForgetter(manager, outputs)
    const host = new Host({
      manager,
      checkpoints,
      stored,
      execute: (definition, context, encoded) => functions.execute(definition, context, encoded),
      delivery: {
        output: (entry, signal) => (sink ?? outputs).accept(entry, signal),
        result: (entry, signal) => outputs.acceptEncoded({ ...entry, seq: null }, signal),
      },
      events: {
        changed: () => {
          forget()
          this.#emit('jobs')
        },
        step: (step, token) => this.#emit('step', { step, token }),
        progressed: (job, progress) => this.#emit('progress', { job, ...progress }),
        log: (job, text) => this.#emit('log', { job, text }),
        suspect: (commit, bad) => care.report(commit, bad),
        warn: this.#warn,
      },
      maxCheckpointBytes,
    })
    this.#opened.push(() => host.close())
    return host
  }
}
