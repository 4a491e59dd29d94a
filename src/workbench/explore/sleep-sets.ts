/**
 * Sleep sets (Godefroid): a partial-order reduction. The sleep set of a state is a bitmask of transitions
 * that lead only to known states, so the search need not take them.
 *
 * Let a step of node i lead from p to s. Let j precede i in node order, and let j's step at p be independent
 * of i's. The search took j's step at p first, which led to a state q before s in the queue. When the search
 * reaches s, it has already expanded q with i's step. So the result of j's step at s is known.
 *
 * Crashes sleep more often. If a crash discards all that node i did at p, its crash at s leads to the same
 * state as its crash at p. If i's step was its recovery, its crash leads back to p. A crash of another node
 * that sleeps at p also sleeps at s if i's step is independent of it.
 *
 * The reduction omits transitions, never states: the search finds all states in the same order and from the
 * same parents as without it. It misses no violation, because the other path found it first.
 *
 * Two steps of different nodes are dependent if one writes the register that the other reads, or if the
 * monitor's memory depends on their order. (Both orders cost the same budget; but a crash does not refund the
 * cost of a step.)
 */

/** Marks of a step: it produces observations; it changes the node's own register. */
export const EVENTS = 1
export const WRITES = 2
/** The type of a step: a crash that only discards state, or any other step. */
export const FORGETS = 4
export const STEP = 8

/** Nothing is known: take all steps. */
export const NO_SLEEP_SET = 0
/** Flags of the last step: it changed a register; it was a recovery. */
export const WROTE = 1
export const RECOVERED = 2
/** Then one bit per node for its sleeping crash, the last step, and the id of its observations. */
const CRASHES_AT = 2
const MOST_NODES = 5
const STEP_AT = CRASHES_AT + MOST_NODES
const EVENTS_AT = 16
const MOST_EVENTS = 0xffff

/**
 * The sleep set after a step of a node that reads this register (its own: none), before the parent's sleep
 * set is added.
 */
export function makeSleepSet(
  nodes: number,
  node: number,
  register: number,
  events: number,
  flags: number,
): number {
  if (nodes > MOST_NODES || events > MOST_EVENTS) return NO_SLEEP_SET
  return (events << EVENTS_AT) | ((1 + node * nodes + register) << STEP_AT) | flags
}

/** The id of the observations of the last step. */
export function eventsOf(sleepSet: number): number {
  return sleepSet >>> EVENTS_AT
}

/** The node that took the last step; -1 if unknown. */
export function moverOf(nodes: number, sleepSet: number): number {
  return sleepSet === NO_SLEEP_SET ? -1 : (stepOf(sleepSet) / nodes) | 0
}

export function registerOf(nodes: number, sleepSet: number): number {
  return sleepSet === NO_SLEEP_SET ? -1 : stepOf(sleepSet) % nodes
}

function stepOf(sleepSet: number): number {
  return ((sleepSet & ((1 << EVENTS_AT) - 1)) >> STEP_AT) - 1
}

/** The bit for a sleeping crash of the node. */
export function crashBit(node: number): number {
  return 1 << (CRASHES_AT + node)
}

/**
 * The crashes that sleep after a step of the node: those of all earlier nodes, and those of later nodes that
 * already slept.
 */
export function sleepingCrashes(node: number, known: number): number {
  const before = crashBit(node) - crashBit(0)
  const after = crashBit(MOST_NODES) - crashBit(node + 1)
  return before | (known & after)
}
