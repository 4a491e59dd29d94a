/** The cause of one record. */
import { msOf, type NodeId } from '../../../core/index.ts'
import type { TraceRecord } from '../records.ts'
import { closes, opens, sourceOfLoss } from './losses.ts'
import { carriedOut, type Past, type StepRecord } from './past.ts'
import { lossText, nameOf, timeText, type Words } from './sentences.ts'
import { whyGivenUp, whyLeaderSilent, whyNothingCame } from './silences.ts'

/** `record`: the cause. `because`: how it led to the effect. `via`: the message that led from it to the effect. */
export type Link = { readonly record: number; readonly because: string; readonly via: number | null }

type Step = TraceRecord & { readonly type: 'step' }

export function causeOf(past: Past, words: Words, index: number): Link | null {
  const record = past.records[index]
  switch (record?.type) {
    case 'step':
      return causeOfStep(past, words, record, index)
    case 'start':
      return causeOfStart(past, record, index)
    case 'lost': {
      const sending = past.sendingOf(record.message)
      if (sending === null) return null
      const source = sourceOfLoss(past, { ...sending, why: record.why, record: index })
      if (source !== null)
        return { record: source, because: `it was lost ${lossText(record.why)}`, via: null }
      const because = `node ${sending.from} sent it, and nothing in the run but the scenario's own network lost it`
      return { record: sending.record, because, via: sending.message }
    }
    default:
      return null
  }
}

function causeOfStart(past: Past, { node, at }: StepRecord, index: number): Link | null {
  const event = past.last(index, (each) => each.type === 'world' && recovers(each.event, node))
  const absence = past.absences.find((each) => each.node === node && each.kind === 'down' && each.to === at)
  if (absence === undefined) return null
  if (event !== null && event > absence.record)
    return { record: event, because: 'the scenario restarted it', via: null }
  return { record: absence.record, because: 'it was down', via: null }
}

function recovers(event: (TraceRecord & { readonly type: 'world' })['event'], node: NodeId): boolean {
  return event['recover'] === node || (event['node'] === node && event['do'] === 'recover')
}

function causeOfStep(past: Past, words: Words, record: Step, index: number): Link | null {
  const { input, node, message } = record
  switch (input.type) {
    case 'message':
      if (message === null) return null
      return whyGivenUp(past, words, index) ?? causeOfArrival(past, words, message, index)
    case 'timer':
      return causeOfTimer(past, words, record, index, input.name)
    case 'command': {
      const event = past.last(
        index,
        ({ type, at, ...rest }) =>
          type === 'world' && at === record.at && 'event' in rest && 'command' in rest.event,
      )
      return event === null ? null : { record: event, because: 'the scenario gave this command', via: null }
    }
    case 'suspended': {
      const ended = past.absences.filter(
        (each) => each.node === node && each.kind === 'suspended' && each.record < index,
      )
      const last = ended.at(-1)
      return last === undefined ? null : { record: last.record, because: 'its host was suspended', via: null }
    }
    case 'link':
      return causeOfLinkChange(past, node, input.peer, input.up, index)
    case 'register':
      return whyLeaderSilent(past, words, index) ?? causeOfReply(past, record, index)
    default:
      return input satisfies never
  }
}

function causeOfArrival(past: Past, words: Words, message: number, index: number): Link | null {
  const sending = past.sendingOf(message)
  if (sending === null) return null
  const { record, from, body } = sending
  const { at } = past.records[record] as TraceRecord
  const isCopy = past.endingsOf(message).some((ending) => ending.record < index)
  const delay = past.last(index, (each) => each.type === 'world' && each.event['delay'] === message)
  const how = [
    ...(isCopy ? ['this is a copy of it'] : []),
    ...(delay === null ? [] : ['an event delayed it']),
  ]
  const sent = `node ${from} sent ${nameOf(words, body)} ${timeText(past, at)}`
  return { record, because: [sent, ...how].join('; '), via: message }
}

/** A timer that its own firing sets again: its first setting counts. */
function causeOfTimer(
  past: Past,
  words: Words,
  { node, at }: Step,
  index: number,
  name: string,
): Link | null {
  const sets = (record: StepRecord): boolean =>
    record.node === node &&
    carriedOut(record).some((effect) => effect.type === 'setTimer' && effect.name === name)
  let set = past.lastStep(index, sets)
  if (set === null) return null
  const lastSet = set
  const silence =
    whyLeaderSilent(past, words, index) ?? whyNothingCame(past, words, { node, set, fired: index })
  if (silence !== null) return silence
  let repeats = 0
  while (set !== null) {
    const record = past.records[set] as StepRecord
    if (record.type !== 'step' || record.input.type !== 'timer' || record.input.name !== name) break
    const earlier = past.lastStep(set, sets)
    if (earlier === null) break
    set = earlier
    repeats += 1
  }
  const since = (past.records[set] as TraceRecord).at
  const last = (past.records[lastSet] as TraceRecord).at
  const again = repeats === 0 ? '' : `, and again each time it fired, last ${timeText(past, last)}`
  const waited =
    past.isTimed && repeats === 0 && at > last ? ` and nothing reset it for ${msOf(at - last)} ms` : ''
  return { record: set, because: `it set this timer ${timeText(past, since)}${again}${waited}`, via: null }
}

function causeOfLinkChange(past: Past, node: NodeId, peer: NodeId, up: boolean, index: number): Link | null {
  const changed = past.last(index, (record) => {
    if (record.type === 'world') {
      const { event } = record
      if (up) return opens(event, node, peer) || recovers(event, peer)
      return closes(event, node, peer) || closes(event, peer, node) || event['crash'] === peer
    }
    if (record.type === 'lost' && !up) {
      const sending = past.sendingOf(record.message)
      return sending !== null && [sending.from, sending.to].every((id) => id === node || id === peer)
    }
    return record.type === 'start' && up && (record.node === peer || record.node === node)
  })
  if (changed === null) return null
  const because = up ? 'both ends could talk again' : 'the link failed'
  return { record: changed, because, via: null }
}

function causeOfReply(past: Past, record: Step, index: number): Link | null {
  const { input, node } = record
  if (input.type !== 'register') return null
  const { call } = input
  const wrote = call.op === 'read' ? newsOf(past, node, call.of, index) : null
  if (wrote !== null) {
    const { at, node: writer } = past.records[wrote] as StepRecord
    return { record: wrote, because: `node ${writer} had written it ${timeText(past, at)}`, via: null }
  }
  const asked = past.lastStep(
    index,
    (step) =>
      step.node === node &&
      carriedOut(step).some((effect) => effect.type === 'register' && effect.call.id === call.id),
  )
  if (asked === null) return null
  const { at } = past.records[asked] as TraceRecord
  return { record: asked, because: `it called the register ${timeText(past, at)}`, via: null }
}

/** The last write of a register by another node, if this node has not read the register since. */
function newsOf(past: Past, reader: NodeId, of: NodeId, index: number): number | null {
  const wrote = past.lastStep(
    index,
    (step) =>
      step.node !== reader &&
      carriedOut(step).some(({ type, ...rest }) => {
        if (type !== 'register' || !('call' in rest)) return false
        return rest.call.op === 'write' ? step.node === of : rest.call.op === 'bury' && rest.call.of === of
      }),
  )
  const read = past.lastStep(
    index,
    (step) =>
      step.node === reader &&
      step.type === 'step' &&
      step.input.type === 'register' &&
      step.input.call.op === 'read' &&
      step.input.call.of === of,
  )
  return wrote !== null && (read === null || wrote > read) ? wrote : null
}
