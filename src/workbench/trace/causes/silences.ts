/** Why a timer was not reset in time: which messages did not come, and what kept them away. */
import { type Micros, msOf, type NodeId } from '../../../core/index.ts'
import type { TraceRecord } from '../records.ts'
import type { Link } from './cause.ts'
import { sourceOfLoss } from './losses.ts'
import { type Absence, carriedOut, isStep, type Past, type Sending, type StepRecord } from './past.ts'
import { instantText, listText, lossText, nameOf, timeText, viewBefore, type Words } from './sentences.ts'

/** A longer list of messages is cut. */
const MOST_NAMED = 3

/** The time in which a node waited: from the step that set its timer to the step at which the timer fired. */
type Wait = { readonly node: NodeId; readonly set: number; readonly fired: number }

/**
 * A step that changes what a node believes, or does more than usual, although no message came: its leader was silent. Null
 * if nothing kept the leader's messages away.
 */
export function whyLeaderSilent(past: Past, words: Words, index: number): Link | null {
  const record = past.records[index] as StepRecord
  const { node } = record
  const leader = viewBefore(past, node, index)?.leader ?? null
  if (leader === null) return isCandidacy(past, words, record, index) ? lostLeader(past, node, index) : null
  if (leader === node || !isUnusual(past, words, record, index)) return null
  const heard = past.lastStep(
    index,
    (step) =>
      step.node === node &&
      step.type === 'step' &&
      step.input.type === 'message' &&
      step.input.from === leader,
  )
  const wait = { node, set: heard ?? 0, fired: index }
  return (
    ownAbsence(past, wait) ??
    lostMessages(past, words, wait, [leader]) ??
    absentPeer(past, wait, [leader]) ??
    changedClock(past, wait, [leader])
  )
}

/** A node gives up its leader when it handles a message of another node: the silence of the leader is the reason. */
export function whyGivenUp(past: Past, words: Words, index: number): Link | null {
  const record = past.records[index] as StepRecord
  if (record.type !== 'step' || record.input.type !== 'message' || record.view === null) return null
  const before = viewBefore(past, record.node, index)?.leader ?? null
  if (before === null || record.view.leader !== null || record.input.from === before) return null
  return whyLeaderSilent(past, words, index)
}

/** Whether a node without a leader sends messages of the protocol, or changes what it believes. */
function isCandidacy(past: Past, words: Words, record: StepRecord, index: number): boolean {
  const sent = past.sendings.filter((sending) => sending.record === index)
  return record.view !== null || sent.some(({ body }) => words.kinds.includes(nameOf(words, body)))
}

/** The step since which the node has no leader; null if it has had none since it started. */
function lostLeader(past: Past, node: NodeId, index: number): Link | null {
  for (let place = index - 1; place >= 0; place--) {
    const step = past.records[place]
    if (!isStep(step) || step.node !== node || step.view === null) continue
    if (step.view.leader !== null || step.type === 'start') return null
    const before = viewBefore(past, node, place)?.leader ?? null
    if (before === null) continue
    const how = before === node ? 'when it stopped leading' : `when it lost ${before}`
    const because = `it has had no leader since ${instantText(past, step.at)}, ${how}`
    return { record: place, because, via: null }
  }
  return null
}

/** Whether the step changes the node's leader or role, or sends what its last step with such an input did not. */
function isUnusual(past: Past, words: Words, record: StepRecord, index: number): boolean {
  const before = viewBefore(past, record.node, index)
  const { view } = record
  if (view !== null && (view.leader !== before?.leader || view.role !== before.role)) return true
  const same = past.lastStep(index, (step) => step.node === record.node && isSameInput(step, record))
  if (same === null) return false
  const kinds = (place: number): readonly string[] =>
    past.sendings.filter((sending) => sending.record === place).map(({ body }) => nameOf(words, body))
  const usual = kinds(same)
  return kinds(index).some((kind) => !usual.includes(kind))
}

function isSameInput(a: StepRecord, b: StepRecord): boolean {
  if (a.type !== 'step' || b.type !== 'step' || a.input.type !== b.input.type) return false
  return a.input.type !== 'timer' || b.input.type !== 'timer' || a.input.name === b.input.name
}

/** Null if the timer waits for no peer, or nothing kept its messages away. */
export function whyNothingCame(past: Past, words: Words, wait: Wait): Link | null {
  const peers = awaitedBy(past, wait)
  if (peers.length === 0) return null
  return (
    ownAbsence(past, wait) ??
    lostMessages(past, words, wait, peers) ??
    absentPeer(past, wait, peers) ??
    lateMessages(past, words, wait, peers) ??
    changedClock(past, wait, peers)
  )
}

/** The peers that the step which set the timer heard from, or wrote to. */
function awaitedBy(past: Past, { set, node, fired }: Wait): readonly NodeId[] {
  const record = past.records[set] as StepRecord
  if (record.type === 'step' && record.input.type === 'message') return [record.input.from]
  // A timer that sets itself again beats time, and waits for nothing.
  if (isSameInput(record, past.records[fired] as StepRecord)) return []
  const written = carriedOut(record).flatMap((effect) => (effect.type === 'send' ? [effect.to] : []))
  return [...new Set(written)].filter((peer) => peer !== node)
}

function timesOf(past: Past, { set, fired }: Wait): readonly [from: Micros, to: Micros] {
  return [(past.records[set] as TraceRecord).at, (past.records[fired] as TraceRecord).at]
}

function overlaps({ from, to }: Absence, [begin, end]: readonly [Micros, Micros]): boolean {
  return from <= end && to > begin
}

/** The node itself did nothing, while messages waited for it. */
function ownAbsence(past: Past, wait: Wait): Link | null {
  const times = timesOf(past, wait)
  const stall = past.absences.findLast(
    (each) =>
      each.node === wait.node && each.kind !== 'down' && each.record < wait.fired && overlaps(each, times),
  )
  if (stall === undefined) return null
  const because = `it was ${stall.kind} for ${msOf(stall.to - stall.from)} ms, and messages had to wait for it`
  return { record: stall.record, because, via: null }
}

/** Messages between the node and the peers that were sent during the wait. */
function between(past: Past, wait: Wait, peers: readonly NodeId[]): readonly Sending[] {
  const [from, to] = timesOf(past, wait)
  return past.sendings.filter((sending) => {
    const { at } = past.records[sending.record] as TraceRecord
    const isAwaited = sending.to === wait.node && peers.includes(sending.from)
    const isRequest = sending.record === wait.set && peers.includes(sending.to)
    return (isAwaited || isRequest) && at >= from && at <= to && sending.record < wait.fired
  })
}

function lostMessages(past: Past, words: Words, wait: Wait, peers: readonly NodeId[]): Link | null {
  const lost = between(past, wait, peers).flatMap((sending) => {
    const endings = past.endingsOf(sending.message)
    const [ending] = endings
    const isLost = ending !== undefined && ending.lost !== null && endings.every((each) => each.lost !== null)
    return isLost && ending.record <= wait.fired + 1 ? [{ sending, ending, why: ending.lost }] : []
  })
  const [first] = lost
  if (first === undefined) return null
  const { sending, ending, why } = first
  const same = lost.filter((each) => each.why === why).map((each) => each.sending)
  const source = sourceOfLoss(past, { ...sending, why, record: ending.record })
  const because = `nothing came in time: ${missingText(words, same)} lost ${lossText(why, same.length)}`
  if (source !== null) return { record: source, because, via: null }
  return { record: sending.record, because, via: sending.message }
}

/** Such as: messages 4, 7 and 9 (heartbeat from 1) were. */
function missingText(words: Words, sendings: readonly Sending[]): string {
  const senders = [...new Set(sendings.map(({ from }) => from))]
  const kinds = [...new Set(sendings.map(({ body }) => nameOf(words, body)))]
  const numbers = sendings.slice(0, MOST_NAMED).map(({ message }) => message)
  const more = sendings.length - numbers.length
  const which = listText(more > 0 ? [...numbers, `${more} more`] : numbers)
  const what = `${which} (${listText(kinds)} from ${listText(senders)})`
  return sendings.length === 1 ? `message ${what} was` : `messages ${what} were`
}

function absentPeer(past: Past, wait: Wait, peers: readonly NodeId[]): Link | null {
  const times = timesOf(past, wait)
  const absence = past.absences.findLast(
    (each) => peers.includes(each.node) && each.record < wait.fired && overlaps(each, times),
  )
  if (absence === undefined) return null
  const what =
    absence.kind === 'down'
      ? `down since it crashed ${timeText(past, absence.from)}`
      : `${absence.kind} since ${instantText(past, absence.from)}`
  return {
    record: absence.record,
    because: `nothing came in time from ${absence.node}, which was ${what}`,
    via: null,
  }
}

function lateMessages(past: Past, words: Words, wait: Wait, peers: readonly NodeId[]): Link | null {
  const late = between(past, wait, peers).filter(({ message }) =>
    past.endingsOf(message).every(({ record }) => record > wait.fired),
  )
  const [first] = late
  if (first === undefined) return null
  const delay = past.last(
    wait.fired,
    (record) =>
      record.type === 'world' &&
      (late.some(({ message }) => record.event['delay'] === message) || 'slow' in record.event),
  )
  const because = `nothing came in time: ${missingText(words, late)} still in flight`
  if (delay !== null) return { record: delay, because, via: null }
  return { record: first.record, because, via: first.message }
}

/** A clock that an event has changed measures the time of the wait wrongly, or makes a peer late. */
function changedClock(past: Past, wait: Wait, peers: readonly NodeId[]): Link | null {
  const nodes = [wait.node, ...peers]
  const changed = past.last(
    wait.fired,
    ({ type, ...rest }) =>
      type === 'world' &&
      'event' in rest &&
      nodes.some((node) => rest.event['drift'] === node || rest.event['skew'] === node),
  )
  if (changed === null) return null
  const { at, event } = past.records[changed] as TraceRecord & { readonly type: 'world' }
  const since = instantText(past, at)
  const node = nodes.find((id) => event['drift'] === id || event['skew'] === id) ?? wait.node
  const because =
    node === wait.node
      ? `nothing came in time by its own clock, which is wrong since ${since}`
      : `nothing came in time from ${node}, whose clock is wrong since ${since}`
  return { record: changed, because, via: null }
}
