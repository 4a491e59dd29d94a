/**
 * How a state was come to, in a few bits: which steps out of it need not be taken, because what they lead to is known.
 *
 * Say p was expanded, and a step of node i led from there to s. A step of node j, before i in the order of nodes, that
 * could be taken at p just so, and that does not touch i's, was taken at p before i's: it led to a state q that stands
 * before s in the queue. When it is s's turn, q has been expanded, with i's step; so what j's step makes of s is known.
 *
 * A crash is left out more often. If what a node did at p is all forgotten in a crash, then a crash at s leads where a
 * crash at p did. And what is known of another node's crash at p is known of it at s, if i's step does not touch it.
 *
 * So a step is only left out if another search, which leaves none out, would come upon a known state by it: all states
 * are found in the same order and from the same parents. Nor is a violation missed: it was found on the other way, which
 * is shorter or comes first.
 *
 * Two steps of different nodes touch each other if one writes the register that the other reads, if one spends of the
 * budget, or if the monitor sees both and its memory changes by one of them.
 */

/** Of a step: whether the monitor sees something, the own register changes, the budget does. */
export const EVENTS = 1
export const WRITES = 2
export const SPENDS = 4
/** What it is: a crash that only forgets, or any other step. */
export const FORGETS = 8
export const STEP = 16
/** A crash after it leads where a crash before it does. */
export const FORGOTTEN = 32

/** Of a way: whether the monitor saw some of it, though its memory did not change; whether that did; the last step's writing. */
export const SEEN = 1
export const CHANGED = 2
export const WROTE = 4
const FLAG_BITS = 3
/** Beyond that number nothing is left out: two bytes must do. */
const MOST_NODES = 5

/** Nothing is known of the way: all steps are taken. */
export const ANY_WAY = 0

/** The part of a way that says whose step was the last, and which register it read (its own: none). */
export function lastStep(nodes: number, node: number, register: number): number {
  return nodes > MOST_NODES ? ANY_WAY : (1 + node * nodes + register) << (FLAG_BITS + MOST_NODES)
}

/** -1 where nothing is known. */
export function moverOf(nodes: number, way: number): number {
  return way === ANY_WAY ? -1 : (((way >> (FLAG_BITS + MOST_NODES)) - 1) / nodes) | 0
}

export function readOf(nodes: number, way: number): number {
  return way === ANY_WAY ? -1 : ((way >> (FLAG_BITS + MOST_NODES)) - 1) % nodes
}

/** The bit that says that a node's crash leads to what is known. */
export function crashOf(node: number): number {
  return 1 << (FLAG_BITS + node)
}

/** Of a way, the crashes that are known after a step of this node, but for its own; those before it were just taken. */
export function crashesBeside(node: number, way: number): number {
  const before = crashOf(node) - crashOf(0)
  const after = (crashOf(MOST_NODES) - 1) & ~(crashOf(node + 1) - 1)
  return before | (way & after)
}
