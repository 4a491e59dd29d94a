/** Renders a trace for people: one line per relevant event, in words. */
import {
  type Definition,
  type Effect,
  type Input,
  type Message,
  type MessageSummary,
  msOf,
  type NodeId,
  type Plain,
  type View,
} from '../../core/index.ts'
import { idleness } from './is-leading.ts'
import type { TraceRecord } from './records.ts'
import { commandText, messageText, worldText } from './text.ts'

/** `kinds`: the protocol's own messages. */
export type TranscriptOptions = Pick<Definition, 'kinds'> &
  Partial<Pick<Definition, 'carried' | 'summaryOf'>> & {
    /** The content of a register in words; null where it is not shown. */
    readonly registers?: Pick<NonNullable<Definition['registers']>, 'describe'> | null
    /** Everything, including heartbeats and renewals. */
    readonly all: boolean
  }

type Step = TraceRecord & { readonly type: 'start' | 'step' }

/**
 * Remembers what each node believed, so that a line says what has changed. A step is left out if nothing changed, and
 * if it received and sent nothing but routine messages and messages of the layers below the protocol.
 */
export class Transcript {
  readonly #options: TranscriptOptions
  readonly #beliefs = new Map<NodeId, string>()

  constructor(options: TranscriptOptions) {
    this.#options = options
  }

  /** The line for the next record of the trace, or null if it is not relevant. */
  line(record: TraceRecord): string | null {
    const { all } = this.#options
    const time = `${msOf(record.at).toFixed(3).padStart(12)} ms  `
    switch (record.type) {
      case 'world':
        return `${time}-- ${worldText(record.event)} --`
      case 'tick': {
        const seen = record.views.map(({ node, view }) => `${node} ${this.#believe(node, view)}`)
        return `${time}-- ${[`a tick of ${msOf(record.by)} ms passes`, ...seen].join('; ')} --`
      }
      case 'lost':
        return all ? `${time}message ${record.message} is lost (${record.why})` : null
      case 'resume':
        return all ? `${time}${record.node} resumes here` : null
      case 'start':
      case 'step': {
        const text = this.#stepText(record)
        return text === null ? null : `${time}${record.node} ${text}`
      }
      default:
        return record satisfies never
    }
  }

  #stepText(record: Step): string | null {
    const cause = record.type === 'start' ? 'starts' : this.#inputText(record.input)
    if (record.type === 'step' && record.takenBack === true)
      return `${cause}: rolls back, because its data could not be stored`
    if (record.type === 'step' && record.failed !== undefined) {
      const then = record.failed.isFatal ? 'and stops' : 'and drops the message'
      return `${cause}: fails (${record.failed.error}) ${then}`
    }
    const { node, effects, cutAfter, view } = record
    if (record.type === 'start') this.#beliefs.delete(node)
    const before = this.#beliefs.get(node)
    const belief = cutAfter === null && view !== null ? this.#believe(node, view) : null
    const carriedOut = cutAfter === null ? effects : effects.slice(0, cutAfter)
    const did = [...this.#actionTexts(carriedOut), ...(belief === null || belief === before ? [] : [belief])]
    const cut = cutAfter === null ? '' : ` -- and crashes after ${cutAfter} of ${effects.length} effects`
    const isQuiet = cut === '' && (belief === null || belief === before) && !this.#isTelling(carriedOut)
    if (isQuiet && !this.#options.all && (record.type === 'start' || this.#isBackground(record.input)))
      return null
    return `${cause}${did.length === 0 ? '' : `: ${did.join('; ')}`}${cut}`
  }

  #believe(node: NodeId, view: View): string {
    const text = beliefText(view)
    this.#beliefs.set(node, text)
    return text
  }

  /** The messages that are shown of a message on the wire, each with its text. */
  #shown(body: Message): readonly { readonly text: string; readonly isRoutine: boolean }[] {
    const { kinds, all, carried } = this.#options
    const inside = carried === undefined ? [body] : carried(body)
    const shown = inside.filter(({ kind }) => all || kinds.includes(kind))
    if (all && shown.length === 0) return [{ text: messageText(body), isRoutine: true }]
    return shown.map((message) => {
      const summary = this.#summaryOf(message)
      if (summary === null) return { text: messageText(message), isRoutine: false }
      const { words, isRoutine } = summary
      return { text: words === '' ? message.kind : `${message.kind}(${words})`, isRoutine }
    })
  }

  #summaryOf(message: Message): MessageSummary | null {
    try {
      return this.#options.summaryOf?.(message) ?? null
    } catch {
      // A damaged trace: the fields of the message are not what they should be.
      return null
    }
  }

  #isBackground(input: Input): boolean {
    if (input.type === 'message') return this.#shown(input.body).every(({ isRoutine }) => isRoutine)
    return input.type === 'timer' || input.type === 'register'
  }

  /** Whether one of the effects is worth a line. */
  #isTelling(effects: readonly Effect[]): boolean {
    return effects.some((effect) => {
      if (effect.type === 'send') return this.#shown(effect.body).some(({ isRoutine }) => !isRoutine)
      return effect.type === 'persist' || outputText(effect) !== null
    })
  }

  #inputText(input: Input): string {
    switch (input.type) {
      case 'message': {
        const shown = this.#shown(input.body).map(({ text }) => text)
        return shown.length === 0
          ? `hears from ${input.from}`
          : `receives ${shown.join(' and ')} from ${input.from}`
      }
      case 'timer':
        return `timer ${input.name}`
      case 'link':
        return `sees the link to ${input.peer} ${input.up ? 'up' : 'down'}`
      case 'register':
        return this.#replyText(input)
      case 'command':
        return `command ${commandText(input.command)}`
      case 'suspended':
        return `wakes after a suspension of ${msOf(input.by)} ms`
      default:
        return input satisfies never
    }
  }

  #replyText({ call, outcome, value }: Input & { type: 'register' }): string {
    const what = call.op === 'write' ? 'its write' : `its ${call.op} of the register of ${call.of}`
    if (outcome === 'unknown') return `does not know the outcome of ${what}`
    if (call.op === 'write') return `has written its register${this.#contentText(call.value)}`
    if (call.op !== 'read') return `learns that ${what} is done`
    return value === null
      ? `reads that the register of ${call.of} was never written`
      : `reads the register of ${call.of}${this.#contentText(value)}`
  }

  #contentText(value: Plain): string {
    const { registers } = this.#options
    return registers === undefined || registers === null ? '' : ` (${registers.describe(value)})`
  }

  /** The effects in order. Equal messages to several nodes are combined. */
  #actionTexts(effects: readonly Effect[]): readonly string[] {
    const parts: { readonly text: string; readonly to: NodeId[] }[] = []
    for (const effect of effects) {
      if (effect.type === 'persist' && parts.at(-1)?.text !== 'persists')
        parts.push({ text: 'persists', to: [] })
      const announced = outputText(effect)
      if (announced !== null) parts.push({ text: announced, to: [] })
      if (effect.type !== 'send') continue
      for (const { text } of this.#shown(effect.body)) {
        const last = parts.at(-1)
        if (last?.text === text) last.to.push(effect.to)
        else parts.push({ text, to: [effect.to] })
      }
    }
    return parts.map(({ text, to }) => (to.length === 0 ? text : `${text} to ${to.join(', ')}`))
  }
}

/** Why a leader changes the length of its leases. */
const CAUSES: { readonly [cause: string]: string } = {
  late: 'acts late',
  delay: 'hears the leader late',
  round: 'a majority answers late',
  loss: 'messages get lost',
  quiet: 'all is in time',
  bounds: 'of the bounds of leases',
  inherited: 'the former leader needed it',
}

/** An output that is worth a line; null for others. */
function outputText(effect: Effect): string | null {
  if (effect.type !== 'output') return null
  const { type, peer, lock, cause, by } = effect.event
  if (type === 'suspect') return `suspects ${JSON.stringify(peer)}`
  if (type !== 'level') return null
  const who = typeof by === 'number' || typeof by === 'string' ? `${by} ` : ''
  const why = typeof cause === 'string' ? (CAUSES[cause] ?? cause) : ''
  return `sets leases to ${Math.round(msOf(Number(lock)))} ms, because ${who}${why}`
}

function beliefText(view: View): string {
  const idle = view.role === 'leader' ? idleness(view.detail) : null
  if (idle !== null)
    return idle === 'out of quorum' ? 'leads a view without a quorum' : 'is unwilling to lead its view'
  if (view.role === 'leader') return view.token === null ? 'LEADS' : `LEADS with token ${view.token}`
  if (view.leader !== null) return `follows ${view.leader}`
  return view.role === 'candidate' ? 'has no leader' : `is ${view.role}`
}
