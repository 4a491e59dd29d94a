/**
 * Why something happened: a causal chain from a record of a trace back to an event of the scenario or to the start of a
 * node. A step was caused by its input: a message by the step that sent it, a timer by the step that set it and by the
 * messages that did not come in time, a loss by the event that caused it.
 *
 * A trace does not say which messages a timer waits for. The step that set the timer tells: it received a message of a
 * peer whose next message is awaited, or sent messages to peers whose replies are awaited. And a node that gives up its
 * leader awaited a message of that leader. This is a guess, but it holds for heartbeats, requests and leases.
 */
import type { Definition } from '../../core/index.ts'
import { causeOf, type Link } from './causes/cause.ts'
import { Past } from './causes/past.ts'
import { rivalOf } from './causes/rivals.ts'
import { instantText, patternOf, sentenceOf } from './causes/sentences.ts'
import type { Trace } from './ndjson.ts'
import type { TraceRecord } from './records.ts'

/**
 * One link of the chain, the effect first. `because`: how the next one led to it; null at the end of the chain. A second
 * chain may follow: why another leader still believes that it leads.
 */
export type Cause = { readonly record: number; readonly text: string; readonly because: string | null }

type Words = Pick<Definition, 'kinds' | 'kindOf' | 'carried'>

/** Longer chains are cut: a reader asks again from there. */
const LONGEST_CHAIN = 24

/** How many rounds of a repetition, such as the renewals of a lease, are followed to its beginning. */
const MOST_SKIPPED = 400

/** `record`: the index of the record, from 0. Throws an InvalidTraceError if a step of the trace lacks a field. */
export function causesOf(trace: Trace, definition: Words, record: number): readonly Cause[] {
  if (trace.records[record] === undefined) return []
  const past = new Past(trace)
  const walk = new Walk(past, definition)
  const chain: Cause[] = []
  let at: number | null = record
  let via: number | null = null
  while (at !== null) {
    const next: Link | null = chain.length + 1 < LONGEST_CHAIN ? walk.step(at) : null
    const text = sentenceOf(past, definition, at, via)
    chain.push({ record: at, text, because: next === null ? null : next.because })
    at = next?.record ?? null
    via = next?.via ?? null
  }
  return [...chain, ...rivalCauses(past, definition, record)]
}

/** Of a step that begins to lead: why another node still believes that it leads. */
function rivalCauses(past: Past, definition: Words, record: number): readonly Cause[] {
  const rival = rivalOf(past, record)
  if (rival === null) return []
  return [
    { record: rival.record, text: rival.text, because: rival.because },
    { record: rival.event, text: sentenceOf(past, definition, rival.event, null), because: null },
  ]
}

/** Goes from effect to cause, and leaves out what repeats. */
class Walk {
  readonly #past: Past
  readonly #words: Words
  readonly #visited = new Set<number>()
  readonly #patterns = new Set<string>()

  constructor(past: Past, words: Words) {
    this.#past = past
    this.#words = words
  }

  /** The cause of a record that belongs to the chain. */
  step(from: number): Link | null {
    const first = this.#cause(from)
    if (first === null || !this.#repeats(first.record)) return first
    let link: Link = first
    for (let skipped = 0; skipped < MOST_SKIPPED && this.#repeats(link.record); skipped++) {
      const next = this.#cause(link.record)
      if (next === null) break
      link = next
    }
    const { at } = this.#past.records[link.record] as TraceRecord
    return { ...link, because: `${first.because}; so it went on since ${instantText(this.#past, at)}` }
  }

  #cause(record: number): Link | null {
    this.#visited.add(record)
    this.#patterns.add(patternOf(this.#past, this.#words, record))
    const link = causeOf(this.#past, this.#words, record)
    return link === null || this.#visited.has(link.record) ? null : link
  }

  #repeats(record: number): boolean {
    return this.#patterns.has(patternOf(this.#past, this.#words, record))
  }
}
