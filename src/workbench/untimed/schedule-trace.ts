/** Records the steps of a schedule as a trace, with a number for each message and a record for each loss. */
import { type Definition, type NodeId, present } from '../../core/index.ts'
import type { NodeState, RecordHook } from '../scenario/options.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import type { LossReason, Observation, TraceRecord } from '../trace/index.ts'
import type { Inbox } from './inbox.ts'
import { inboxAfterMove, moveEnd } from './link-ends.ts'
import { MessageNumbers } from './message-numbers.ts'
import type { NodeStep } from './node.ts'
import type { Performed, UntimedRules, UntimedWorld } from './world.ts'

export class ScheduleTrace {
  readonly #definition: Definition
  readonly #rules: UntimedRules
  readonly #record: RecordHook | null
  readonly #numbers: MessageNumbers
  readonly #sent = new Map<string, number>()

  /** `record`: null if no trace is wanted. */
  constructor(definition: Definition, rules: UntimedRules, record: RecordHook | null) {
    this.#definition = definition
    this.#rules = rules
    this.#record = record
    this.#numbers = new MessageNumbers(rules.order === 'fifo')
  }

  /** Number of messages of a kind sent so far. */
  sentOf(kind: string): number {
    return this.#sent.get(kind) ?? 0
  }

  /** Records a step that was performed in `world`. */
  recordStep(world: UntimedWorld, step: ScheduleStep, performed: Performed, at: number): void {
    const { nodes, history, tick } = this.#rules
    const message = step.do === 'deliver' ? this.#numbers.deliver(step.from, step.node, step.nth ?? 0) : null
    if (step.do === 'tick') {
      const views = performed.seen.filter(isView).map(({ node, view }) => ({ node, view }))
      this.#record?.({ type: 'tick', at, by: tick, views }, statesOf(nodes, performed.world))
    } else if (performed.nodeSteps.length === 0) {
      const changed = 'node' in step ? statesOf(nodes, performed.world, step.node) : []
      this.#record?.({ type: 'world', at, event: step }, changed)
      if (message !== null) this.#lose([message], 'down', at)
    }
    let during = world
    if (step.do === 'flip' || step.do === 'follow') {
      this.#loseOnMove(world, step.node, step.peer, at)
      const places = [nodes.indexOf(step.node), nodes.indexOf(step.peer)] as const
      during = { ...world, ends: moveEnd(world.ends, nodes.length, ...places, history) }
    }
    for (const nodeStep of performed.nodeSteps) this.recordNodeStep(nodeStep, message, during, at)
    if (this.#rules.reported && isDown(performed.seen)) this.#loseOnCrash(performed.world, step, at)
  }

  /** `during`: the world in which the node acted. */
  recordNodeStep(nodeStep: NodeStep, message: number | null, during: UntimedWorld, at: number): void {
    const { nodes } = this.#rules
    const { node, result } = nodeStep
    const ids = result.sends.map(({ to, body }) => {
      const kind = this.#definition.kindOf(body)
      this.#sent.set(kind, this.sentOf(kind) + 1)
      const isLost = this.#rules.aheadOf(during, nodes.indexOf(node), nodes.indexOf(to)) < 0
      const id = this.#numbers.send(node, to, body, isLost)
      if (isLost) this.#lose([id], 'cut', at)
      return id
    })
    const { slot } = result
    const states = [{ node, state: slot.up ? slot.state : null, stable: slot.stable }]
    this.#record?.(recordOf(nodeStep, at, message, ids), states)
    for (const { input, effects, view } of result.later) {
      const common = { at, node, now: 0, effects, sent: [], cutAfter: null, view }
      this.#record?.({ type: 'step', ...common, input, message: null }, states)
    }
  }

  /** Messages of an incarnation that the receiver has left are lost. */
  #loseOnMove(world: UntimedWorld, node: NodeId, peer: NodeId, at: number): void {
    const { nodes, history } = this.#rules
    const one = [[node, peer] as const]
    for (const [to, from] of history.slack === 0 ? [...one, [peer, node] as const] : one) {
      const inbox = present(world.inboxes[nodes.indexOf(to)], 'inbox')
      const kept = inboxAfterMove(inbox, nodes.indexOf(from), history)
      this.#lose(this.#numbers.keep(from, to, countFrom(kept, nodes.indexOf(from)), 'last'), 'cut', at)
    }
  }

  /** Messages to a crashed node, and those from it in an incarnation that the receiver has not reached, are lost. */
  #loseOnCrash(after: UntimedWorld, step: ScheduleStep, at: number): void {
    if (step.do === 'tick') return
    const { nodes } = this.#rules
    const crashed = nodes.indexOf(step.node)
    for (const [place, node] of nodes.entries()) {
      if (place === crashed) continue
      const left = countFrom(present(after.inboxes[place], 'inbox'), crashed)
      this.#lose(this.#numbers.keep(step.node, node, left, 'first'), 'cut', at)
      this.#lose(this.#numbers.keep(node, step.node, 0, 'first'), 'down', at)
    }
  }

  #lose(messages: readonly number[], why: LossReason, at: number): void {
    for (const message of messages) this.#record?.({ type: 'lost', at, message, why }, [])
  }
}

/** The states of all nodes in a world, or of one. */
function statesOf(nodes: readonly NodeId[], { slots }: UntimedWorld, only?: NodeId): readonly NodeState[] {
  return nodes.flatMap((node, index) => {
    const slot = present(slots[index], 'slot')
    if (only !== undefined && node !== only) return []
    return [{ node, state: slot.up ? slot.state : null, stable: slot.stable }]
  })
}

function isDown(seen: readonly Observation[]): boolean {
  return seen.some(({ type }) => type === 'down')
}

function countFrom(inbox: Inbox, sender: number): number {
  return inbox.filter(({ from }) => from === sender).length
}

type Viewed = Observation & { readonly type: 'view' }

function isView(seen: Observation): seen is Viewed {
  return seen.type === 'view'
}

function recordOf(
  { node, input, stable, settledOn, result }: NodeStep,
  at: number,
  message: number | null,
  sent: readonly number[],
): TraceRecord {
  const common = {
    at,
    node: node satisfies NodeId,
    now: 0,
    effects: result.effects,
    sent,
    cutAfter: result.cutAfter,
    view: result.view,
  }
  return input === null
    ? { type: 'start', ...common, stable, settledOn }
    : { type: 'step', ...common, input, message }
}
