/**
 * A process's place in a group: join it, lead it when it is one's turn, watch who leads.
 *
 * The election runs by itself from the moment of joining. Leadership and work are kept apart: `lead` calls the
 * application once for each term, one term at a time, and gives the lead back only when that call has ended. A node
 * on which nobody calls `lead` votes and watches, but is never elected.
 */
import { EventEmitter } from 'node:events'
import { type Definition, type NodeId, type Output, present, type View } from '../core/index.ts'
import { insightOf, protocolNamed } from '../protocols/index.ts'
import {
  type DropReason,
  Loop,
  memoryStorage,
  type NetworkFaults,
  openHostClock,
  openStorage,
  type Storage,
  sealer,
  Udp,
} from '../runtime/index.ts'
import { addressOf, peerOf } from './address.ts'
import { BadJoin, LeadershipLost, NodeClosed } from './errors.ts'
import { HeldTerm, type Term } from './term.ts'

export type JoinOptions = {
  readonly group: string
  readonly id: string
  /** Where this process listens, HOST:PORT. */
  readonly listen: string
  /** All others, each as ID=HOST:PORT. */
  readonly peers: readonly string[]
  /** The cluster's key, or several: the first seals, all open. */
  readonly key: Uint8Array | readonly Uint8Array[]
  /** Encrypts as well as authenticates. */
  readonly secrecy?: boolean
  /** The folder of what must survive a crash. Without one, a restarted process must come back under another id. */
  readonly data?: string
  readonly mode?: 'local' | 'majority'
  readonly profile?: 'lan' | 'region' | 'wan'
  /** Whether a leader is deposed only by a higher priority; true unless told otherwise. */
  readonly sticky?: boolean
  readonly priority?: number
  /** Anything else that the protocol may be told. */
  readonly options?: { readonly [name: string]: unknown }
  readonly signal?: AbortSignal
}

export type NodeView = {
  readonly role: View['role']
  readonly leader: { readonly id: NodeId; readonly token: number | null } | null
  readonly members: readonly NodeId[] | null
}

/** What an operator wants to know, as this process sees it at one moment. */
export type MemberStatus = NodeView & {
  readonly mode: 'local' | 'majority'
  /**
   * How long whoever leads goes on leading unless it renews; null when nobody is known to lead. Sure on the leader
   * itself; elsewhere counted from when this process was told, which is up to Δ too long.
   */
  readonly leaseMs: number | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** All of the group, in order, this process too. */
  readonly nodes: readonly NodeStatus[]
  /** Null when it takes part; otherwise why not. */
  readonly idle: 'closed' | 'silent after a restart' | null
  readonly datagrams: { readonly sent: number; readonly received: number; readonly dropped: number }
}

export type NodeStatus = {
  readonly id: NodeId
  /** Whether it is heard in time, so that it counts. */
  readonly there: boolean
  /** How long ago it was last heard at all; 0 for this process itself, null when it never was. */
  readonly heardMsAgo: number | null
}

type Events = {
  elected: [{ readonly token: number | null; readonly cause: string }]
  revoked: [{ readonly token: number | null; readonly reason: string }]
  change: [NodeView]
  /** Something that the operator should know: another configuration, a full disk, datagrams of strangers. */
  warning: [{ readonly what: string; readonly detail: string }]
}

export type LeadOptions = {
  readonly signal?: AbortSignal /** One term is enough. */
  readonly once?: boolean
}

/** How long closing waits for the work of the term to end. */
const LONGEST_FAREWELL_MS = 5000

export class Member extends EventEmitter<Events> implements AsyncDisposable {
  readonly group: string
  readonly id: NodeId
  readonly mode: 'local' | 'majority'
  readonly #nodes: readonly NodeId[]
  readonly #heard: ReadonlyMap<NodeId, number>
  readonly #loop: Loop
  readonly #udp: Udp
  readonly #storage: Storage
  readonly #closeClock: () => void
  #term: HeldTerm | null = null
  #seen: NodeView = { role: 'follower', leader: null, members: null }
  #closed: Promise<void> | null = null
  #isBusy = false
  /** What the application does in the present term; kept once it has ended, however it did. */
  #work: Promise<void> | null = null

  /** Made by `join`. */
  constructor(
    group: string,
    id: NodeId,
    parts: {
      readonly loop: Loop
      readonly udp: Udp
      readonly storage: Storage
      readonly closeClock: () => void
      readonly mode: 'local' | 'majority'
      /** All of the group, in order. */
      readonly nodes: readonly NodeId[]
      /** When each was last heard, as `performance.now()` has it; kept by whoever receives. */
      readonly heard: ReadonlyMap<NodeId, number>
    },
  ) {
    super()
    this.group = group
    this.id = id
    this.#loop = parts.loop
    this.#udp = parts.udp
    this.#storage = parts.storage
    this.#closeClock = parts.closeClock
    this.mode = parts.mode
    this.#nodes = parts.nodes
    this.#heard = parts.heard
  }

  get isClosed(): boolean {
    return this.#closed !== null
  }

  /** Who leads, as this process sees it at this moment. */
  view(): NodeView {
    return seenOf(this.#loop.view())
  }

  /** The same with what an operator wants to know besides. */
  status(): MemberStatus {
    const clock = this.#loop.now()
    const { leadUntil, voters, heard, silentUntil } = this.#loop.inspect((state, now) =>
      insightOf(state, this.#nodes, now),
    )
    const now = performance.now()
    const nodes = this.#nodes.map((id): NodeStatus => {
      if (id === this.id) return { id, there: !this.isClosed, heardMsAgo: 0 }
      const at = this.#heard.get(id)
      return { id, there: heard.includes(id), heardMsAgo: at === undefined ? null : Math.max(0, now - at) }
    })
    const view = this.view()
    const isLed = view.leader !== null && leadUntil !== null
    return {
      ...view,
      leader: isLed ? view.leader : null,
      mode: this.mode,
      leaseMs: isLed ? Math.max(0, (leadUntil - clock) / 1000) : null,
      voters,
      nodes,
      idle: this.isClosed ? 'closed' : silentUntil === null ? null : 'silent after a restart',
      datagrams: { ...this.#udp.counts },
    }
  }

  /**
   * Calls `work` in every term of this process, one after the other, until the signal or the node ends it. When `work`
   * returns while the term lasts, the lead is handed over. When it throws, so does this.
   */
  async lead(
    work: (term: Term) => void | Promise<void>,
    { signal, once = false }: LeadOptions = {},
  ): Promise<void> {
    if (this.#isBusy) throw new Error('this node leads already: one `lead` at a time')
    this.#isBusy = true
    this.#loop.command({ do: 'campaign', willing: true })
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        const term = await this.#nextTerm(signal)
        if (term === null) return
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        await this.#during(term, work)
        if (once) return
      }
    } finally {
      this.#isBusy = false
      this.#loop.command({ do: 'campaign', willing: false })
    }
  }

  /**
   * Hands the lead over, if this process has it: the term's signal is aborted, its work ends, and only then may another
   * begin. Until the work has ended this process goes on leading; what is waited for is bounded by `signal`.
   */
  async stepDown({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const term = this.#term
    if (term === null) return
    term.end('stepped down')
    if (this.#work !== null) await endOrAbort(this.#work, signal)
    if (this.#work === null && this.#term === term) this.#loop.command({ do: 'stepDown' })
  }

  /** Every change of who leads, beginning with how it is. */
  async *observe({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<NodeView, void, void> {
    const waiting: NodeView[] = [this.view()]
    let wake: () => void = () => {}
    const onChange = (view: NodeView): void => {
      waiting.push(view)
      wake()
    }
    const onAbort = (): void => wake()
    this.on('change', onChange)
    signal?.addEventListener('abort', onAbort)
    try {
      for (;;) {
        while (waiting.length > 0) yield waiting.shift() as NodeView
        if (signal?.aborted === true || this.isClosed) return
        // oxlint-disable-next-line no-await-in-loop -- until there is something to tell
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      this.off('change', onChange)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Hands over if it leads, and leaves. */
  close(): Promise<void> {
    this.#closed ??= this.#leave()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Spoils what this process hears of its peers, for trying a group out: only code in this process can ask for it. */
  spoil(faults: NetworkFaults): void {
    this.#udp.network.set(faults)
  }

  /** What the protocol puts out. */
  heed(event: Output): void {
    const token = typeof event['token'] === 'number' ? event['token'] : null
    const cause = typeof event['cause'] === 'string' ? event['cause'] : ''
    switch (event.type) {
      case 'elected':
        this.#term = new HeldTerm(token, () => {
          const { role, until, token: current } = this.#loop.view()
          return { until: role === 'leader' ? until : null, now: this.#loop.now(), token: current }
        })
        this.#tell('elected', { token, cause })
        break
      case 'demoted':
        this.#term?.end(cause)
        this.#term = null
        this.#tell('revoked', { token, reason: cause })
        break
      case 'mismatch':
        this.warn(
          'mismatch',
          `${JSON.stringify(event['peer'])} is configured differently: ${JSON.stringify(event['field'])} is ` +
            `${JSON.stringify(event['theirs'])} there and ${JSON.stringify(event['ours'])} here`,
        )
        break
      default:
    }
    queueMicrotask(() => this.#look())
  }

  warn(what: string, detail: string): void {
    this.#tell('warning', { what, detail })
  }

  /** The node cannot go on. */
  fail(error: Error): void {
    this.#term?.end(error.message)
    this.warn('stopped', error.message)
    void this.close()
  }

  async #during(term: HeldTerm, work: (term: Term) => void | Promise<void>): Promise<void> {
    const ended = (async () => work(term))()
    this.#work = ended.then(
      () => this.#workEnded(),
      () => this.#workEnded(),
    )
    try {
      await ended
    } catch (error) {
      // The end of the term is how work is told to stop: passing that on is no failure.
      const isToldSo = error instanceof LeadershipLost || (term.signal.aborted && isAbort(error, term.signal))
      if (!isToldSo) throw error
    } finally {
      await this.#work
      if (this.#term === term) await this.stepDown()
    }
  }

  #workEnded(): void {
    this.#work = null
  }

  /** The term that is under way or comes next; null when there will be none. */
  #nextTerm(signal: AbortSignal | undefined): Promise<HeldTerm | null> {
    const held = this.#term
    if (signal?.aborted === true || this.isClosed) return Promise.resolve(null)
    if (held !== null && held.remaining() > 0) return Promise.resolve(held)
    return new Promise((resolve) => {
      const done = (term: HeldTerm | null): void => {
        this.off('elected', onElected)
        this.off('change', onChange)
        signal?.removeEventListener('abort', onAbort)
        resolve(term)
      }
      const onElected = (): void => {
        if (this.#term !== null) done(this.#term)
      }
      const onAbort = (): void => done(null)
      const onChange = (): void => {
        if (this.isClosed) done(null)
      }
      this.on('elected', onElected)
      this.on('change', onChange)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Listeners have their turn after the step that they hear of: nothing that they do can come between its effects. */
  #tell<E extends keyof Events>(event: E, ...news: Events[E]): void {
    queueMicrotask(() => this.emit(event, ...(news as never)))
  }

  #look(): void {
    const next = seenOf(this.#loop.view())
    const { leader, role } = this.#seen
    if (next.role === role && next.leader?.id === leader?.id && next.leader?.token === leader?.token) return
    this.#seen = next
    this.emit('change', next)
  }

  async #leave(): Promise<void> {
    // Work that does not end in time keeps its lease: that lapses by itself, and nobody is let in early.
    await this.stepDown({ signal: AbortSignal.timeout(LONGEST_FAREWELL_MS) })
    this.#loop.stop()
    await this.#udp.close()
    this.#storage.close()
    this.#closeClock()
    this.emit('change', { role: 'follower', leader: null, members: null })
  }
}

function seenOf({ role, leader, token, members }: View): NodeView {
  return { role, leader: leader === null ? null : { id: leader, token }, members }
}

/** Joins a group. The promise is kept once this process listens and takes part; who leads shows later. */
export async function join(options: JoinOptions): Promise<Member> {
  const { group, id, signal } = options
  if (signal?.aborted === true) throw new NodeClosed('joining was given up before it began')
  if (group === '') throw new BadJoin('group', 'is empty: name the group')
  if (id === '') throw new BadJoin('id', 'is empty: name this process')
  const listen = addressOf(options.listen, 'listen')
  const peers = options.peers.map((peer, index) => peerOf(peer, `peers[${index}]`))
  const ids = [id, ...peers.map((peer) => peer.id)].sort()
  const twice = ids.find((each, index) => ids.indexOf(each) !== index)
  if (twice !== undefined) throw new BadJoin('peers', `${twice} is named twice`)
  const definition = present(protocolNamed('local-leader'), 'local-leader')
  const protocol = definition.create({ self: id, nodes: ids }, protocolOptions(definition, ids, options))
  const keys = options.key instanceof Uint8Array ? [options.key] : options.key
  const seal = sealer(keys, options.secrecy ?? false)
  const storage = options.data === undefined ? memoryStorage() : await openStorage(options.data)
  const clock = openHostClock()
  const heard = new Map<NodeId, number>()
  let member: Member | null = null
  let socket: Udp | null = null
  try {
    const udp = await Udp.open(
      { group, self: id, listen, peers, sealer: seal },
      {
        message(from, body) {
          heard.set(from, performance.now())
          loop.message(from, body)
        },
        dropped: (reason: DropReason, count, from, detail) =>
          member?.warn(
            'dropped',
            `${count} datagrams from ${from.host}:${from.port} and others (${reason}: ${detail})`,
          ),
      },
    )
    socket = udp
    const loop = new Loop(protocol, clock, storage, {
      send: (to, body) => udp.send(to, body),
      output: (event) => member?.heed(event),
      trouble: (error) => member?.warn('storage', `${error.message}: no vote was given`),
      failed: (error) => member?.fail(error),
    })
    member = new Member(group, id, {
      loop,
      udp,
      storage,
      closeClock: () => clock.close(),
      mode: options.mode ?? 'majority',
      nodes: ids,
      heard,
    })
    loop.start()
    // Nobody leads who would not do anything with it: that begins with `lead`.
    loop.command({ do: 'campaign', willing: false })
  } catch (error) {
    await socket?.close()
    storage.close()
    clock.close()
    throw error
  }
  const joined = member
  signal?.addEventListener('abort', () => void joined.close(), { once: true })
  return joined
}

function protocolOptions(definition: Definition, ids: readonly NodeId[], options: JoinOptions) {
  const { mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = options
  const given = { ...options.options, mode, profile, sticky, priorities: { [options.id]: priority } }
  const result = definition.options(ids).safeParse(given)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new BadJoin(`options.${issue?.path.join('.') ?? ''}`, issue?.message ?? 'cannot work')
}

/** Resolves when it has ended, or when that is no longer worth waiting for. */
function endOrAbort(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) resolve()
    signal.addEventListener('abort', done)
    void work.then(done)
  })
}

/** The signal's own reason, or what Node's functions make of it. */
function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
}
