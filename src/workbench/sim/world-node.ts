/** The data of the timed world: nodes, timers and queue entries. */
import {
  type Command,
  type Definition,
  equalPlain,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Plain,
  type Protocol,
  type RegisterCall,
  type Step,
  type View,
} from '../../core/index.ts'
import type { Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import { DEFAULT_LINK_HISTORY } from '../untimed/link-ends.ts'
import type { Clock } from './clock.ts'
import { LinkStates } from './link-states.ts'
import type { CallTiming } from './store.ts'

export type Timer = {
  readonly node: SimNode
  readonly name: string
  /** On the node's own clock; NEVER if the timer is not set. */
  deadline: Micros
  /** Its entry in the queue: the deadline it was queued for (or NEVER), and its number. */
  queuedFor: Micros
  entry: number
  /** The true time of that entry. */
  queuedAt: Micros
}

export type SimNode = {
  readonly index: number
  readonly id: NodeId
  readonly protocol: Protocol
  readonly clock: Clock
  up: boolean
  state: Plain
  stable: Plain
  /** Whether its stable storage accepts writes. */
  isWritable: boolean
  view: View | null
  timers: Map<string, Timer>
  /** True time until which the node is stalled; 0 if it runs. */
  stalledUntil: Micros
  /** How long its clock has stood still without the node knowing. */
  sleptFor: Micros
  /** Inputs that arrived while it was stalled. */
  backlog: (Pending & { type: 'message' | 'command' | 'reply' })[]
  /** Number of boots. Replies to calls of an earlier incarnation are dropped. */
  life: number
  /** Crash after this many effects of the next step that has more; NEVER if no such crash is armed. */
  crashAfter: number
}

export const NEVER = Number.POSITIVE_INFINITY

/** The payload of a queue entry. */
export type Pending =
  | {
      readonly type: 'message'
      readonly from: SimNode
      readonly to: SimNode
      readonly body: Message
      readonly id: number
      /** The incarnation of the link in which it was sent; 0 if nodes are not notified of links. */
      readonly label: number
      readonly sentAt: Micros
    }
  | { readonly type: 'timer'; readonly timer: Timer; readonly entry: number }
  | { readonly type: 'command'; readonly node: SimNode; readonly command: Command }
  /** A register operation takes place; its caller receives the result or a timeout. */
  | {
      readonly type: 'operation'
      readonly node: SimNode
      readonly life: number
      readonly call: RegisterCall
      readonly of: number
      readonly expected: number
      readonly course: CallTiming
    }
  | {
      readonly type: 'reply'
      readonly node: SimNode
      readonly life: number
      readonly input: Input & { type: 'register' }
      /** The register and version of the result; -1 if unknown. */
      readonly of: number
      readonly version: number
    }
  | { readonly type: 'event'; readonly event: ScenarioEvent }
  | { readonly type: 'resume'; readonly node: SimNode; readonly isLast: boolean }
  | { readonly type: 'checkLink'; readonly node: SimNode; readonly peer: SimNode }
  | { readonly type: 'settle'; readonly disturbance: number }
  /** The store responds again. */
  | { readonly type: 'storeAnswers' }
  /** A ramp of a load has ended. */
  | { readonly type: 'loadSettled' }

export function linkStatesOf(definition: Definition, scenario: Scenario): LinkStates | null {
  const { nodes, initial, network } = scenario
  if (definition.links(scenario.options) === 'silent') return null
  const { slack = DEFAULT_LINK_HISTORY.slack, labelled = DEFAULT_LINK_HISTORY.labelled } = network
  const isMember = (place: number): boolean => initial?.members.includes(nodes[place] as NodeId) === true
  return new LinkStates(nodes.length, { slack, labelled }, (a, b) => isMember(a) && isMember(b))
}

function sameView(a: View, b: View): boolean {
  return (
    a.role === b.role &&
    a.leader === b.leader &&
    a.token === b.token &&
    a.until === b.until &&
    (a.members === b.members || equalPlain(a.members, b.members)) &&
    (a.detail === b.detail || equalPlain(a.detail, b.detail))
  )
}

/** The node's view if it has changed, or null. `now`: on the node's clock. */
export function updateView(node: SimNode, now: Micros): View | null {
  const view = node.protocol.view(node.state, now)
  const was = node.view
  if (was !== null && sameView(was, view)) return null
  node.view = view
  return view
}

/** The end of the view's lease in true time. */
export function trueUntil(node: SimNode, view: View): Micros | null {
  return view.until === null ? null : node.clock.whenShows(view.until)
}

/** The view and lease end of a running node, as World.status describes them. */
export function statusOf(node: SimNode, now: Micros): { readonly view: View; readonly until: Micros | null } {
  const missed = node.sleptFor === 0 ? 0 : node.sleptFor - node.clock.standsFor(now)
  const view = node.protocol.view(node.state, node.clock.at(now) + missed)
  const until = trueUntil(node, view)
  return { view, until: until === null ? null : until - node.sleptFor }
}

export function persists({ effects }: Step<Plain>): boolean {
  return effects.some(({ type }) => type === 'persist')
}

/** Takes a crashed node down and returns the messages in its backlog, which are lost. */
export function takeDown(node: SimNode, now: Micros): readonly number[] {
  const lost = node.backlog.flatMap((waiting) => (waiting.type === 'message' ? [waiting.id] : []))
  node.up = false
  node.state = null
  node.view = null
  node.stalledUntil = 0
  node.sleptFor = 0
  // A crash ends a suspension: the clock runs again.
  node.clock.wake(now)
  node.backlog = []
  for (const timer of node.timers.values()) timer.entry = -1
  node.timers = new Map()
  return lost
}
