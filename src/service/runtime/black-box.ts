/**
 * The black box: the last steps of a node, kept in memory, as a trace that can be replayed.
 *
 * Kept is what came in, as text outside of the heap: objects that live for seconds and then die are what a garbage
 * collector likes least. What the node did follows from it, and is worked out when the trace is asked for. Steps are
 * kept in segments, and each segment knows the state before its first step; when there are too many, the oldest segment
 * goes, and the trace begins in the middle with a state (`resume`). Writing it all out takes longer than a node may
 * stand still, so it is written in pieces, with room for other things in between.
 */
import { setImmediate } from 'node:timers/promises'
import type { NodeId, Plain, Protocol, Step } from '../../core/index.ts'
import { type TraceHeader, type TraceRecord, traceLine } from '../../workbench/trace/index.ts'
import type { LoopRecord } from './loop.ts'

type Segment = {
  /** Before its first step; null when that is the start. */
  readonly before: Plain
  /** A line each. */
  text: Buffer
  length: number
  /** How many steps, those too that are not yet in the text. */
  count: number
}

/** A segment as it was when somebody asked: what comes later stands behind it, or in another buffer. */
type Kept = Pick<Segment, 'before' | 'text' | 'length'>

/** How many segments a full box has. */
const SEGMENTS = 16
/** Records that are written at a time: about a millisecond's worth. */
const PIECE = 32
/** So many are made into text at once: one by one, in a process that wakes up for each, costs several times as much. */
const BATCH = 32
const FIRST_ROOM = 4096
/** A character of text takes no more bytes. */
const MOST_BYTES = 3
const NEWLINE = 10

export class BlackBox {
  readonly #node: NodeId
  readonly #protocol: Pick<Protocol, 'start' | 'step'>
  #each: number
  #segments: Segment[] = []
  #current: Segment | null = null
  /** The last steps of the current segment, not yet in its text. */
  readonly #fresh: LoopRecord[] = []
  #skipped: number
  /** Traces that are being written. */
  #readers = 0

  /**
   * Of a node that runs this protocol. Keeps so many steps at most, and 15/16 of that at least once there have been as
   * many. `skipped`: how many there were before it began.
   */
  constructor(node: NodeId, protocol: Pick<Protocol, 'start' | 'step'>, most: number, skipped = 0) {
    this.#node = node
    this.#protocol = protocol
    this.#each = eachOf(most)
    this.#skipped = skipped
  }

  /** From now on it keeps so many, if that is more. */
  keepAtLeast(most: number): void {
    this.#each = Math.max(this.#each, eachOf(most))
  }

  /** How many steps came before those that are kept. */
  get skipped(): number {
    return this.#skipped
  }

  record(record: LoopRecord, before: Plain): void {
    if (this.#current === null || this.#current.count >= this.#each) this.#begin(before)
    const segment = this.#current as Segment
    segment.count += 1
    this.#fresh.push(record)
    if (this.#fresh.length >= BATCH) this.#write()
  }

  #write(): void {
    for (const record of this.#fresh) append(this.#current as Segment, JSON.stringify(record))
    this.#fresh.length = 0
  }

  #begin(before: Plain): void {
    this.#write()
    const oldest = this.#segments.length >= SEGMENTS ? this.#segments.shift() : undefined
    this.#skipped += oldest?.count ?? 0
    // Written over, and not thrown away: after a while nothing more is allocated. But whoever reads still needs it.
    const isFree = oldest !== undefined && this.#readers === 0
    const text = isFree ? oldest.text : Buffer.allocUnsafeSlow(FIRST_ROOM)
    this.#current = { before, text, length: 0, count: 0 }
    this.#segments.push(this.#current)
  }

  /** The trace as it is now, in pieces of text. */
  async *text(header: (skipped: number) => TraceHeader): AsyncGenerator<string, void, void> {
    this.#write()
    // What happens while it is written is not in it, nor is anything written over that is.
    const kept = this.#segments.map(({ before, text, length }): Kept => ({ before, text, length }))
    this.#readers += 1
    try {
      yield `${traceLine(header(this.#skipped))}\n`
      const [first] = kept
      if (first !== undefined && first.before !== null) yield `${this.#resumeLine(first)}\n`
      for (const segment of kept) yield* this.#textOf(segment)
    } finally {
      this.#readers -= 1
    }
  }

  async *#textOf({ before, text, length }: Kept): AsyncGenerator<string, void, void> {
    let state = before
    let from = 0
    while (from < length) {
      let piece = ''
      for (let count = 0; count < PIECE && from < length; count++) {
        const [record, next] = recordAt(text, from)
        const step = this.#again(record, state)
        if (record.outcome !== 'taken back') state = step.state
        piece += `${traceLine(this.#turn(record, step))}\n`
        from = next
      }
      yield piece
      // oxlint-disable-next-line no-await-in-loop -- others have their turn between two pieces
      await setImmediate()
    }
  }

  #again({ input, stable, now }: LoopRecord, state: Plain): Step<Plain> {
    return input === null ? this.#protocol.start(stable, now) : this.#protocol.step(state, input, now)
  }

  #resumeLine({ before, text }: Kept): string {
    const [{ now }] = recordAt(text, 0)
    return traceLine({ type: 'resume', at: now, node: this.#node, now, state: before })
  }

  /** A process knows no true time and no numbers of messages: whoever puts several traces together finds them. */
  #turn({ now, input, stable, outcome }: LoopRecord, { effects }: Step<Plain>): TraceRecord {
    const cutAfter = typeof outcome === 'number' ? outcome : null
    const turn = { at: now, node: this.#node, now, effects, sent: [], cutAfter, view: null }
    if (input === null) return { type: 'start', ...turn, stable, settledOn: null }
    const step = { type: 'step', ...turn, input, message: null } as const
    return outcome === 'taken back' ? { ...step, takenBack: true } : step
  }
}

function append(segment: Segment, line: string): void {
  const room = segment.length + line.length * MOST_BYTES + 1
  if (room > segment.text.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(room, Math.ceil(1.25 * segment.text.length)))
    segment.text.copy(larger, 0, 0, segment.length)
    segment.text = larger
  }
  segment.length += segment.text.write(line, segment.length)
  segment.text[segment.length] = NEWLINE
  segment.length += 1
}

/** The record that begins there, and where the next begins. */
function recordAt(text: Buffer, from: number): readonly [LoopRecord, number] {
  const end = text.indexOf(NEWLINE, from)
  return [JSON.parse(text.toString('utf8', from, end)) as LoopRecord, end + 1]
}

function eachOf(most: number): number {
  return Math.max(1, Math.floor(most / SEGMENTS))
}
