/**
 * The black box: the last steps of a node, kept in memory, as a trace that can be replayed.
 *
 * Keeping a step costs an object and no copy: states, inputs and effects are never changed, so they are only referred
 * to. Steps are kept in segments, and each segment knows the state before its first step; when there are too many, the
 * oldest segment goes, and the trace begins in the middle with a state (`resume`). Writing it all out takes longer
 * than a node may stand still, so it is written in pieces, with room for other things in between.
 */
import { setImmediate } from 'node:timers/promises'
import type { NodeId, Plain } from '../core/index.ts'
import { type TraceHeader, type TraceRecord, traceLine } from '../trace/index.ts'
import type { LoopRecord } from './loop.ts'

type Segment = {
  /** Before its first step; null when that is the start. */
  readonly before: Plain
  readonly records: LoopRecord[]
}

/** How many segments a full box has. */
const SEGMENTS = 16
/** Records that are written at a time: about a millisecond's worth. */
const PIECE = 64

export class BlackBox {
  readonly #node: NodeId
  #each: number
  #segments: Segment[] = []
  #current: Segment | null = null
  #skipped: number

  /**
   * Keeps so many steps at most, and 15/16 of that at least once there have been as many. `skipped`: how many there
   * were before it began.
   */
  constructor(node: NodeId, most: number, skipped = 0) {
    this.#node = node
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
    if (this.#current === null || this.#current.records.length >= this.#each) {
      this.#current = { before, records: [] }
      this.#segments.push(this.#current)
      if (this.#segments.length > SEGMENTS) this.#skipped += this.#segments.shift()?.records.length ?? 0
    }
    this.#current.records.push(record)
  }

  /** The trace as it is now, in pieces of text. */
  async *text(header: (skipped: number) => TraceHeader): AsyncGenerator<string, void, void> {
    const [first] = this.#segments
    const records = this.#segments.flatMap((segment) => segment.records)
    yield `${traceLine(header(this.#skipped))}\n`
    if (first !== undefined && first.before !== null) yield `${this.#resumeLine(first)}\n`
    for (let from = 0; from < records.length; from += PIECE) {
      const lines = records.slice(from, from + PIECE).map((record) => `${traceLine(this.#turn(record))}\n`)
      yield lines.join('')
      // oxlint-disable-next-line no-await-in-loop -- others have their turn between two pieces
      await setImmediate()
    }
  }

  #resumeLine({ before, records: [first] }: Segment): string {
    const now = first?.now ?? 0
    return traceLine({ type: 'resume', at: now, node: this.#node, now, state: before })
  }

  /** A process knows no true time and no numbers of messages: whoever puts several traces together finds them. */
  #turn({ now, input, stable, effects, outcome }: LoopRecord): TraceRecord {
    const cutAfter = typeof outcome === 'number' ? outcome : null
    const turn = { at: now, node: this.#node, now, effects, sent: [], cutAfter, view: null }
    if (input === null) return { type: 'start', ...turn, stable, settledOn: null }
    const step = { type: 'step', ...turn, input, message: null } as const
    return outcome === 'taken back' ? { ...step, takenBack: true } : step
  }
}

function eachOf(most: number): number {
  return Math.max(1, Math.floor(most / SEGMENTS))
}
