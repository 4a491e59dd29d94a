/**
 * The timed world: nodes with drifting clocks on a network, driven by one event queue.
 *
 * The core is `#advance`: feed one input to a node and carry out its effects in order. Everything else
 * decides which input comes next. Externally visible behaviour goes to `observe`; the full history goes to
 * `record`.
 */
import {
  type Definition,
  type Effect,
  fail,
  type Input,
  type Message,
  type Micros,
  microsOf,
  type NodeId,
  type Outcome,
  type Plain,
  type RegisterCall,
  type Step,
  strict,
  unreachable,
  type View,
} from '../../core/index.ts'
import { Random } from '../scenario/random.ts'
import type { Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import type { LossReason, Observation, TraceRecord } from '../trace/index.ts'
import { Clock } from './clock.ts'
import { connectivity, mayReach } from './connectivity.ts'
import type { LinkStates } from './link-states.ts'
import { LinkNotifier } from './link-notifier.ts'
import { type Delay, delayOf, Network } from './network.ts'
import { EventQueue } from './queue.ts'
import { RegisterCalls } from './register-calls.ts'
import { Silences } from './silences.ts'
import { Store } from './store.ts'
import { linkStatesOf, NEVER, type Pending, type SimNode, sameView, type Timer } from './world-node.ts'

export type WorldHooks = {
  observe(seen: Observation): void
  /** Null if no trace is wanted: then no records are built. */
  readonly record: ((record: TraceRecord) => void) | null
}

export class RunawayRunError extends Error {
  override readonly name = 'RunawayRunError'
  readonly code = 'ERR_CONCLAVE_RUNAWAY_RUN'
}

/** A timer whose step was rolled back fires again after this delay, as in a real process. */
const TRY_AGAIN: Micros = 10_000

/** Bound on the steps of one run. A protocol that exceeds it is flooding itself. */
const MOST_STEPS = 500_000_000

export class World {
  readonly #nodes: readonly SimNode[]
  readonly #byId: ReadonlyMap<NodeId, SimNode>
  readonly #network: Network
  readonly #store: Store
  readonly #random: Random
  readonly #queue = new EventQueue()
  readonly #pending: (Pending | null)[] = []
  readonly #silent: Silences
  readonly #hooks: WorldHooks
  readonly #definition: Definition
  readonly #scenario: Scenario
  readonly #counted: string[]
  readonly #counts: number[]
  #now: Micros = 0
  #steps = 0
  #entries = 0
  #messages = 0
  #disturbances = 0
  #settlesAt: Micros = 0
  #sent: number[] = []
  /** How late timers fire. */
  readonly #lateness: Delay
  /** Null if nodes are not notified of link changes. */
  readonly #links: LinkStates | null
  readonly #watch: LinkNotifier | null
  readonly #calls: RegisterCalls

  constructor(definition: Definition, scenario: Scenario, hooks: WorldHooks, strictly: boolean) {
    this.#definition = definition
    this.#scenario = scenario
    this.#hooks = hooks
    this.#random = new Random(scenario.seed)
    this.#lateness = delayOf(scenario.clocks.lateMs)
    this.#network = new Network(scenario.nodes, scenario.network, scenario.links, this.#random)
    const model = definition.registers?.model(scenario.options) ?? null
    this.#store = new Store(scenario.nodes, scenario.registers, this.#random, model?.burials === 'blind')
    this.#counted = [...definition.kinds, ...definition.linkKinds]
    this.#counts = this.#counted.map(() => 0)
    this.#silent = new Silences(scenario.nodes.length)
    this.#nodes = scenario.nodes.map((id, index) => {
      const options = scenario.nodeOptions?.[String(id)] ?? scenario.options
      const protocol = definition.create({ self: id, nodes: scenario.nodes }, options)
      const drift = scenario.clocks.driftPpm
      return {
        index,
        id,
        protocol: strictly ? strict(protocol) : protocol,
        // No two clocks agree. (V8 stores integers below 2^31 unboxed; larger ones cost an object.)
        clock: new Clock(this.#random.integer(1, 1_000_000_000), (this.#random.fraction() * 2 - 1) * drift),
        up: false,
        state: null,
        stable: null,
        isWritable: true,
        view: null,
        timers: new Map(),
        stalledUntil: 0,
        sleptFor: 0,
        backlog: [],
        life: 0,
        crashAfter: NEVER,
      }
    })
    this.#byId = new Map(this.#nodes.map((node) => [node.id, node]))
    for (const event of scenario.events) this.#push(microsOf(event.atMs), { type: 'event', event })
    const { initial } = scenario
    const push = (time: Micros, pending: Pending): void => this.#push(time, pending)
    this.#calls = new RegisterCalls(this.#store, push)
    this.#links = linkStatesOf(definition, scenario)
    this.#watch =
      this.#links === null
        ? null
        : new LinkNotifier(this.#links, this.#network, this.#nodes, {
            now: () => this.#now,
            push,
            advance: (node, input) => this.#advance(node, input, null),
          })
    for (const node of this.#nodes) {
      const settledOn = initial?.members.includes(node.id) === true ? initial : null
      this.#boot(node, settledOn)
    }
    this.#disturbed()
  }

  get steps(): number {
    return this.#steps
  }

  /** The time of the next event; infinite if there is none. */
  get nextAt(): Micros {
    return this.#queue.size > 0 ? this.#queue.nextTime : NEVER
  }

  /** Reads what a node's view does not show from its state; null while it is down. */
  inspect<T>(id: NodeId, read: (state: Plain, now: Micros) => T): T | null {
    const node = this.#node(id)
    return node.up ? read(node.state, node.clock.at(this.#now)) : null
  }

  /** Number of messages of a kind sent so far. */
  sentOf(kind: string): number {
    const index = this.#counted.indexOf(kind)
    return index < 0 ? 0 : (this.#counts[index] as number)
  }

  /** The contents of the shared registers, in node order. */
  get registers(): readonly Plain[] {
    return this.#store.values
  }

  /** Applies an event now, as if it were part of the scenario. */
  applyEvent(event: ScenarioEvent): void {
    this.#disturb(event)
    this.#disturbed()
  }

  /**
   * A node's current view and lease end; null while it is down. To others, a lease keeps running while its
   * holder is suspended, until the holder wakes up and says otherwise.
   */
  status(id: NodeId): { readonly view: View; readonly until: Micros | null } | null {
    const node = this.#node(id)
    if (!node.up) return null
    const missed = node.sleptFor === 0 ? 0 : node.sleptFor - node.clock.standsFor(this.#now)
    const view = node.protocol.view(node.state, node.clock.at(this.#now) + missed)
    const until = this.#trueUntil(node, view)
    return { view, until: until === null ? null : until - node.sleptFor }
  }

  /** Processes all events up to and including true time `until`. */
  run(until: Micros): void {
    const queue = this.#queue
    while (queue.size > 0 && queue.nextTime <= until) {
      this.#now = queue.nextTime
      const slot = queue.pop()
      const pending = this.#pending[slot] as Pending
      this.#pending[slot] = null
      this.#happen(pending)
      if (this.#steps > MOST_STEPS) {
        throw new RunawayRunError(
          `stopped after ${MOST_STEPS} steps at ${this.#now / 1000} ms: the nodes storm`,
        )
      }
    }
    this.#now = until
  }

  /**
   * Ends the run. Specifications of settled systems are judged if the system had time to settle or no event
   * is left.
   */
  finish(): void {
    if (this.#now >= this.#settlesAt || this.#nothingIsLeft()) this.#settled()
    this.#hooks.observe({ type: 'ended', at: this.#now })
  }

  #nothingIsLeft(): boolean {
    return this.#pending.every(
      (pending) =>
        pending === null ||
        pending.type === 'settle' ||
        (pending.type === 'timer' &&
          (pending.timer.entry !== pending.entry || pending.timer.deadline === NEVER)),
    )
  }

  #happen(pending: Pending): void {
    switch (pending.type) {
      case 'message':
        this.#deliver(pending)
        break
      case 'timer':
        this.#expire(pending)
        break
      case 'command':
        this.#command(pending)
        break
      case 'operation':
        this.#calls.operate(pending)
        break
      case 'reply':
        this.#reply(pending)
        break
      case 'event':
        this.applyEvent(pending.event)
        break
      case 'resume':
        this.#resume(pending.node, pending.isLast)
        break
      case 'look':
        this.#watch?.check(pending.node, pending.peer)
        break
      case 'answers':
        this.#disturbed()
        break
      case 'settle':
        if (pending.disturbance === this.#disturbances) this.#settled()
        break
      default:
        unreachable(pending)
    }
  }

  #deliver(pending: Pending & { type: 'message' }): void {
    const { to, from, body, id, label } = pending
    if (to.stalledUntil !== 0) {
      to.backlog.push(pending)
      return
    }
    if (!to.up) {
      this.#lose(id, 'down')
      return
    }
    if (this.#watch?.accepts(from, to, label) === false) {
      this.#lose(id, 'cut')
      return
    }
    this.#advance(to, { type: 'message', from: from.id, body, receipt: null }, id)
  }

  #command(pending: Pending & { type: 'command' }): void {
    const { node, command } = pending
    if (node.stalledUntil !== 0) node.backlog.push(pending)
    else if (node.up) {
      this.#hooks.observe({ type: 'commanded', at: this.#now, node: node.id, command })
      this.#advance(node, { type: 'command', command }, null)
    }
  }

  #reply(pending: Pending & { type: 'reply' }): void {
    const { node, life, input, of, version } = pending
    if (!node.up || node.life !== life) return
    if (node.stalledUntil !== 0) {
      node.backlog.push(pending)
      return
    }
    this.#store.noteVersion(node.index, of, version)
    this.#advance(node, input, null)
  }

  #call(node: SimNode, call: RegisterCall): void {
    if (this.#definition.registers === null) fail('this protocol does not say that it uses registers')
    const of = call.op === 'write' ? node.index : this.#node(call.of).index
    this.#calls.call(node, call, of, this.#now)
  }

  #expire(pending: Pending & { type: 'timer' }): void {
    const { timer, entry } = pending
    if (timer.entry !== entry) return
    timer.queuedFor = NEVER
    if (timer.deadline === NEVER) return
    const { node } = timer
    const due = Math.max(node.clock.whenShows(timer.deadline), node.stalledUntil)
    if (due > this.#now) {
      this.#queueTimer(timer, due)
      return
    }
    timer.deadline = NEVER
    this.#advance(node, { type: 'timer', name: timer.name }, null)
  }

  /** Feeds an input to a node and carries out its effects. A node that was suspended learns that first. */
  #advance(node: SimNode, input: Input, message: number | null): void {
    if (node.sleptFor > 0) {
      const by = node.sleptFor
      node.sleptFor = 0
      this.#advance(node, { type: 'suspended', by }, null)
      if (!node.up) {
        if (message !== null) this.#lose(message, 'down')
        return
      }
      // The lease, if the node still believes in one, now ends later than before.
      const { view } = node
      if (view !== null && view.until !== null) {
        const until = this.#trueUntil(node, view)
        this.#hooks.observe({ type: 'view', at: this.#now, node: node.id, view, until })
      }
    }
    const now = node.clock.at(this.#now)
    const before = node.state
    const next = node.protocol.step(before, input, now)
    this.#steps += 1
    if (!node.isWritable && persists(next)) {
      this.#takeBack(node, input, message, next)
      return
    }
    node.state = next.state
    const cutAfter = this.#carryOut(node, next)
    const view = next.state === before ? null : this.#see(node, now)
    if (this.#silent.isAny) this.#listen(node, now)
    if (this.#hooks.record !== null) {
      this.#hooks.record({
        type: 'step',
        at: this.#now,
        node: node.id,
        now,
        input,
        message,
        effects: next.effects,
        sent: this.#sent,
        cutAfter,
        view,
      })
    }
    this.#outlook(node, next.effects, view, cutAfter)
  }

  /**
   * The storage rejected a write, so the step did not happen, as in a real process. A message counts as lost,
   * a timer fires again soon, and a suspension is reported again.
   */
  #takeBack(node: SimNode, input: Input, message: number | null, { effects }: Step<Plain>): void {
    const { id } = node
    const now = node.clock.at(this.#now)
    const none = { sent: [], cutAfter: null, view: null }
    const record = { type: 'step', at: this.#now, node: id, now, input, message, effects, ...none } as const
    this.#hooks.record?.({ ...record, takenBack: true })
    if (input.type === 'timer') this.#setTimer(node, input.name, now + TRY_AGAIN)
    else if (input.type === 'suspended') node.sleptFor += input.by
  }

  #boot(node: SimNode, settledOn: Outcome | null): void {
    const now = node.clock.at(this.#now)
    const { stable } = node
    const { protocol } = node
    const next =
      settledOn === null || protocol.settled === undefined
        ? protocol.start(stable, now)
        : protocol.settled(settledOn, now)
    // A node that cannot store its initial state does not start.
    if (!node.isWritable && persists(next)) return
    node.up = true
    node.life += 1
    this.#store.forget(node.index)
    node.view = null
    node.state = next.state
    this.#steps += 1
    this.#hooks.observe({ type: 'up', at: this.#now, node: node.id })
    const cutAfter = this.#carryOut(node, next)
    const view = this.#see(node, now)
    this.#hooks.record?.({
      type: 'start',
      at: this.#now,
      node: node.id,
      now,
      stable,
      settledOn,
      effects: next.effects,
      sent: this.#sent,
      cutAfter,
      view,
    })
    this.#outlook(node, next.effects, view, cutAfter)
  }

  /**
   * Carries out effects in order. Returns the number of effects before the node crashed, or null if it
   * completed all.
   */
  #carryOut(node: SimNode, { effects }: Step<Plain>): number | null {
    if (this.#hooks.record !== null) this.#sent = []
    if (effects.length === 0) return null
    const crashes = effects.length > node.crashAfter
    const end = crashes ? node.crashAfter : effects.length
    for (let index = 0; index < end; index++) this.#perform(node, effects[index] as Effect)
    return crashes ? end : null
  }

  #perform(node: SimNode, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        this.#send(node, effect.to, effect.body)
        break
      case 'setTimer':
        this.#setTimer(node, effect.name, effect.at)
        break
      case 'stopTimer':
        this.#stopTimer(node, effect.name)
        break
      case 'persist':
        node.stable = effect.stable
        break
      case 'output':
        break
      case 'register':
        this.#call(node, effect.call)
        break
      default:
        unreachable(effect)
    }
  }

  /** Reports the observations of a step, and applies a crash in the middle of it. */
  #outlook(node: SimNode, effects: readonly Effect[], view: View | null, cutAfter: number | null): void {
    const { observe } = this.#hooks
    const shown = cutAfter ?? effects.length
    for (let index = 0; index < shown; index++) {
      const effect = effects[index] as Effect
      if (effect.type === 'output')
        observe({ type: 'output', at: this.#now, node: node.id, event: effect.event })
    }
    if (cutAfter !== null) {
      this.#crash(node)
      this.#disturbed()
    } else if (view !== null) {
      observe({ type: 'view', at: this.#now, node: node.id, view, until: this.#trueUntil(node, view) })
    }
  }

  /** The node's view if it has changed, or null. */
  #see(node: SimNode, now: Micros): View | null {
    const view = node.protocol.view(node.state, now)
    const was = node.view
    if (was !== null && sameView(was, view)) return null
    node.view = view
    return view
  }

  #trueUntil(node: SimNode, view: View): Micros | null {
    return view.until === null ? null : node.clock.whenShows(view.until)
  }

  #send(from: SimNode, to: NodeId, body: Message): void {
    const target = this.#node(to)
    const id = this.#messages++
    const name = this.#definition.kindOf(body)
    const kind = this.#counted.indexOf(name)
    if (kind < 0) fail(`message kind "${name}" is not declared by the protocol`)
    this.#counts[kind] = (this.#counts[kind] as number) + 1
    if (this.#hooks.record !== null) this.#sent.push(id)
    const links = this.#links
    if (links !== null && !links.isUp(from.index, target.index)) {
      this.#lose(id, 'cut')
      return
    }
    const why = this.#network.lossOf(from.index, target.index, name)
    if (why !== null) {
      this.#lose(id, why)
      this.#watch?.noteLoss(from, target)
      return
    }
    const label = links === null ? 0 : links.count(from.index, target.index)
    const copies = this.#network.duplicates() && links === null ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      const arrival = this.#network.arrivalOf(from.index, target.index, name, this.#now)
      this.#push(arrival, { type: 'message', from, to: target, body, id, label })
    }
  }

  #lose(message: number, why: LossReason): void {
    this.#hooks.record?.({ type: 'lost', at: this.#now, message, why })
  }

  #setTimer(node: SimNode, name: string, at: Micros | readonly [Micros, Micros]): void {
    const deadline = typeof at === 'number' ? at : this.#random.integer(at[0], at[1])
    let timer = node.timers.get(name)
    if (timer === undefined) {
      timer = { node, name, deadline: NEVER, queuedFor: NEVER, entry: -1 }
      node.timers.set(name, timer)
    }
    timer.deadline = deadline
    // A timer that moves later keeps its queue entry and is checked again when the entry comes up.
    if (deadline < timer.queuedFor) this.#queueTimer(timer, node.clock.whenShows(deadline))
  }

  #stopTimer(node: SimNode, name: string): void {
    const timer = node.timers.get(name)
    if (timer !== undefined) timer.deadline = NEVER
  }

  #queueTimer(timer: Timer, due: Micros): void {
    timer.queuedFor = timer.deadline
    const { least, most } = this.#lateness
    // A timer that is already due fires in the current wakeup of the process, so it is never late.
    const late = most === 0 || due <= this.#now ? 0 : this.#random.integer(least, most)
    timer.entry = this.#entries++
    this.#push(Math.max(due, this.#now) + late, { type: 'timer', timer, entry: timer.entry })
  }

  #disturb(event: ScenarioEvent): void {
    const { atMs: _atMs, ...shown } = event
    this.#hooks.record?.({ type: 'world', at: this.#now, event: shown })
    if ('crash' in event) {
      const node = this.#node(event.crash)
      if (event.afterEffects === undefined) this.#crash(node)
      else node.crashAfter = event.afterEffects
    } else if ('recover' in event) {
      const node = this.#node(event.recover)
      if (!node.up) this.#boot(node, null)
    } else if ('partition' in event) this.#network.partition(event.partition)
    else if ('heal' in event) this.#network.heal(event.heal)
    else if ('cut' in event) this.#network.cut(event.cut, false)
    else if ('cutOneWay' in event) this.#network.cut(event.cutOneWay, true)
    else if ('links' in event) this.#network.replace(event.links)
    else if ('loss' in event) this.#network.loss = event.loss
    else if ('duplicate' in event) this.#network.duplicate = event.duplicate
    else if ('late' in event) this.#store.late = event.late
    else if ('hang' in event) this.#hang(microsOf(event.forMs))
    else if ('slow' in event) this.#network.slow(event.slow, event.delayMs)
    else if ('pause' in event) this.#stall(this.#node(event.pause), microsOf(event.forMs), false)
    else if ('suspend' in event) this.#stall(this.#node(event.suspend), microsOf(event.forMs), true)
    else if ('rules' in event) this.#network.setRules(event.rules)
    else if ('unwritable' in event) this.#node(event.unwritable).isWritable = false
    else if ('writable' in event) this.#node(event.writable).isWritable = true
    else {
      const { node: id, ...command } = event.command
      this.#command({ type: 'command', node: this.#node(id), command })
    }
  }

  #crash(node: SimNode): void {
    node.crashAfter = NEVER
    if (!node.up) return
    if (node.stalledUntil === this.#now) this.#noteLastWords(node)
    node.up = false
    node.state = null
    node.view = null
    node.stalledUntil = 0
    node.sleptFor = 0
    // A crash ends a suspension: the clock runs again.
    node.clock.wake(this.#now)
    for (const waiting of node.backlog) if (waiting.type === 'message') this.#lose(waiting.id, 'down')
    node.backlog = []
    for (const timer of node.timers.values()) timer.entry = -1
    node.timers = new Map()
    this.#links?.crash(node.index)
    this.#hooks.observe({ type: 'down', at: this.#now, node: node.id })
  }

  /**
   * A node that crashes at the instant its stall ends may first have sent something when its timers fired.
   */
  #noteLastWords({ index }: SimNode): void {
    const timeliness = this.#definition.timeliness(this.#scenario.options)
    if (timeliness === null) return
    this.#silent.noteSent(index, this.#now, (to) => mayReach(this.#network, index, to, timeliness))
  }

  /** Stalls the node; with `clockToo` its clock stops as well. Inputs wait until the stall ends. */
  #stall(node: SimNode, length: Micros, clockToo: boolean): void {
    if (!node.up) return
    const until = this.#now + length
    if (clockToo) node.sleptFor += node.clock.stop(this.#now, until)
    if (until <= node.stalledUntil) return
    node.stalledUntil = until
    this.#push(until, { type: 'resume', node, isLast: false })
  }

  /**
   * As in a real process, timers that became due during the stall fire before messages are handled, and
   * messages that arrive at this instant come after those that waited. So the backlog is released only after
   * all events of this instant.
   */
  #resume(node: SimNode, isLast: boolean): void {
    if (node.stalledUntil === 0 || node.stalledUntil > this.#now) return
    if (!isLast) {
      this.#push(this.#now, { type: 'resume', node, isLast: true })
      return
    }
    node.stalledUntil = 0
    for (const waiting of node.backlog) this.#push(this.#now, waiting)
    node.backlog = []
    this.#disturbed()
  }

  /** Nodes that wait for the store continue when it responds again. Settling starts then. */
  #hang(by: Micros): void {
    this.#store.hang(this.#now + by)
    this.#push(this.#now + by, { type: 'answers' })
  }

  #disturbed(): void {
    const stalled = this.#nodes.filter((node) => node.up && node.stalledUntil !== 0).map(({ id }) => id)
    const delay = Math.max(this.#network.longestDelay, this.#lateness.most)
    this.#hooks.observe({ type: 'disturbed', at: this.#now, delay, stalled })
    this.#watch?.checkAll()
    this.#disturbances += 1
    const { options, nodes } = this.#scenario
    const settling = this.#definition.settlesWithin(options, this.#network.longestDelay, nodes.length)
    this.#settlesAt = this.#now + settling
    this.#push(this.#settlesAt, { type: 'settle', disturbance: this.#disturbances })
    const timeliness = this.#definition.timeliness(options)
    if (timeliness === null) return
    const running = this.#nodes.filter((node) => node.up && node.stalledUntil === 0)
    const unwritable = running.filter(({ isWritable }) => !isWritable)
    this.#silent.update(this.#now, (from, to) => {
      const { up, stalledUntil } = this.#nodes[from] as SimNode
      return up && stalledUntil === 0 && mayReach(this.#network, from, to, timeliness)
    })
    this.#hooks.observe({
      type: 'connectivity',
      at: this.#now,
      ...connectivity(
        this.#network,
        nodes,
        running.map(({ index }) => index),
        unwritable.map(({ index }) => index),
        timeliness,
        this.#lateness.most,
      ),
    })
  }

  /**
   * Reports peers that the node considers reachable although no message of theirs can have arrived for a
   * while.
   */
  #listen(node: SimNode, now: Micros): void {
    const { nodes, options } = this.#scenario
    const claimed = this.#definition.reachable(node.state, { self: node.id, nodes }, options, now)
    for (const peer of claimed ?? []) {
      const silentSince = this.#silent.since(this.#node(peer).index, node.index)
      if (silentSince === null) continue
      this.#hooks.observe({ type: 'called-reachable', at: this.#now, node: node.id, peer, silentSince })
    }
  }

  #settled(): void {
    // While messages can get lost, nothing is promised.
    if (this.#network.isLossy || !this.#store.isPrompt(this.#now)) return
    const living = this.#nodes.filter(({ up }) => up)
    if (living.some((node) => node.stalledUntil !== 0 || this.#isOwedNews(node))) return
    const connected = this.#network.connected(living.map(({ index }) => index))
    this.#hooks.observe({ type: 'settled', at: this.#now, connected })
  }

  #isOwedNews(node: SimNode): boolean {
    const identity = { self: node.id, nodes: this.#scenario.nodes }
    return this.#definition
      .stimuli(node.state, identity, this.#scenario.options)
      .some(({ whenDown, owed }) => owed && (whenDown === null || !this.#node(whenDown).up))
  }

  #push(time: Micros, pending: Pending): void {
    this.#pending[this.#queue.push(time)] = pending
  }

  #node(id: NodeId): SimNode {
    const node = this.#byId.get(id)
    return node ?? fail(`there is no node ${id}`)
  }
}

function persists({ effects }: Step<Plain>): boolean {
  return effects.some(({ type }) => type === 'persist')
}
