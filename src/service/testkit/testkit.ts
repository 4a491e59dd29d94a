/**
 * Members in a virtual world, for tests of one's own step-down code: no sockets, no waiting, the same run every time.
 *
 * The protocol, the terms and the rules of `lead` are those of the library; only the seat is another. Time stands still
 * until `advance`. Between any two moments at which something happens, everything that waits for a promise has its turn.
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
import { type Traffic, SimulatedElection } from './in-simulation.ts'

export type TestkitOptions = {
  readonly nodes: readonly string[]
  readonly group?: string
  readonly mode?: 'local' | 'majority'
  /** Anything else that the protocol may be told, the same for all: profile, sigmaMs, observers, ... */
  readonly options?: PlainObject
  /** How long messages take; from 0.2 to 2 ms unless told otherwise. */
  readonly delayMs?: Span
  /** The probability that a message is lost. */
  readonly loss?: number
  /** Another seed, another run. */
  readonly seed?: number
}

export type TestkitJoinOptions = WorkOptions & { readonly priority?: number }

/** The process of this member is gone, because the test said so. */
export class NodeCrashedError extends Error {
  override readonly name = 'NodeCrashedError'
  readonly code = 'ERR_CONCLAVE_NODE_CRASHED'

  constructor(id: string) {
    super(`${id} has crashed: join it again to restart it`)
  }
}

/** `node`: whose it is; it does not go off while that one stands still. */
type VirtualTimer = {
  readonly at: Micros
  readonly number: number
  readonly node: string | null
  readonly run: () => void
}

/** As they are before anybody replaces them. */
const nextTurn = setImmediate

/** How long `until` goes on at most. */
const MAX_WAIT_MS = 60_000

/** Makes a world of these nodes, none of which runs before it has joined. */
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
  readonly #seats = new Map<NodeId, SimulatedElection>()
  readonly #traffic: ReadonlyMap<NodeId, Traffic>
  #alarms: VirtualTimer[] = []
  /** Until when a node stands still. */
  readonly #stillUntil = new Map<string, Micros>()
  #numbers = 0
  #now: Micros = 0
  #isAdvancing = false
  /** Somebody was told something since the last turn. */
  #hasNews = false

  constructor(asked: TestkitOptions) {
    checkNodes((asked as Partial<TestkitOptions> | undefined)?.nodes)
    const { nodes, group = 'test', mode = 'majority', options = {}, ...world } = asked
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
    for (const id of this.#nodes) this.#befall({ crash: id })
  }

  /** How far virtual time has come. */
  get nowMs(): number {
    return this.#now / 1000
  }

  /** Whose lease lasts at this moment; several only in local mode. */
  get leaders(): readonly string[] {
    return this.#nodes.filter((id) => this.#seats.has(id) && this.#world.status(id)?.view.role === 'leader')
  }

  /** Starts the process of a node, or starts it again after a crash. */
  async join(id: string, { priority = 0, ...options }: TestkitJoinOptions = {}): Promise<ConclaveNode> {
    checkWorkOptions(options)
    const work = workSettings(options)
    this.#known(id)
    if (this.#seats.has(id)) throw new Error(`${id} has joined already: crash or close it first`)
    const timers: Timers = { after: (ms, run) => this.#after(ms, run, id) }
    const about = {
      group: this.#group,
      id,
      mode: this.#mode,
      lease: this.#lease,
      work,
      timers,
      role: this.#partOf(id),
    }
    const member = await openNode(about, async (hooks) => {
      const traffic = this.#traffic.get(id) as Traffic
      const seat = new SimulatedElection(this.#world, id, this.#spec, () => this.#now, traffic, hooks)
      this.#seats.set(id, seat)
      this.#befall({ recover: id })
      await seat.command({ do: 'campaign', willing: false, lapse: false })
      return seat
    })
    if (priority !== 0) await member.setPriority(priority)
    return member
  }

  /** Lets so much time pass, and everything happen that is due in it. */
  async advance(ms: number): Promise<void> {
    checkDuration('ms', ms)
    if (this.#isAdvancing) throw new Error('time advances already: await one advance before the next')
    this.#isAdvancing = true
    try {
      const end = this.#now + Math.round(ms * 1000)
      await runMicrotasks()
      while (this.#next() <= end) {
        this.#step(this.#next())
        // oxlint-disable-next-line no-await-in-loop -- one moment after the other
        if (this.#hasNews) await runMicrotasks()
        this.#hasNews = false
      }
      this.#world.run(end)
      this.#now = end
      await runMicrotasks()
    } finally {
      this.#isAdvancing = false
    }
  }

  /** Lets time pass until something is so; fails when it is not for a long time. */
  async until(isSo: () => boolean, withinMs = MAX_WAIT_MS): Promise<void> {
    checkFunction('isSo', isSo)
    checkDuration('withinMs', withinMs)
    const end = this.nowMs + withinMs
    await this.advance(0)
    while (!isSo()) {
      if (this.nowMs >= end) throw new Error(`still not so after ${withinMs} virtual ms`)
      // oxlint-disable-next-line no-await-in-loop -- a little at a time
      await this.advance(1)
    }
  }

  /** For work: waits in virtual time. Ends early, with the signal's reason, when the signal is aborted. */
  async sleep(ms: number, options?: SignalOption): Promise<void> {
    checkDuration('ms', ms)
    const signal = parseSignal(options)
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      const cancel = this.#after(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      if (signal?.aborted === true) onAbort()
      else signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** The process is gone. Its term is ended, so that code under test can end; in a real crash nobody is told. */
  crash(id: string): void {
    this.#befall({ crash: this.#known(id) })
  }

  /** The process stands still while its clock runs on: nothing is sent, heard or told. */
  pause(id: string, ms: number): void {
    checkDuration('ms', ms)
    this.#befall({ pause: this.#known(id), forMs: ms })
    this.#stands(id, ms)
  }

  /** The host sleeps, and its clock with it. */
  suspend(id: string, ms: number): void {
    checkDuration('ms', ms)
    this.#befall({ suspend: this.#known(id), forMs: ms })
    this.#stands(id, ms)
  }

  /** Each block talks within itself only; whoever is in none is in one more, with the others. */
  partition(...blocks: readonly (readonly string[])[]): void {
    this.#befall({ partition: blocks.map((block) => block.map((id) => this.#known(id))) })
  }

  /** Nothing gets from the one to the other, nor back. */
  cut(one: string, other: string): void {
    this.#befall({ cut: [[this.#known(one), this.#known(other)]] })
  }

  heal(): void {
    this.#befall({ heal: 'all' })
  }

  /** From now on messages are lost with this probability. */
  lose(probability: number): void {
    if (!(typeof probability === 'number' && probability >= 0 && probability <= 1))
      throw new InvalidArgumentError('probability', `${String(probability)} must be a number from 0 to 1`)
    this.#befall({ loss: probability })
  }

  #partOf(id: string): 'observer' | 'witness' | null {
    const { observers, witnesses } = this.#options
    const isIn = (list: unknown): boolean => Array.isArray(list) && list.includes(id)
    return isIn(observers) ? 'observer' : isIn(witnesses) ? 'witness' : null
  }

  #known(id: string): string {
    if (this.#nodes.includes(id)) return id
    throw new Error(`there is no node ${JSON.stringify(id)}: this world has ${this.#nodes.join(', ')}`)
  }

  #befall(event: WithoutTime<ScenarioEvent>): void {
    this.#world.applyEvent({ ...event, atMs: this.nowMs })
  }

  #stands(id: string, ms: number): void {
    const until = this.#now + Math.round(ms * 1000)
    this.#stillUntil.set(id, Math.max(until, this.#stillUntil.get(id) ?? 0))
    for (const alarm of this.#alarms.filter(({ node, at }) => node === id && at < until))
      this.#put({ ...alarm, at: until })
  }

  #next(): Micros {
    return Math.min(this.#world.nextAt, this.#alarms[0]?.at ?? Number.POSITIVE_INFINITY)
  }

  #step(at: Micros): void {
    this.#now = at
    this.#world.run(at)
    const due = this.#alarms.filter((alarm) => alarm.at <= at)
    this.#alarms = this.#alarms.filter((alarm) => alarm.at > at)
    for (const { run } of due) run()
    if (due.length > 0) this.#hasNews = true
  }

  #after(ms: number, run: () => void, node: string | null = null): () => void {
    this.#numbers += 1
    const number = this.#numbers
    const still = node === null ? 0 : (this.#stillUntil.get(node) ?? 0)
    this.#put({ at: Math.max(this.#now + Math.round(ms * 1000), still), number, node, run })
    return () => {
      this.#alarms = this.#alarms.filter((alarm) => alarm.number !== number)
    }
  }

  /** Puts an alarm where it belongs, instead of the one with the same number. */
  #put(alarm: VirtualTimer): void {
    const others = this.#alarms.filter(({ number }) => number !== alarm.number)
    this.#alarms = [...others, alarm].sort((a, b) => a.at - b.at || a.number - b.number)
  }

  #observe(seen: Observation): void {
    if (seen.type === 'output') {
      this.#hasNews = true
      this.#seats.get(seen.node)?.handleOutput(seen.event)
    } else if (seen.type === 'down') {
      this.#hasNews = true
      this.#seats.get(seen.node)?.handleCrash(new NodeCrashedError(String(seen.node)))
      this.#seats.delete(seen.node)
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

/** Longer is a mistake, and times are whole microseconds that must stay exact. */
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
  if (twice !== undefined) throw new InvalidArgumentError('nodes', `${JSON.stringify(twice)} is named twice`)
}

/** An event whose moment is now. */
type WithoutTime<E> = E extends unknown ? Omit<E, 'atMs'> : never

/** Everything that waits for a promise has its turn. */
function runMicrotasks(): Promise<void> {
  return new Promise((resolve) => void nextTurn(resolve))
}
