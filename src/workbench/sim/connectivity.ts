/** Connectivity in the sense of timed asynchronous systems, for the current state of the network. */
import { components, type Micros, type NodeId, type Timeliness } from '../../core/index.ts'
import type { Connected, Reach } from '../trace/index.ts'
import type { Network } from './network.ts'

/** A message that an event dropped (null) or made to take this long. */
export type UntimelyMessage = { readonly from: number; readonly to: number; readonly delay: Micros | null }

/** Which nodes run, and which of them cannot store anything. */
type Condition = {
  readonly running: readonly number[]
  readonly unwritable: readonly number[]
  /** Messages sent before this instant that an event has dropped, or made later than δ. */
  readonly untimely?: readonly UntimelyMessage[]
}

/** Whether a message from one node may reach another in time, if both run. */
export function mayReach(network: Network, from: number, to: number, { fast }: Timeliness): boolean {
  const { least } = network.qualityBetween(from, to)
  return least !== null && least + network.load.addedBetween(from, to).least <= fast
}

/** The parts of the world that decide it. `lateness`: how late timers are without load. */
export type ConnectivityContext = {
  readonly network: Network
  readonly nodes: readonly NodeId[]
  readonly timeliness: Timeliness
  readonly lateness: Micros
  readonly now: Micros
}

/**
 * Two running nodes are connected if every message between them, both ways, is timely. A set is a stable
 * partition if its nodes are pairwise connected and no message from outside can reach any of them in time.
 */
export function connectivity(
  { network, nodes, timeliness, lateness, now }: ConnectivityContext,
  { running, unwritable, untimely = [] }: Condition,
): { readonly connected: Connected; readonly stable: readonly (readonly NodeId[])[]; readonly reach: Reach } {
  const actsInTime = (node: number): boolean =>
    lateness + network.load.mostLate(node, now) <= timeliness.lateness
  const isPunctual = lateness <= timeliness.lateness && running.every(actsInTime)
  const isTimely = (from: number, to: number): boolean => {
    if (untimely.some((message) => message.from === from && message.to === to)) return false
    const { most } = network.qualityBetween(from, to)
    if (most === null || !actsInTime(from) || !actsInTime(to)) return false
    return most + network.load.addedBetween(from, to).most <= timeliness.delay
  }
  const canReach = (from: number, to: number): boolean => mayReach(network, from, to, timeliness)
  const hearsItself = (node: number): boolean => network.qualityBetween(node, node).most !== null
  const isByChance = (from: number, to: number): boolean => {
    const { losesByChance, most } = network.qualityBetween(from, to)
    const added = network.load.addedBetween(from, to).most
    return losesByChance || (most !== null && most + added > timeliness.delay && canReach(from, to))
  }
  const isConnected = (a: number, b: number): boolean => isTimely(a, b) && isTimely(b, a)
  const directed = running.flatMap((a) => running.filter((b) => b !== a).map((b) => [a, b] as const))
  const timely = directed.filter(([from, to]) => isTimely(from, to))
  const pairs = directed.filter(([a, b]) => a < b && isConnected(a, b))
  const isFull = 2 * pairs.length === directed.length
  const stable = components(running, (a, b) => canReach(a, b) || canReach(b, a)).filter((part) =>
    part.every((a) => actsInTime(a) && part.every((b) => (a === b ? hearsItself(a) : isConnected(a, b)))),
  )
  const named = ([a, b]: readonly [number, number]) => [nodes[a] as NodeId, nodes[b] as NodeId] as const
  return {
    connected: isFull ? 'full' : pairs.map(named),
    stable: stable.map((part) => part.map((index) => nodes[index] as NodeId)),
    reach: {
      running: running.map((index) => nodes[index] as NodeId),
      timely: timely.length === directed.length ? 'full' : timely.map(named),
      unwritable: unwritable.map((index) => nodes[index] as NodeId),
      byChance: !isPunctual || directed.some(([from, to]) => isByChance(from, to)),
    },
  }
}
