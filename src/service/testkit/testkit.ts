/**
 * Nodes in a simulated world, for tests of code that runs as the leader: no sockets, no waiting, deterministic.
 *
 * The protocol, the terms and `lead` are those of the library; only the election backend is simulated. Time stands still
 * until `advance`. Pending promises are resolved between any two simulated events.
 */
import { type Micros, type NodeId, type PlainObject, present } from '../../core/index.ts'
import { catalogue, DEFAULT_PROTOCOL, type GroupSpec, peerHosting } from '../../protocols/index.ts'
import { parseScenario, type ScenarioEvent, type Span, World } from '../../workbench/sim/index.ts'
import type { Observation, TraceRecord } from '../../workbench/trace/index.ts'
import { type WorkOptions, workSettings } from '../config/join-options.ts'
import { checkWorkOptions } from '../config/join-schema.ts'
import { checkFunction, parseMilliseconds, parseSignal, type SignalOption } from '../node/api/arguments.ts'
import { InvalidArgumentError } from '../node/api/errors.ts'
import { type ConclaveNode, openNode } from '../node/api/node.ts'
import type { LeaseTiming } from '../node/election/lease-timing.ts'
import type { Timers } from '../node/election/timers.ts'
import { SimulatedElection, type Traffic } from './in-simulation.ts'

export type TestkitOptions = {
  readonly nodes: readonly string[]
  readonly group?: string
  readonly mode?: 'local' | 'majority'
  /** Further protocol options, the same for all nodes: profile, sigmaMs, observers, ... */
  readonly options?: PlainObject
  /** Message delay. Default: from 0.2 to 2 ms. */
  readonly delayMs?: Span
  /** Probability that a message is lost. Default: 0. */
  readonly loss?: number
  /** Seed of the random choices. Default: 1. */
  readonly seed?: number
}

export type TestkitJoinOptions = WorkOptions & { readonly priority?: number }

/** The test has crashed this node. */
export class NodeCrashedError extends Error {
  override readonly name = 'NodeCrashedError'
  readonly code = 'ERR_CONCLAVE_NODE_CRASHED'

  constructor(id: string) {
    super(`${id} has crashed: join it again to restart it`)
  }
}

/** `node`: the owner; the timer does not fire while that node is paused. */
type VirtualTimer = {
  readonly at: Micros
  readonly number: number
  readonly node: string | null
  readonly run: () => void
}

/** Captured before a test installs fake timers. */
const nextTurn = setImmediate

/** Default limit of `until`. */
const MAX_WAIT_MS = 60_000

/** Creates a world with these nodes. A node runs after it has joined. */
export function testkit(options: TestkitOptions): Testkit {
  return new Testkit(options)
}

export class Testkit {
  readonly #group: string
  readonly #mode: 'local' | 'majority'
  readonly #nodes: readonly string[]
  readonly #options: PlainObject
  readonly #spec: GroupSpec
  readonly #lease: LeaseTiming
  readonly #world: World
  readonly #elections = new Map<NodeId, SimulatedElection>()
  readonly #traffic: ReadonlyMap<NodeId, Traffic>
  #timers: VirtualTimer[] = []
  /** End of the pause of each node. */
  readonly #pausedUntil = new Map<string, Micros>()
  #timerCount = 0
  #now: Micros = 0
  #isAdvancing = false
  /** Whether a listener was called since the last turn of the event loop. */
  #hasActivity = false

  constructor(given: TestkitOptions) {
    checkNodes((given as Partial<TestkitOptions> | undefined)?.nodes)
    const { nodes, group = 'test', mode = 'majority', options = {}, ...world } = given
    this.#group = group
    this.#mode = mode
    this.#nodes = [...nodes].sort()
    this.#options = options
    const { delayMs = [0.2, 2], loss = 0, seed = 1 } = world
    const scenario = parseScenario(
      {
        protocol: DEFAULT_PROTOCOL,
        nodes: this.#nodes,
        options: { sticky: true, ...options, mode, yieldWhenTold: true },
        network: { delayMs, loss },
        seed,
        untilMs: 1,
      },
      catalogue,
    )
    this.#spec = { protocol: DEFAULT_PROTOCOL, nodes: this.#nodes, options: scenario.options }
    const { lease, margin } = peerHosting(DEFAULT_PROTOCOL).leaseLength(scenario.options, this.#nodes)
    this.#lease = { lengthMs: lease / 1000, marginMs: margin / 1000 }
    const definition = present(catalogue.find(DEFAULT_PROTOCOL), DEFAULT_PROTOCOL)
    this.#traffic = new Map(this.#nodes.map((id) => [id, { sent: 0, received: 0, heard: new Map() }]))
    const hooks = {
      observe: (seen: Observation) => this.#observe(seen),
      record: (record: TraceRecord) => this.#record(record),
    }
    this.#world = new World(definition, scenario, hooks, false)
    for (const id of this.#nodes) this.#applyEvent({ crash: id })
  }

  /** The simulated time. */
  get nowMs(): number {
    return this.#now / 1000
  }

  /** The nodes that lead now. More than one only in local mode. */
  get leaders(): readonly string[] {
    return this.#nodes.filter(
      (id) => this.#elections.has(id) && this.#world.status(id)?.view.role === 'leader',
    )
  }

  /** Starts a node, or restarts it after a crash. */
  async join(id: string, { priority = 0, ...options }: TestkitJoinOptions = {}): Promise<ConclaveNode> {
    checkWorkOptions(options)
    const work = workSettings(options)
    this.#checkId(id)
    if (this.#elections.has(id)) throw new Error(`${id} has already joined: crash or close it first`)
    const timers: Timers = { after: (ms, run) => this.#setTimer(ms, run, id) }
    const settings = {
      group: this.#group,
      id,
      mode: this.#mode,
      lease: this.#lease,
      work,
      timers,
      role: this.#roleOf(id),
    }
    const node = await openNode(settings, async (hooks) => {
      const traffic = this.#traffic.get(id) as Traffic
      const election = new SimulatedElection(this.#world, id, this.#spec, () => this.#now, traffic, hooks)
      this.#elections.set(id, election)
      this.#applyEvent({ recover: id })
      await election.command({ do: 'campaign', willing: false, lapse: false })
      return election
    })
    if (priority !== 0) await node.setPriority(priority)
    return node
  }

  /** Advances the simulated time, and runs everything that is due. */
  async advance(ms: number): Promise<void> {
    checkDuration('ms', ms)
    if (this.#isAdvancing) throw new Error('another advance() is running: await it first')
    this.#isAdvancing = true
    try {
      const end = this.#now + Math.round(ms * 1000)
      await runMicrotasks()
      while (this.#next() <= end) {
        this.#step(this.#next())
        // oxlint-disable-next-line no-await-in-loop -- one moment after the other
        if (this.#hasActivity) await runMicrotasks()
        this.#hasActivity = false
      }
      this.#world.run(end)
      this.#now = end
      await runMicrotasks()
    } finally {
      this.#isAdvancing = false
    }
  }

  /** Advances the time until the condition holds. Throws if it does not hold within `withinMs`. */
  async until(condition: () => boolean, withinMs = MAX_WAIT_MS): Promise<void> {
    checkFunction('condition', condition)
    checkDuration('withinMs', withinMs)
    const end = this.nowMs + withinMs
    await this.advance(0)
    while (!condition()) {
      if (this.nowMs >= end) throw new Error(`the condition does not hold after ${withinMs} simulated ms`)
      // oxlint-disable-next-line no-await-in-loop -- a little at a time
      await this.advance(1)
    }
  }

  /** Waits in simulated time. Rejects with the signal's reason when the signal is aborted. */
  async sleep(ms: number, options?: SignalOption): Promise<void> {
    checkDuration('ms', ms)
    const signal = parseSignal(options)
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = this.#setTimer(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      if (signal?.aborted === true) onAbort()
      else signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Crashes a node. Its term ends, so that code under test can return; a real crash would end it without notice. */
  crash(id: string): void {
    this.#applyEvent({ crash: this.#checkId(id) })
  }

  /** Pauses a node while its clock continues: it sends, receives and reports nothing. */
  pause(id: string, ms: number): void {
    checkDuration('ms', ms)
    this.#applyEvent({ pause: this.#checkId(id), forMs: ms })
    this.#postponeTimers(id, ms)
  }

  /** Suspends the host of a node: its clock stops as well. */
  suspend(id: string, ms: number): void {
    checkDuration('ms', ms)
    this.#applyEvent({ suspend: this.#checkId(id), forMs: ms })
    this.#postponeTimers(id, ms)
  }

  /** Partitions the nodes into blocks. Nodes that are in no block form another one. */
  partition(...blocks: readonly (readonly string[])[]): void {
    this.#applyEvent({ partition: blocks.map((block) => block.map((id) => this.#checkId(id))) })
  }

  /** Cuts the link between two nodes in both directions. */
  cut(one: string, other: string): void {
    this.#applyEvent({ cut: [[this.#checkId(one), this.#checkId(other)]] })
  }

  heal(): void {
    this.#applyEvent({ heal: 'all' })
  }

  /** Sets the probability that a message is lost. */
  lose(probability: number): void {
    if (!(typeof probability === 'number' && probability >= 0 && probability <= 1))
      throw new InvalidArgumentError('probability', `${String(probability)} must be a number from 0 to 1`)
    this.#applyEvent({ loss: probability })
  }

  #roleOf(id: string): 'observer' | 'witness' | null {
    const { observers, witnesses } = this.#options
    const isIn = (list: unknown): boolean => Array.isArray(list) && list.includes(id)
    return isIn(observers) ? 'observer' : isIn(witnesses) ? 'witness' : null
  }

  #checkId(id: string): string {
    if (this.#nodes.includes(id)) return id
    throw new Error(`unknown node ${JSON.stringify(id)}; the nodes are ${this.#nodes.join(', ')}`)
  }

  #applyEvent(event: WithoutTime<ScenarioEvent>): void {
    this.#world.applyEvent({ ...event, atMs: this.nowMs })
  }

  #postponeTimers(id: string, ms: number): void {
    const until = this.#now + Math.round(ms * 1000)
    this.#pausedUntil.set(id, Math.max(until, this.#pausedUntil.get(id) ?? 0))
    for (const timer of this.#timers.filter(({ node, at }) => node === id && at < until))
      this.#insertTimer({ ...timer, at: until })
  }

  #next(): Micros {
    return Math.min(this.#world.nextAt, this.#timers[0]?.at ?? Number.POSITIVE_INFINITY)
  }

  #step(at: Micros): void {
    this.#now = at
    this.#world.run(at)
    const due = this.#timers.filter((timer) => timer.at <= at)
    this.#timers = this.#timers.filter((timer) => timer.at > at)
    for (const { run } of due) run()
    if (due.length > 0) this.#hasActivity = true
  }

  #setTimer(ms: number, run: () => void, node: string | null = null): () => void {
    this.#timerCount += 1
    const number = this.#timerCount
    const resumesAt = node === null ? 0 : (this.#pausedUntil.get(node) ?? 0)
    this.#insertTimer({ at: Math.max(this.#now + Math.round(ms * 1000), resumesAt), number, node, run })
    return () => {
      this.#timers = this.#timers.filter((timer) => timer.number !== number)
    }
  }

  /** Inserts a timer in order, and replaces the timer with the same number. */
  #insertTimer(timer: VirtualTimer): void {
    const others = this.#timers.filter(({ number }) => number !== timer.number)
    this.#timers = [...others, timer].sort((a, b) => a.at - b.at || a.number - b.number)
  }

  #observe(seen: Observation): void {
    if (seen.type === 'output') {
      this.#hasActivity = true
      this.#elections.get(seen.node)?.handleOutput(seen.event)
    } else if (seen.type === 'down') {
      this.#hasActivity = true
      this.#elections.get(seen.node)?.handleCrash(new NodeCrashedError(String(seen.node)))
      this.#elections.delete(seen.node)
    }
  }

  #record(record: TraceRecord): void {
    if (record.type !== 'step') return
    const traffic = this.#traffic.get(record.node)
    if (traffic === undefined) return
    traffic.sent += record.sent.length
    if (record.input.type !== 'message') return
    traffic.received += 1
    traffic.heard.set(record.input.from, record.at)
  }
}

/** Upper limit, so that microseconds stay exact integers. */
const MAX_DURATION_MS = 1e12

function checkDuration(field: string, ms: number): void {
  if (parseMilliseconds(field, ms) > MAX_DURATION_MS)
    throw new InvalidArgumentError(field, `${ms} must be at most ${MAX_DURATION_MS} milliseconds`)
}

function checkNodes(nodes: unknown): void {
  const isList = Array.isArray(nodes) && nodes.length > 0
  if (!isList || !nodes.every((id) => typeof id === 'string' && id !== ''))
    throw new InvalidArgumentError(
      'nodes',
      'must be a list of ids, at least one, as in { nodes: ["a", "b", "c"] }',
    )
  const twice = nodes.find((id, index) => nodes.indexOf(id) !== index) as string | undefined
  if (twice !== undefined) throw new InvalidArgumentError('nodes', `${JSON.stringify(twice)} is listed twice`)
}

/** An event without its time: it happens now. */
type WithoutTime<E> = E extends unknown ? Omit<E, 'atMs'> : never

/** Lets all pending promises settle. */
function runMicrotasks(): Promise<void> {
  return new Promise((resolve) => void nextTurn(resolve))
}
