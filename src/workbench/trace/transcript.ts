/** Renders a trace for people: one line per relevant record. */
import { type Effect, type Input, msOf, type NodeId, type View } from '../../core/index.ts'
import { idleness } from './is-leading.ts'
import type { TraceRecord } from './records.ts'
import { commandText, messageText, worldText } from './text.ts'

export type TranscriptOptions = {
  /** The protocol's own messages. Those of the layers below are omitted unless they changed something. */
  readonly kinds: readonly string[]
  /** Everything, including heartbeats. */
  readonly all: boolean
}

/** The line for a record, or null if it is not relevant. */
export function transcriptLine(record: TraceRecord, { kinds, all }: TranscriptOptions): string | null {
  const time = `${msOf(record.at).toFixed(3).padStart(12)} ms  `
  switch (record.type) {
    case 'world':
      return `${time}-- ${worldText(record.event)} --`
    case 'tick': {
      const seen = record.views.map(({ node, view }) => `${node} ${beliefText(view)}`)
      return `${time}-- ${[`a tick of ${msOf(record.by)} ms passes`, ...seen].join('; ')} --`
    }
    case 'lost':
      return all ? `${time}message ${record.message} is lost (${record.why})` : null
    case 'resume':
      return all ? `${time}${record.node} resumes here` : null
    case 'start':
    case 'step': {
      if (record.type === 'step' && record.takenBack === true)
        return `${time}${record.node} ${inputText(record.input)}: rolls back, because its data could not be stored`
      if (record.type === 'step' && record.failed !== undefined) {
        const then = record.failed.isFatal ? 'and stops' : 'and drops the message'
        return `${time}${record.node} ${inputText(record.input)}: fails (${record.failed.error}) ${then}`
      }
      const { effects, cutAfter } = record
      const carriedOut = cutAfter === null ? effects : effects.slice(0, cutAfter)
      const did = actionTexts(carriedOut, cutAfter === null ? record.view : null, all ? null : kinds)
      const cut = cutAfter === null ? '' : ` -- and crashes after ${cutAfter} of ${effects.length} effects`
      const quiet = did === '' && cut === ''
      if (quiet && !all && (record.type === 'start' || isBackground(record.input, kinds))) return null
      const cause = record.type === 'start' ? 'starts' : inputText(record.input)
      return `${time}${record.node} ${cause}${did === '' ? '' : `: ${did}`}${cut}`
    }
    default:
      return record satisfies never
  }
}

function isBackground(input: Input, kinds: readonly string[]): boolean {
  if (input.type === 'message') return !kinds.includes(input.body.kind)
  return input.type === 'timer' || input.type === 'register'
}

function inputText(input: Input): string {
  switch (input.type) {
    case 'message':
      return `receives ${messageText(input.body)} from ${input.from}`
    case 'timer':
      return `timer ${input.name}`
    case 'link':
      return `sees the link to ${input.peer} ${input.up ? 'up' : 'down'}`
    case 'register':
      return replyText(input)
    case 'command':
      return `command ${commandText(input.command)}`
    case 'suspended':
      return `wakes after a suspension of ${msOf(input.by)} ms`
    default:
      return input satisfies never
  }
}

function replyText({ call, outcome, value }: Input & { type: 'register' }): string {
  const what = call.op === 'write' ? 'its write' : `its ${call.op} of the register of ${call.of}`
  if (outcome === 'unknown') return `does not know the outcome of ${what}`
  if (call.op !== 'read') return `learns that ${what} is done`
  return value === null
    ? `reads that the register of ${call.of} was never written`
    : `reads the register of ${call.of}`
}

/** The effects in order. Equal messages to several nodes are combined. */
function actionTexts(effects: readonly Effect[], view: View | null, kinds: readonly string[] | null): string {
  const parts: { readonly text: string; readonly to: NodeId[] }[] = []
  for (const effect of effects) {
    if (effect.type === 'persist') parts.push({ text: 'persists', to: [] })
    if (effect.type === 'output' && effect.event.type === 'suspect') {
      parts.push({ text: `suspects ${JSON.stringify(effect.event['peer'])}`, to: [] })
    }
    if (effect.type !== 'send' || (kinds !== null && !kinds.includes(effect.body.kind))) continue
    const text = messageText(effect.body)
    const last = parts.at(-1)
    if (last?.text === text) last.to.push(effect.to)
    else parts.push({ text, to: [effect.to] })
  }
  const texts = parts.map(({ text, to }) => (to.length === 0 ? text : `${text} to ${to.join(', ')}`))
  return (view === null ? texts : [...texts, beliefText(view)]).join('; ')
}

function beliefText(view: View): string {
  const idle = view.role === 'leader' ? idleness(view.detail) : null
  if (idle !== null)
    return idle === 'out of quorum' ? 'leads a view without a quorum' : 'is unwilling to lead its view'
  if (view.role === 'leader') return view.token === null ? 'LEADS' : `LEADS with token ${view.token}`
  if (view.leader !== null) return `follows ${view.leader}`
  return view.role === 'candidate' ? 'has no leader' : `is ${view.role}`
}
