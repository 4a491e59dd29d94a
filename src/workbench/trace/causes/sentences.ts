/** What a record says, as one sentence. */
import {
  type Definition,
  type Input,
  type Message,
  type Micros,
  msOf,
  type NodeId,
  type View,
} from '../../../core/index.ts'
import { idleness, isLeading } from '../is-leading.ts'
import type { LossReason, TraceRecord } from '../records.ts'
import { commandText, worldText } from '../text.ts'
import { carriedOut, isStep, type Past, type StepRecord } from './past.ts'

export type Words = Pick<Definition, 'kinds' | 'kindOf' | 'carried'>

const LOSSES: { readonly [why in LossReason]: string } = {
  chance: 'by chance',
  cut: 'because the link was cut',
  rule: 'because of a rule of the network',
  down: 'because its receiver was down',
  dropped: 'because an event dropped it',
}

/** `count`: how many messages. */
export function lossText(why: LossReason, count = 1): string {
  return why === 'dropped' && count > 1 ? 'because events dropped them' : LOSSES[why]
}

/** `via`: the message that led on from this step, if one did. */
export function sentenceOf(past: Past, words: Words, index: number, via: number | null): string {
  const record = past.records[index] as TraceRecord
  switch (record.type) {
    case 'start':
    case 'step':
      return `Node ${record.node} ${stepText(past, words, record, index, via)}.`
    case 'world':
      return `An event of the scenario: ${worldText(record.event)}.`
    case 'lost': {
      const sending = past.sendingOf(record.message)
      const name =
        sending === null ? '' : ` (${nameOf(words, sending.body)} from ${sending.from} to ${sending.to})`
      return `Message ${record.message}${name} is lost ${lossText(record.why)}.`
    }
    case 'tick':
      return `A tick of ${msOf(record.by)} ms passes on all clocks.`
    case 'resume':
      return `The recording of node ${record.node} begins here.`
    default:
      return record satisfies never
  }
}

/** The messages of the protocol in a message, by their kinds. */
export function nameOf({ kinds, kindOf, carried }: Words, body: Message): string {
  try {
    const own = carried(body).filter(({ kind }) => kinds.includes(kind))
    return own.length === 0 ? kindOf(body) : own.map(({ kind }) => kind).join(' and ')
  } catch {
    // A damaged trace: the fields of the message are not what they should be.
    return body.kind
  }
}

export function timeText(past: Past, at: Micros): string {
  return `${past.isTimed ? 'at' : 'in'} ${instantText(past, at)}`
}

export function instantText(past: Past, at: Micros): string {
  return past.isTimed ? `${msOf(at)} ms` : `step ${Math.round(msOf(at))}`
}

/** What a step is, apart from its time and values: steps with the same text are rounds of one repetition. */
export function patternOf(past: Past, words: Words, index: number): string {
  const record = past.records[index]
  if (!isStep(record) || record.type === 'start') return `record ${index}`
  const { input, node } = record
  const sent = past.sendings.filter((sending) => sending.record === index)
  const kinds = new Set(sent.map(({ body }) => nameOf(words, body)))
  const what = input.type === 'message' ? nameOf(words, input.body) : input.type === 'timer' ? input.name : ''
  return JSON.stringify([node, input.type, what, [...kinds], beliefText(past, record, index)])
}

export function listText(items: readonly (string | number)[]): string {
  if (items.length < 2) return items.join('')
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

function stepText(past: Past, words: Words, record: StepRecord, index: number, via: number | null): string {
  const cause = record.type === 'start' ? startText(past, record, index) : inputText(words, record.input)
  if (record.type === 'step' && record.takenBack === true)
    return `${cause}, but cannot store its data, so the step does not happen`
  if (record.type === 'step' && record.failed !== undefined)
    return `${cause} and fails: ${record.failed.error}`
  const belief = beliefText(past, record, index)
  const sent = via === null && belief !== null ? null : sentText(past, words, record, index, via)
  const crash =
    record.cutAfter === null ? null : `crashes after ${record.cutAfter} of ${record.effects.length} effects`
  return listText([cause, sent, belief, crash].filter((part) => part !== null))
}

function startText(past: Past, { node }: StepRecord, index: number): string {
  const isFirst = past.lastStep(index, (step) => step.node === node) === null
  return isFirst ? 'starts' : 'restarts'
}

function inputText(words: Words, input: Input): string {
  switch (input.type) {
    case 'message':
      return `receives ${nameOf(words, input.body)} from ${input.from}`
    case 'timer':
      return `reaches the deadline of its timer "${input.name}"`
    case 'link':
      return `sees the link to ${input.peer} go ${input.up ? 'up' : 'down'}`
    case 'register': {
      const what = input.call.op === 'write' ? 'its own register' : `the register of ${input.call.of}`
      if (input.outcome === 'unknown') return `does not learn the outcome of its ${input.call.op} of ${what}`
      return input.call.op === 'read' ? `has read ${what}` : `has written ${what}`
    }
    case 'command':
      return `gets the command ${commandText(input.command)}`
    case 'suspended':
      return `wakes after a suspension of ${msOf(input.by)} ms`
    default:
      return input satisfies never
  }
}

/** What the node sends: the message that led on, or all, with the receivers of equal kinds together. */
function sentText(
  past: Past,
  words: Words,
  record: StepRecord,
  index: number,
  via: number | null,
): string | null {
  const all = past.sendings.filter((sending) => sending.record === index)
  const chosen = all.filter(({ message }) => via === null || message === via)
  const receivers = new Map<string, NodeId[]>()
  for (const { body, to } of chosen) {
    const name = nameOf(words, body)
    receivers.set(name, [...(receivers.get(name) ?? []), to])
  }
  if (receivers.size === 0)
    return carriedOut(record).some(({ type }) => type === 'register') ? 'calls registers' : null
  return `sends ${listText([...receivers].map(([name, to]) => `${name} to ${listText(to)}`))}`
}

/** What the node believes from now on, if that has changed. */
function beliefText(past: Past, { node, view, cutAfter }: StepRecord, index: number): string | null {
  if (view === null || cutAfter !== null) return null
  const before = viewBefore(past, node, index)
  const did = before !== null && isLeading(before.role, before.detail)
  const does = isLeading(view.role, view.detail)
  const hadToken = before?.token ?? null
  if (does && (!did || hadToken !== view.token))
    return view.token === null ? 'begins to lead' : `begins to lead with token ${view.token}`
  if (did && !does) return 'stops leading'
  if (does || before?.leader === view.leader) return null
  const idle = view.role === 'leader' ? idleness(view.detail) : null
  if (idle !== null)
    return idle === 'out of quorum' ? 'leads a view without a quorum' : 'is unwilling to lead its view'
  return view.leader === null ? (before === null ? null : 'has no leader any more') : `follows ${view.leader}`
}

/** What a node believed before a record; null if it had not started. */
export function viewBefore(past: Past, node: NodeId, index: number): View | null {
  for (let place = index - 1; place >= 0; place--) {
    const record = past.records[place]
    if (record?.type === 'tick') {
      const seen = record.views.find((each) => each.node === node)
      if (seen !== undefined) return seen.view
    }
    if (!isStep(record) || record.node !== node) continue
    if (record.view !== null) return record.view
    if (record.type === 'start') return null
  }
  return null
}
