/**
 * How a state was come to, in one word: which steps out of it need not be taken, because what they lead to is known.
 *
 * Say p was expanded, and a step of node i led from there to s. A step of node j, before i in the order of nodes, that
 * could be taken at p just so, and that does not touch i's, was taken at p before i's: it led to a state q that stands
 * before s in the queue. When it is s's turn, q has been expanded, with i's step; so what j's step makes of s is known.
 *
 * A crash is left out more often. If a crash forgets all that a node did at p, then its crash at s leads where its crash
 * at p did; and if what it did was to come back, its crash leads back to p, where crashes are not counted. What is known of
 * another node's crash at p is known of it at s, if i's step does not touch it.
 *
 * So a step is left out only if a search that leaves none out would come upon a known state by it. All states are found
 * in the same order and from the same parents; and no violation is missed, for it was found on the other sleepSet before.
 *
 * Two steps of different nodes touch each other if one writes the register that the other reads, or if the monitor, shown
 * what is seen of the two, remembers another thing when it is shown them in turn. (Of a budget they spend as much in either
 * order; but a crash forgets nothing that a step has spent.)
 */

/** Marks of a step: the monitor sees something of it, the own register changes. */
export const EVENTS = 1
export const WRITES = 2
/** What it is: a crash, which only forgets, or any other step. */
export const FORGETS = 4
export const STEP = 8

/** Nothing is known of the sleepSet: all steps are taken. */
export const NO_SLEEP_SET = 0
/** Of a sleepSet: its last step changed a register; its last step began a new life. */
export const WROTE = 1
export const RECOVERED = 2
/** Then a bit a node, for crashes that lead to what is known; the last step; and the number of what was seen of it. */
const CRASHES_AT = 2
const MOST_NODES = 5
const STEP_AT = CRASHES_AT + MOST_NODES
const EVENTS_AT = 16
const MOST_EVENTS = 0xffff

/** The sleepSet that a step makes, of a node which reads a register (its own: none), before more is known. */
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

/** What was seen of the last step: a list's number. */
export function eventsOf(sleepSet: number): number {
  return sleepSet >>> EVENTS_AT
}

/** Whose the last step was; -1 where that is not known. */
export function moverOf(nodes: number, sleepSet: number): number {
  return sleepSet === NO_SLEEP_SET ? -1 : (stepOf(sleepSet) / nodes) | 0
}

export function registerOf(nodes: number, sleepSet: number): number {
  return sleepSet === NO_SLEEP_SET ? -1 : stepOf(sleepSet) % nodes
}

function stepOf(sleepSet: number): number {
  return ((sleepSet & ((1 << EVENTS_AT) - 1)) >> STEP_AT) - 1
}

/** The bit that says that a crash of the node leads to what is known. */
export function crashBit(node: number): number {
  return 1 << (CRASHES_AT + node)
}

/** Once a node has taken a step: the crashes of those after it that were known before, and of those before it. */
export function sleepingCrashes(node: number, known: number): number {
  const before = crashBit(node) - crashBit(0)
  const after = crashBit(MOST_NODES) - crashBit(node + 1)
  return before | (known & after)
}
