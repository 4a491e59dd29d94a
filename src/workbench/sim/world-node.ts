/** What the timed world is made of: nodes as the world sees them, their timers, and what an entry in the queue stands for. */
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
  type View,
} from '../../core/index.ts'
import type { Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import { DEFAULT_LINK_HISTORY } from '../untimed/link-ends.ts'
import type { Clock } from './clock.ts'
import { LinkStates } from './link-news.ts'
import type { CallTiming } from './store.ts'

export type Timer = {
  readonly node: SimNode
  readonly name: string
  /** On the node's own clock; NEVER when the timer is not set. */
  deadline: Micros
  /** The queue entry that stands for it: for which deadline it was put there (or NEVER), and its number. */
  queuedFor: Micros
  entry: number
}

export type SimNode = {
  readonly index: number
  readonly id: NodeId
  readonly protocol: Protocol
  readonly clock: Clock
  up: boolean
  state: Plain
  stable: Plain
  /** Whether its stable storage takes what it is given. */
  isWritable: boolean
  view: View | null
  timers: Map<string, Timer>
  /** True time until which the process does nothing; 0 when it runs. */
  stalledUntil: Micros
  /** For how long its clock has stood still without its knowing. */
  sleptFor: Micros
  /** What came while it did nothing. */
  backlog: (Pending & { type: 'message' | 'command' | 'reply' })[]
  /** How often it has booted: what its former lives asked for is no news to it. */
  life: number
  /** Carry out this many effects of the next step that has more, then crash; NEVER when no such crash is due. */
  crashAfter: number
}

export const NEVER = Number.POSITIVE_INFINITY

/** What an entry in the queue stands for. */
export type Pending =
  | {
      readonly type: 'message'
      readonly from: SimNode
      readonly to: SimNode
      readonly body: Message
      readonly id: number
      /** The incarnation of the link in which it was sent; 0 where nodes are told nothing of their links. */
      readonly label: number
    }
  | { readonly type: 'timer'; readonly timer: Timer; readonly entry: number }
  | { readonly type: 'command'; readonly node: SimNode; readonly command: Command }
  /** An operation on a register takes place; and its caller hears of it, or gives up. */
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
      /** Which register it tells of, and which version of it; -1 where that is not known. */
      readonly of: number
      readonly version: number
    }
  | { readonly type: 'event'; readonly event: ScenarioEvent }
  | { readonly type: 'resume'; readonly node: SimNode; readonly isLast: boolean }
  | { readonly type: 'look'; readonly node: SimNode; readonly peer: SimNode }
  | { readonly type: 'settle'; readonly disturbance: number }
  /** The store answers again. */
  | { readonly type: 'answers' }

export function linkStatesOf(definition: Definition, scenario: Scenario): LinkStates | null {
  const { nodes, initial, network } = scenario
  if (definition.links(scenario.options) === 'silent') return null
  const { slack = DEFAULT_LINK_HISTORY.slack, labelled = DEFAULT_LINK_HISTORY.labelled } = network
  const isMember = (place: number): boolean => initial?.members.includes(nodes[place] as NodeId) === true
  return new LinkStates(nodes.length, { slack, labelled }, (a, b) => isMember(a) && isMember(b))
}

export function sameView(a: View, b: View): boolean {
  return (
    a.role === b.role &&
    a.leader === b.leader &&
    a.token === b.token &&
    a.until === b.until &&
    (a.members === b.members || equalPlain(a.members, b.members)) &&
    (a.detail === b.detail || equalPlain(a.detail, b.detail))
  )
}
