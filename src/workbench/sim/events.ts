/** The events of a scenario: changes of the network, and everything that happens to nodes and the store. */
import { type Command, type Micros, microsOf, type NodeId } from '../../core/index.ts'
import type { NodeState } from '../scenario/options.ts'
import type { ScenarioEvent } from '../scenario/scenario.ts'
import type { TraceRecord } from '../trace/index.ts'
import type { Clock } from './clock.ts'
import type { MessageEvent } from './in-flight.ts'
import type { Load } from './load.ts'
import type { Network } from './network.ts'
import { stall } from './stalls.ts'
import type { Store } from './store.ts'
import type { Pending, SimNode } from './world-node.ts'

type NetworkEvent = Extract<
  ScenarioEvent,
  | { readonly partition: unknown }
  | { readonly heal: unknown }
  | { readonly cut: unknown }
  | { readonly cutOneWay: unknown }
  | { readonly links: unknown }
  | { readonly loss: unknown }
  | { readonly duplicate: unknown }
  | { readonly slow: unknown }
  | { readonly rules: unknown }
>

/** Applies the event if it changes the network; false if it is of another kind. */
export function changeNetwork(network: Network, event: ScenarioEvent): event is NetworkEvent {
  if ('partition' in event) network.partition(event.partition)
  else if ('heal' in event) network.heal(event.heal)
  else if ('cut' in event) network.cut(event.cut, false)
  else if ('cutOneWay' in event) network.cut(event.cutOneWay, true)
  else if ('links' in event) network.replace(event.links)
  else if ('loss' in event) network.loss = event.loss
  else if ('duplicate' in event) network.duplicate = event.duplicate
  else if ('slow' in event) network.slow(event.slow, event.delayMs)
  else if ('rules' in event) network.setRules(event.rules)
  else return false
  return true
}

/** The parts of the world that these events act on. */
export type NodeEventTargets = {
  readonly store: Store
  readonly load: Load
  push(time: Micros, pending: Pending): void
  node(id: NodeId): SimNode
  boot(node: SimNode): void
  crash(node: SimNode): void
  command(node: SimNode, command: Command): void
  /** Changes the node's clock, with all that depends on it. */
  adjustClock(node: SimNode, adjust: (clock: Clock) => void): void
  /** Reports how the node's clock runs now. */
  showClock(node: SimNode): void
}

/** `ignored`: why the event changes nothing, or null. */
export function recordOf(event: ScenarioEvent, at: Micros, ignored: string | null): TraceRecord {
  const { atMs: _atMs, ...shown } = event
  return { type: 'world', at, event: ignored === null ? shown : { ...shown, ignored } }
}

/** The state that an event itself changes. What nodes do then has records of its own. */
export function statesAfter(
  event: ScenarioEvent,
  { node }: Pick<NodeEventTargets, 'node'>,
): readonly NodeState[] {
  if (!('crash' in event) || event.afterEffects !== undefined) return []
  const { id, stable } = node(event.crash)
  return [{ node: id, state: null, stable }]
}

export function changeNode(
  world: NodeEventTargets,
  event: Exclude<ScenarioEvent, NetworkEvent | MessageEvent>,
  now: Micros,
): void {
  if ('crash' in event) {
    const node = world.node(event.crash)
    if (event.afterEffects === undefined) world.crash(node)
    else node.crashAfter = event.afterEffects
  } else if ('recover' in event) {
    const node = world.node(event.recover)
    if (!node.up) world.boot(node)
  } else if ('late' in event) world.store.late = event.late
  else if ('load' in event) world.load.set(event, now, world.push)
  else if ('hang' in event) {
    // Nodes that wait for the store continue when it responds again. Settling starts then.
    const until = now + microsOf(event.forMs)
    world.store.hang(until)
    world.push(until, { type: 'storeAnswers' })
  } else if ('pause' in event) stall(world.node(event.pause), microsOf(event.forMs), now, world.push)
  else if ('suspend' in event) {
    const node = world.node(event.suspend)
    const length = microsOf(event.forMs)
    if (node.up) node.sleptFor += node.clock.stop(now, now + length)
    world.showClock(node)
    stall(node, length, now, world.push)
  } else if ('drift' in event) {
    world.adjustClock(world.node(event.drift), (clock) => clock.detune(now, event.ppm))
  } else if ('skew' in event) {
    const by = microsOf(event.byMs)
    world.adjustClock(world.node(event.skew), (clock) => clock.jump(now, by))
  } else if ('unwritable' in event) world.node(event.unwritable).isWritable = false
  else if ('writable' in event) world.node(event.writable).isWritable = true
  else {
    const { node: id, ...command } = event.command
    world.command(world.node(id), command)
  }
}
