/**
 * The port: one register a node, in a store. A node writes its own, as long as it is its own, and reads all.
 *
 * `claim` makes the block this process's: it raises the incarnation by a compare, so that a write of a former
 * incarnation that still lingers somewhere finds another version and changes nothing. Before that it asks whether the
 * former one is alive: it knocks, that is, writes its name into a second cell, and whoever lives under the id answers
 * there at its next read. An answer means that the id is used twice, and the younger gives way.
 *
 * An operation has a time limit. After it the outcome is unknown: a read may be repeated; a write may yet land, so the
 * block must be claimed again before anything else is written, which is what a crash would require too.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeId, Plain } from '../../core/index.ts'
import { type Block, blockName, decodeBlock, encodeBlock, FORMAT, isBlockName, probeName } from './block.ts'
import {
  CellLockedError,
  CorruptBlockError,
  describeError,
  IdInUseError,
  NodeRemovedError,
  type RegisterFault,
  StoreRolledBackError,
  SupersededError,
  UnsupportedFormatError,
} from './errors.ts'
import type { Cell, CellStore, StoreFacts, Version } from './store.ts'

/** Not known, or of no use ever again. */
export type Incomplete =
  | { readonly outcome: 'unknown'; readonly why: string }
  | { readonly outcome: 'failed'; readonly error: RegisterFault }

export type ReadOutcome = { readonly outcome: 'ok'; readonly blocks: ReadonlyMap<NodeId, Block> } | Incomplete
export type WriteOutcome = { readonly outcome: 'ok' } | Incomplete
/** `refused`: nothing was changed. Read the block again before the next attempt. */
export type BuryOutcome = WriteOutcome | { readonly outcome: 'refused'; readonly why: string }
export type ClaimOutcome = { readonly outcome: 'ok'; readonly own: Block } | Incomplete

export type RegistersOptions = {
  readonly self: NodeId
  /** The longest that an operation may take. */
  readonly timeoutMs: number
  /** How long to wait for whoever may be alive under the same id: twice the longest time between two reads. */
  readonly probeMs: number
}

export type Registers = {
  readonly facts: StoreFacts
  /** Makes the block this process's. To be called first, and after every write whose outcome is not known. */
  claim(): Promise<ClaimOutcome>
  /** One round: the block of every node that has ever claimed one. */
  readAll(): Promise<ReadOutcome>
  write(value: Plain): Promise<WriteOutcome>
  /** The last write: the node has left the group for good. The block stays, so that nobody takes its loss for a fault. */
  remove(value: Plain): Promise<WriteOutcome>
  /**
   * Writes in the name of a process that is gone for good. Should it live after all, it finds that its block is no
   * longer its own, and stops. A null value: the node has left, and nobody may use its id again.
   *
   * `seen` is the block from which the value was computed, an object that `readAll` returned. The write is compared
   * with that version: a block that was written since then stays as it is.
   */
  bury(of: NodeId, value: Plain, seen: Block): Promise<BuryOutcome>
  /** Gives the id back, so that the next process need not knock; then closes the store. */
  close(): Promise<void>
}

const PROBE_READS = 10
const CLAIM_TRIES = 5

export function openRegisters(store: CellStore, options: RegistersOptions): Registers {
  return new OpenRegisters(store, options)
}

/** What this process last knew of its own block. */
type OwnBlock = { readonly block: Block; readonly version: Version }

type Round = {
  readonly blocks: Map<NodeId, Block>
  readonly own: OwnBlock | null
  readonly knock: Cell | null
}

/** Carries a fault out of the middle of an operation. */
class FatalFault extends Error {
  readonly fault: RegisterFault

  constructor(fault: RegisterFault) {
    super(fault.message)
    this.fault = fault
  }
}

class OpenRegisters implements Registers {
  readonly facts: StoreFacts
  readonly #store: CellStore
  readonly #options: RegistersOptions
  readonly #holder = randomUUID()
  /** The newest of each block that was seen. */
  readonly #seen = new Map<string, Block>()
  /** The version of each block that was read. */
  readonly #versions = new WeakMap<Block, Version>()
  /** Null until claimed, and after a write of unknown outcome. */
  #own: OwnBlock | null = null
  /** The write under way; kept when its outcome is known, or known to be unknown. */
  #writing: Promise<unknown> | null = null

  constructor(store: CellStore, options: RegistersOptions) {
    this.#store = store
    this.#options = options
    this.facts = store.facts
  }

  claim(): Promise<ClaimOutcome> {
    this.#own = null
    return this.#carefully(async () => {
      let mayLive = true
      for (let tries = 0; tries < CLAIM_TRIES; tries++) {
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        const round = await this.#round()
        const before = round.own?.block ?? null
        if (before?.removed === true)
          throw new FatalFault(new NodeRemovedError(this.#options.self, this.facts.place))
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        if (mayLive && this.#isAnothers(before)) await this.#knock(round)
        mayLive = false
        const block: Block = {
          id: this.#options.self,
          incarnation: (before?.incarnation ?? 0) + 1,
          sequence: (before?.sequence ?? 0) + 1,
          holder: this.#holder,
          removed: false,
          value: before?.value ?? null,
        }
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        const own = await this.#put(block, round.own?.version ?? null)
        if (own !== null) {
          this.#own = own
          return { outcome: 'ok', own: own.block }
        }
        // A late write of the former incarnation came between: look again.
      }
      throw new FatalFault(new IdInUseError(this.#options.self, this.facts.place, 'its block keeps changing'))
    })
  }

  readAll(): Promise<ReadOutcome> {
    return this.#carefully(async () => {
      const { blocks, own, knock } = await this.#round()
      const mine = this.#own
      if (mine !== null && own !== null && own.block.incarnation > mine.block.incarnation)
        throw new FatalFault(this.#superseded())
      if (mine !== null && knock !== null && knock.body !== this.#holder) this.#answer(knock)
      return { outcome: 'ok', blocks }
    })
  }

  write(value: Plain): Promise<WriteOutcome> {
    return this.#replace((block) => ({ ...block, value }))
  }

  async remove(value: Plain): Promise<WriteOutcome> {
    const answer = await this.#replace((block) => ({ ...block, value, holder: null, removed: true }))
    this.#own = null
    return answer
  }

  bury(of: NodeId, value: Plain, seen: Block): Promise<BuryOutcome> {
    const version = this.#versions.get(seen)
    if (version === undefined || seen.id !== of) throw new Error(`that is not a block of ${of} that was read`)
    const next: Block = {
      ...seen,
      incarnation: seen.incarnation + 1,
      sequence: seen.sequence + 1,
      holder: null,
      removed: value === null,
      value: value ?? seen.value,
    }
    return this.#carefully(async (): Promise<BuryOutcome> => {
      try {
        if ((await this.#put(next, version)) !== null) return { outcome: 'ok' }
        return { outcome: 'refused', why: `the block of ${of} was written since it was read` }
      } catch (error) {
        if (!(error instanceof CellLockedError)) throw error
        return {
          outcome: 'refused',
          why: `the block of ${of} is locked: its process is alive, or another node removes it at this moment`,
        }
      } finally {
        this.#store.release?.(blockName(of))
      }
    })
  }

  async close(): Promise<void> {
    // The last thing that a node wrote may be what the others wait for.
    await this.#writing
    if (this.#own !== null) await this.#replace((block) => ({ ...block, holder: null }))
    this.#own = null
    await this.#store.close()
  }

  #replace(change: (block: Block) => Block): Promise<WriteOutcome> {
    const before = this.#own
    if (before === null) throw new Error('the block must be claimed before it is written')
    if (this.#writing !== null) throw new Error('one write at a time: the last has not been answered')
    const next = change({ ...before.block, sequence: before.block.sequence + 1 })
    // What does not fit is a mistake of the caller, not an unknown outcome.
    encodeBlock(next)
    // Until the answer is there the outcome is unknown.
    this.#own = null
    const written = this.#carefully(async (): Promise<WriteOutcome> => {
      const own = await this.#put(next, before.version)
      if (own === null) throw new FatalFault(this.#superseded())
      this.#own = own
      return { outcome: 'ok' }
    }).finally(() => {
      this.#writing = null
    })
    this.#writing = written
    return written
  }

  async #put(block: Block, expected: Version | null): Promise<OwnBlock | null> {
    const body = encodeBlock(block)
    const version = await this.#timed((signal) =>
      this.#store.write(blockName(block.id), body, expected, signal),
    )
    if (version === null) return null
    this.#seen.set(blockName(block.id), block)
    return { block, version }
  }

  /** Reads all cells and holds them against what was seen before. */
  async #round(): Promise<Round> {
    const { self } = this.#options
    // What must be there is what was seen before the read began.
    const before = new Map(this.#seen)
    const cells = await this.#timed((signal) => this.#store.read(signal))
    const blocks = new Map<NodeId, Block>()
    let own: OwnBlock | null = null
    for (const { name, version, body } of cells) {
      if (!isBlockName(name)) continue
      const block = this.#decode(name, body)
      this.#compare(name, before.get(name), block)
      blocks.set(block.id, block)
      this.#versions.set(block, version)
      if (name === blockName(self)) own = { block, version }
    }
    for (const [name, { id, sequence }] of before)
      if (!blocks.has(id))
        throw new FatalFault(new StoreRolledBackError(id, this.facts.place, `${name} ${sequence} is gone`))
    return { blocks, own, knock: cells.find(({ name }) => name === probeName(self)) ?? null }
  }

  #decode(name: string, body: string): Block {
    const { place } = this.facts
    const decoded = decodeBlock(body)
    if (decoded.is === 'foreign')
      throw new FatalFault(new UnsupportedFormatError(name, place, decoded.format, FORMAT))
    if (decoded.is === 'block' && blockName(decoded.block.id) === name) return decoded.block
    const problem = decoded.is === 'corrupt' ? decoded.problem : 'it is the block of another node'
    const error = new CorruptBlockError(name.slice(2), place, problem)
    // Somebody may be repairing another's block; one's own is never repaired by waiting.
    if (name === blockName(this.#options.self)) throw new FatalFault(error)
    throw error
  }

  #compare(name: string, before: Block | undefined, block: Block): void {
    if (before !== undefined && block.sequence < before.sequence) {
      const what = `write ${block.sequence} was read after write ${before.sequence}`
      throw new FatalFault(new StoreRolledBackError(block.id, this.facts.place, what))
    }
    const newest = this.#seen.get(name)
    if (newest === undefined || block.sequence > newest.sequence) this.#seen.set(name, block)
  }

  #isAnothers(block: Block | null): boolean {
    return block !== null && block.holder !== null && block.holder !== this.#holder
  }

  /** Returns when nobody has answered for long enough; otherwise the id is another's. */
  async #knock({ knock, own }: Round): Promise<void> {
    const { self, probeMs: knockMs } = this.#options
    const inUse = (sign: string): FatalFault => new FatalFault(new IdInUseError(self, this.facts.place, sign))
    const version = await this.#timed((signal) =>
      this.#store.write(probeName(self), this.#holder, knock?.version ?? null, signal),
    )
    if (version === null) throw inUse('another process is starting under it')
    for (let looks = 0; looks < PROBE_READS; looks++) {
      // oxlint-disable-next-line no-await-in-loop -- looks again and again
      await sleep(knockMs / PROBE_READS)
      // oxlint-disable-next-line no-await-in-loop -- looks again and again
      const now = await this.#round()
      if (now.knock !== null && now.knock.body !== this.#holder) throw inUse('it answered')
      if (now.own !== null && now.own.block.sequence > (own?.block.sequence ?? 0)) throw inUse('it writes')
    }
  }

  /** Whether the answer arrives does not matter to this process: its next write tells. */
  #answer(knock: Cell): void {
    const { self } = this.#options
    this.#timed((signal) => this.#store.write(probeName(self), this.#holder, knock.version, signal)).catch(
      () => {},
    )
  }

  #superseded(): SupersededError {
    return new SupersededError(this.#options.self, this.facts.place)
  }

  /** An answer in time or an error, whether or not the store heeds the signal. */
  #timed<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options
    const controller = new AbortController()
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        const late = new Error(`no answer within ${timeoutMs} ms`)
        reject(late)
        controller.abort(late)
      }, timeoutMs)
      operation(controller.signal)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  }

  async #carefully<T>(operation: () => Promise<T>): Promise<T | Incomplete> {
    try {
      return await operation()
    } catch (error) {
      if (error instanceof FatalFault) return { outcome: 'failed', error: error.fault }
      if (error instanceof CellLockedError) {
        const { self } = this.#options
        return {
          outcome: 'failed',
          error: new IdInUseError(self, this.facts.place, 'it has locked its block'),
        }
      }
      return { outcome: 'unknown', why: describeError(error) }
    }
  }
}
