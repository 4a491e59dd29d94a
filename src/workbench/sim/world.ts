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
  type Micros,
  microsOf,
  type NodeId,
  type Outcome,
  type Plain,
  type RegisterCall,
  type Step,
  unreachable,
  type View,
} from '../../core/index.ts'
import { Random } from '../scenario/random.ts'
import type { Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import type { LossReason } from '../trace/index.ts'
import { adjustClock, showClock } from './adjust-clock.ts'
import { Agenda } from './agenda.ts'
import { changeNetwork, changeNode, type NodeEventTargets, recordOf, statesAfter } from './events.ts'
import { InFlight, isMessageEvent } from './in-flight.ts'
import { LinkNotifier } from './link-notifier.ts'
import type { LinkStates } from './link-states.ts'
import { makeNodes } from './make-nodes.ts'
import { MessageSender } from './message-sender.ts'
import { delayOf, Network } from './network.ts'
import { RegisterCalls } from './register-calls.ts'
import { Settling } from './settling.ts'
import { Silences } from './silences.ts'
import { resume } from './stalls.ts'
import { recordRollBack, recordStart, recordStep } from './step-records.ts'
import { Store } from './store.ts'
import { Timers, TRY_AGAIN } from './timers.ts'
import { MOST_STEPS, stopRunaway, type WorldHooks } from './world-hooks.ts'
import {
  linkStatesOf,
  NEVER,
  type Pending,
  persists,
  type SimNode,
  statusOf,
  takeDown,
  trueUntil,
  updateView,
} from './world-node.ts'

export class World {
  readonly #byId: ReadonlyMap<NodeId, SimNode>
  readonly #network: Network
  readonly #store: Store
  readonly #random: Random
  readonly #agenda = new Agenda()
  readonly #hooks: WorldHooks
  readonly #record: WorldHooks['record']
  readonly #definition: Definition
  #now: Micros = 0
  #steps = 0
  #sent: number[] = []
  /** Whether the present step has an output. Most steps have none, which saves the search for it. */
  #hasOutput = false
  readonly #timers: Timers
  readonly #sender: MessageSender
  readonly #inFlight: InFlight
  readonly #silences: Silences
  readonly #settling: Settling
  readonly #targets: NodeEventTargets
  /** Null if nodes are not notified of link changes. */
  readonly #links: LinkStates | null
  readonly #notifier: LinkNotifier | null
  readonly #calls: RegisterCalls

  constructor(definition: Definition, scenario: Scenario, hooks: WorldHooks, strictly: boolean) {
    this.#definition = definition
    this.#hooks = hooks
    this.#record = hooks.record
    this.#random = new Random(scenario.seed)
    const { push } = this.#agenda
    const { observe, record, inspect = null } = hooks
    const lateness = delayOf(scenario.clocks.lateMs)
    const network = new Network(scenario.nodes, scenario.network, scenario.links, this.#random)
    const timers = new Timers(this.#random, lateness, push, network.load, inspect)
    this.#timers = timers
    this.#network = network
    const model = definition.registers?.model(scenario.options) ?? null
    const store = new Store(scenario.nodes, scenario.registers, this.#random, model?.burials === 'blind')
    this.#store = store
    const nodes = makeNodes(definition, scenario, this.#random, strictly)
    this.#byId = new Map(nodes.map((node) => [node.id, node]))
    for (const event of scenario.events) push(microsOf(event.atMs), { type: 'event', event })
    const { initial, seed } = scenario
    this.#calls = new RegisterCalls(this.#store, push)
    const links = linkStatesOf(definition, scenario)
    this.#links = links
    const advance = (node: SimNode, input: Input): void => this.#advance(node, input, null)
    const context = { now: () => this.#now, push, advance }
    const notifier = links === null ? null : new LinkNotifier(links, network, nodes, context)
    this.#notifier = notifier
    this.#sender = new MessageSender({ definition, network, links, notifier, record, push })
    this.#inFlight = new InFlight({ agenda: this.#agenda, nodes, network, notifier, record, seed })
    const silences = new Silences(nodes.length)
    this.#silences = silences
    const parts = { definition, scenario, network, store, nodes, silences, notifier, observe, push }
    this.#settling = new Settling({ ...parts, lateness: lateness.most })
    this.#targets = {
      store: this.#store,
      load: network.load,
      push,
      node: (id) => this.#node(id),
      boot: (node) => this.#boot(node, null),
      crash: (node) => this.#crash(node),
      command: (node, command) => this.#command({ type: 'command', node, command }),
      adjustClock: (node, adjust) => adjustClock(node, adjust, this.#now, { timers, inspect, observe }),
      showClock: (node) => showClock(node, this.#now, { timers, inspect }),
    }
    inspect?.network(network.reading(this.#now))
    for (const node of nodes) this.#targets.showClock(node)
    for (const node of nodes) {
      const settledOn = initial?.members.includes(node.id) === true ? initial : null
      this.#boot(node, settledOn)
    }
    this.#settling.disturb(this.#now)
  }

  get steps(): number {
    return this.#steps
  }

  /** The time of the next event; infinite if there is none. */
  get nextAt(): Micros {
    return this.#agenda.nextAt
  }

  /** Reads what a node's view does not show from its state; null while it is down. */
  inspect<T>(id: NodeId, read: (state: Plain, now: Micros) => T): T | null {
    const node = this.#node(id)
    return node.up ? read(node.state, node.clock.at(this.#now)) : null
  }

  /** Number of messages of a kind sent so far. */
  sentOf(kind: string): number {
    return this.#sender.sentOf(kind)
  }

  /** The contents of the shared registers, in node order. */
  get registers(): readonly Plain[] {
    return this.#store.values
  }

  /** Applies an event now, as if it were part of the scenario. */
  applyEvent(event: ScenarioEvent): void {
    const isOfMessage = isMessageEvent(event)
    const ignored = isOfMessage ? this.#inFlight.whyIgnored(event) : null
    this.#record?.(recordOf(event, this.#now, ignored), statesAfter(event, this.#targets))
    if (ignored !== null) return
    const messages = isOfMessage ? this.#inFlight.change(event, this.#now) : []
    if (changeNetwork(this.#network, event)) this.#hooks.inspect?.network(this.#network.reading(this.#now))
    else if (!isOfMessage) changeNode(this.#targets, event, this.#now)
    this.#settling.disturb(this.#now, messages)
  }

  /**
   * A node's current view and lease end; null while it is down. To others, a lease keeps running while its
   * holder is suspended, until the holder wakes up and says otherwise.
   */
  status(id: NodeId): { readonly view: View; readonly until: Micros | null } | null {
    const node = this.#node(id)
    return node.up ? statusOf(node, this.#now) : null
  }

  /** Processes all events up to and including true time `until`. */
  run(until: Micros): void {
    const agenda = this.#agenda
    const maxSteps = this.#hooks.maxSteps ?? MOST_STEPS
    for (let next = agenda.nextAt; next <= until; next = agenda.nextAt) {
      this.#now = next
      const pending = agenda.take()
      if (pending !== null) this.#process(pending)
      if (this.#steps > maxSteps) stopRunaway(maxSteps, this.#now)
    }
    this.#now = until
  }

  /**
   * Ends the run. Specifications of settled systems are judged if the system had time to settle or no event
   * is left.
   */
  finish(): void {
    this.#settling.finish(this.#now, this.#agenda)
    this.#hooks.observe({ type: 'ended', at: this.#now })
  }

  /** Almost all entries are messages and timers: the others are apart, so that the compiler can inline these two. */
  #process(pending: Pending): void {
    if (pending.type === 'message') this.#deliver(pending)
    else if (pending.type === 'timer') this.#expire(pending)
    else this.#processRare(pending)
  }

  #processRare(pending: Exclude<Pending, { type: 'message' | 'timer' }>): void {
    switch (pending.type) {
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
        if (resume(pending, this.#now, this.#agenda.push)) this.#settling.disturb(this.#now)
        break
      case 'checkLink':
        this.#notifier?.check(pending.node, pending.peer)
        break
      case 'loadSettled':
      case 'storeAnswers':
        this.#network.load.settle(this.#now, this.#agenda.push)
        this.#settling.disturb(this.#now)
        break
      case 'settle':
        this.#settling.settle(pending.disturbance, this.#now)
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
    if (this.#notifier?.accepts(from, to, label) === false) {
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
    const timer = this.#timers.expire(pending, this.#now)
    if (timer !== null) this.#advance(timer.node, { type: 'timer', name: timer.name }, null)
  }

  /**
   * Feeds an input to a node and carries out its effects. A node that was suspended learns that first.
   *
   * All steps of a run pass through here. Rare cases are functions of their own, so that the compiler can inline the
   * common one.
   */
  #advance(node: SimNode, input: Input, message: number | null): void {
    if (node.sleptFor > 0 && !this.#wake(node)) {
      if (message !== null) this.#lose(message, 'down')
      return
    }
    const now = node.clock.at(this.#now)
    const before = node.state
    const next = node.protocol.step(before, input, now)
    this.#steps += 1
    if (!node.isWritable && persists(next)) {
      this.#rollBack(node, input, message, next)
      return
    }
    node.state = next.state
    const cutAfter = this.#carryOut(node, next)
    const view = next.state === before ? null : updateView(node, now)
    if (this.#silences.isAny) this.#settling.checkReachable(node, now, this.#now)
    if (this.#record !== null) {
      const done = { effects: next.effects, sent: this.#sent, cutAfter, view }
      recordStep(this.#record, node, { at: this.#now, now, input, message }, done)
    }
    if (view !== null || this.#hasOutput || cutAfter !== null)
      this.#report(node, next.effects, view, cutAfter)
  }

  /** Tells a node that it was suspended. Returns whether it still runs after that. */
  #wake(node: SimNode): boolean {
    const by = node.sleptFor
    node.sleptFor = 0
    this.#advance(node, { type: 'suspended', by }, null)
    if (!node.up) return false
    // The lease, if the node still believes in one, now ends later than before.
    const { view } = node
    if (view !== null && view.until !== null) {
      const until = trueUntil(node, view)
      this.#hooks.observe({ type: 'view', at: this.#now, node: node.id, view, until })
    }
    return true
  }

  /**
   * The storage rejected a write, so the step did not happen, as in a real process. A message counts as lost,
   * a timer fires again soon, and a suspension is reported again.
   */
  #rollBack(node: SimNode, input: Input, message: number | null, { effects }: Step<Plain>): void {
    const now = node.clock.at(this.#now)
    if (this.#record !== null)
      recordRollBack(this.#record, node, { at: this.#now, now, input, message }, effects)
    if (input.type === 'timer') this.#timers.set(node, input.name, now + TRY_AGAIN, this.#now)
    else if (input.type === 'suspended') node.sleptFor += input.by
  }

  #boot(node: SimNode, settledOn: Outcome | null): void {
    const now = node.clock.at(this.#now)
    const { stable, protocol } = node
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
    const view = updateView(node, now)
    if (this.#record !== null) {
      const done = { effects: next.effects, sent: this.#sent, cutAfter, view }
      recordStart(this.#record, node, { at: this.#now, now, stable, settledOn }, done)
    }
    this.#report(node, next.effects, view, cutAfter)
  }

  /**
   * Carries out effects in order. Returns the number of effects before the node crashed, or null if it
   * completed all.
   */
  #carryOut(node: SimNode, { effects }: Step<Plain>): number | null {
    if (this.#record !== null) this.#sent = []
    this.#hasOutput = false
    if (effects.length === 0) return null
    const crashes = effects.length > node.crashAfter
    const end = crashes ? node.crashAfter : effects.length
    for (let index = 0; index < end; index++) this.#perform(node, effects[index] as Effect)
    return crashes ? end : null
  }

  #perform(node: SimNode, effect: Effect): void {
    if (effect.type === 'send') {
      const id = this.#sender.send(node, this.#node(effect.to), effect.body, this.#now)
      if (this.#record !== null) this.#sent.push(id)
    } else if (effect.type === 'setTimer') this.#timers.set(node, effect.name, effect.at, this.#now)
    else this.#performRare(node, effect)
  }

  #performRare(node: SimNode, effect: Exclude<Effect, { type: 'send' | 'setTimer' }>): void {
    switch (effect.type) {
      case 'stopTimer':
        this.#timers.stop(node, effect.name, this.#now)
        break
      case 'persist':
        node.stable = effect.stable
        break
      case 'output':
        this.#hasOutput = true
        break
      case 'register':
        this.#call(node, effect.call)
        break
      default:
        unreachable(effect)
    }
  }

  /** Reports the observations of a step, and applies a crash in the middle of it. */
  #report(node: SimNode, effects: readonly Effect[], view: View | null, cutAfter: number | null): void {
    const { observe } = this.#hooks
    const shown = cutAfter ?? effects.length
    for (let index = 0; index < shown; index++) {
      const effect = effects[index] as Effect
      if (effect.type === 'output')
        observe({ type: 'output', at: this.#now, node: node.id, event: effect.event })
    }
    if (cutAfter !== null) {
      this.#crash(node)
      this.#settling.disturb(this.#now)
    } else if (view !== null) {
      observe({ type: 'view', at: this.#now, node: node.id, view, until: trueUntil(node, view) })
    }
  }

  #lose(message: number, why: LossReason): void {
    this.#record?.({ type: 'lost', at: this.#now, message, why }, [])
  }

  #crash(node: SimNode): void {
    node.crashAfter = NEVER
    if (!node.up) return
    if (node.stalledUntil === this.#now) this.#settling.noteLastWords(node, this.#now)
    for (const message of takeDown(node, this.#now)) this.#lose(message, 'down')
    this.#targets.showClock(node)
    this.#links?.crash(node.index)
    this.#hooks.observe({ type: 'down', at: this.#now, node: node.id })
  }

  #node(id: NodeId): SimNode {
    const node = this.#byId.get(id)
    return node ?? fail(`there is no node ${id}`)
  }
}
