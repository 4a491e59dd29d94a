/**
 * The black box: a ring buffer of the node's last steps in memory, which becomes a trace that can be replayed.
 *
 * It keeps only inputs, as text outside the heap, because objects that live for seconds burden the garbage collector.
 * Effects are recomputed when the trace is read. Steps are grouped in segments, and each segment has the state before its
 * first step. When the buffer is full, the oldest segment is dropped, and the trace begins with a state (`resume`).
 * Reading the whole box takes longer than a running node may block, so it is read in pieces that yield to the event
 * loop. Only a node that has failed reads it at once (`textAtOnce`).
 */
import { setImmediate } from 'node:timers/promises'
import { NOTHING, type NodeId, type Plain, type Protocol, type Step } from '../../core/index.ts'
import { type TraceHeader, type TraceRecord, traceLine } from '../../workbench/trace/index.ts'
import type { LoopRecord } from './loop.ts'

type Segment = {
  /** Before its first step; null when that is the start. */
  readonly before: Plain
  /** One line per step. */
  text: Buffer
  length: number
  /** The number of steps, including the steps that are not in the text yet. */
  count: number
}

/** A segment at the time of reading: later steps are appended after it, or go to another buffer. */
type Snapshot = Pick<Segment, 'before' | 'text' | 'length'>

/** The number of segments in a full box. */
const SEGMENTS = 16
/** Records per piece: takes about a millisecond. */
const PIECE = 32
/** Records are serialized in batches: one by one costs several times as much in a process that wakes up for each. */
const BATCH = 32
const INITIAL_BYTES = 4096
/** The most bytes that one UTF-16 code unit takes in UTF-8. */
const MAX_BYTES = 3
const NEWLINE = 10

export class BlackBox {
  readonly #node: NodeId
  readonly #protocol: Pick<Protocol, 'start' | 'step'>
  #segmentSteps: number
  #segments: Segment[] = []
  #current: Segment | null = null
  /** The last steps of the current segment, not serialized yet. */
  readonly #unwritten: LoopRecord[] = []
  #skipped: number
  /** The number of readers: their buffers are not reused. */
  #readers = 0

  /**
   * For a node that runs this protocol. Keeps at most `most` steps, and at least 15/16 of that once the box is full.
   * `skipped`: the number of steps before the box was created.
   */
  constructor(node: NodeId, protocol: Pick<Protocol, 'start' | 'step'>, most: number, skipped = 0) {
    this.#node = node
    this.#protocol = protocol
    this.#segmentSteps = segmentStepsFor(most)
    this.#skipped = skipped
  }

  /** Raises the number of kept steps. */
  keepAtLeast(most: number): void {
    this.#segmentSteps = Math.max(this.#segmentSteps, segmentStepsFor(most))
  }

  /** The number of steps before the first kept one. */
  get skipped(): number {
    return this.#skipped
  }

  record(record: LoopRecord, before: Plain): void {
    if (this.#current === null || this.#current.count >= this.#segmentSteps) this.#begin(before)
    const segment = this.#current as Segment
    segment.count += 1
    this.#unwritten.push(record)
    if (this.#unwritten.length >= BATCH) this.#write()
  }

  #write(): void {
    for (const record of this.#unwritten) append(this.#current as Segment, JSON.stringify(record))
    this.#unwritten.length = 0
  }

  #begin(before: Plain): void {
    this.#write()
    const oldest = this.#segments.length >= SEGMENTS ? this.#segments.shift() : undefined
    this.#skipped += oldest?.count ?? 0
    // The oldest buffer is reused, so a full box allocates nothing, unless a reader still needs it.
    const isFree = oldest !== undefined && this.#readers === 0
    const text = isFree ? oldest.text : Buffer.allocUnsafeSlow(INITIAL_BYTES)
    this.#current = { before, text, length: 0, count: 0 }
    this.#segments.push(this.#current)
  }

  /** The trace up to now, in pieces of text. */
  async *text(header: (skipped: number) => TraceHeader): AsyncGenerator<string, void, void> {
    this.#write()
    // Steps that happen while the trace is read are not in it.
    const kept = this.#segments.map(({ before, text, length }): Snapshot => ({ before, text, length }))
    this.#readers += 1
    try {
      yield `${traceLine(header(this.#skipped))}\n`
      const [first] = kept
      if (first !== undefined && first.before !== null) yield `${this.#resumeLine(first)}\n`
      for (const segment of kept) {
        for (const piece of this.#textOf(segment)) {
          yield piece
          // oxlint-disable-next-line no-await-in-loop -- yields to the event loop between two pieces
          await setImmediate()
        }
      }
    } finally {
      this.#readers -= 1
    }
  }

  /** The whole trace without yielding to the event loop: for a node that has failed, so nothing is delayed by it. */
  textAtOnce(header: (skipped: number) => TraceHeader): string {
    this.#write()
    const pieces = [`${traceLine(header(this.#skipped))}\n`]
    const [first] = this.#segments
    if (first !== undefined && first.before !== null) pieces.push(`${this.#resumeLine(first)}\n`)
    for (const segment of this.#segments) pieces.push(...this.#textOf(segment))
    return pieces.join('')
  }

  *#textOf({ before, text, length }: Snapshot): Generator<string, void, void> {
    let state = before
    let from = 0
    while (from < length) {
      let piece = ''
      for (let count = 0; count < PIECE && from < length; count++) {
        const [record, next] = recordAt(text, from)
        const step = this.#recompute(record, state)
        if (record.outcome !== 'rolled back') state = step.state
        piece += `${traceLine(this.#traceRecord(record, step))}\n`
        from = next
      }
      yield piece
    }
  }

  #recompute({ input, stable, now, outcome }: LoopRecord, state: Plain): Step<Plain> {
    // A step that threw has no effects and leaves the state as it was.
    if (typeof outcome === 'object') return { state, effects: NOTHING }
    return input === null ? this.#protocol.start(stable, now) : this.#protocol.step(state, input, now)
  }

  #resumeLine({ before, text }: Snapshot): string {
    const [{ now }] = recordAt(text, 0)
    return traceLine({ type: 'resume', at: now, node: this.#node, now, state: before })
  }

  /** A node knows neither true time nor message numbers: forensics finds them when it merges several traces. */
  #traceRecord({ now, input, stable, outcome }: LoopRecord, { effects }: Step<Plain>): TraceRecord {
    const cutAfter = typeof outcome === 'number' ? outcome : null
    const turn = { at: now, node: this.#node, now, effects, sent: [], cutAfter, view: null }
    if (input === null) return { type: 'start', ...turn, stable, settledOn: null }
    const step = { type: 'step', ...turn, input, message: null } as const
    if (typeof outcome === 'object') return { ...step, failed: outcome }
    return outcome === 'rolled back' ? { ...step, takenBack: true } : step
  }
}

function append(segment: Segment, line: string): void {
  const room = segment.length + line.length * MAX_BYTES + 1
  if (room > segment.text.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(room, Math.ceil(1.25 * segment.text.length)))
    segment.text.copy(larger, 0, 0, segment.length)
    segment.text = larger
  }
  segment.length += segment.text.write(line, segment.length)
  segment.text[segment.length] = NEWLINE
  segment.length += 1
}

/** The record at this offset, and the offset of the next one. */
function recordAt(text: Buffer, from: number): readonly [LoopRecord, number] {
  const end = text.indexOf(NEWLINE, from)
  return [JSON.parse(text.toString('utf8', from, end)) as LoopRecord, end + 1]
}

function segmentStepsFor(most: number): number {
  return Math.max(1, Math.floor(most / SEGMENTS))
}
