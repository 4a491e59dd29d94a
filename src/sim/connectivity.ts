/** Who is connected with whom in the sense of timed asynchronous systems, as things stand in a network. */
import { components, type Micros, type NodeId, type Timeliness } from '../core/index.ts'
import type { Connected } from '../trace/index.ts'
import type { Network } from './network.ts'

/**
 * Two running processes are connected when every message between them is timely, both ways. A set is a stable
 * partition when all in it are connected with each other and nothing from outside may reach any of them in time.
 */
export function connectivity(
  network: Network,
  nodes: readonly NodeId[],
  running: readonly number[],
  timeliness: Timeliness,
  lateness: Micros,
): { readonly connected: Connected; readonly stable: readonly (readonly NodeId[])[] } {
  const isTimely = (from: number, to: number): boolean => {
    const delay = network.delayBetween(from, to)
    return delay !== null && delay.most <= timeliness.delay
  }
  const mayReach = (from: number, to: number): boolean => {
    const delay = network.delayBetween(from, to)
    return delay !== null && delay.least <= timeliness.fast
  }
  const allAreTimely = !network.isUneven && lateness <= timeliness.lateness
  const isConnected = (a: number, b: number): boolean => allAreTimely && isTimely(a, b) && isTimely(b, a)
  const pairs = running.flatMap((a) =>
    running.filter((b) => b > a && isConnected(a, b)).map((b) => [a, b] as const),
  )
  const isFull = pairs.length === (running.length * (running.length - 1)) / 2
  const stable = allAreTimely
    ? components(running, (a, b) => mayReach(a, b) || mayReach(b, a)).filter((part) =>
        part.every((a) => part.every((b) => a === b || isConnected(a, b))),
      )
    : []
  return {
    connected: isFull ? 'full' : pairs.map(([a, b]) => [nodes[a] as NodeId, nodes[b] as NodeId] as const),
    stable: stable.map((part) => part.map((index) => nodes[index] as NodeId)),
  }
}
