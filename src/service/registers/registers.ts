/**
 * One register (block) per node in a store. A node writes its own block and reads all blocks.
 *
 * `claim` makes the block this process's: it increments the incarnation by compare-and-swap, so that a delayed write of
 * an earlier incarnation finds another version and changes nothing. Before that it probes for a live owner: it writes its
 * name into a second cell, and a process that uses the id answers there at its next read. An answer means that two
 * processes use the id, and the newer one refuses to start.
 *
 * Every operation has a timeout. After it the outcome is unknown: a read can be repeated, but a write may still take
 * effect. The block must then be claimed again before the next write, as after a crash.
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

/** The operation timed out or failed (`unknown`), or the block must not be used any more (`failed`). */
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
  /** Timeout of an operation. */
  readonly timeoutMs: number
  /** How long to wait for another live process with the same id: twice the longest time between two reads. */
  readonly probeMs: number
  /** How long the leases of this process last: other processes compare it with theirs. */
  readonly leaseMs?: number
}

export type Registers = {
  readonly facts: StoreFacts
  /** Makes the block this process's. Call it first, and after every write with an unknown outcome. */
  claim(): Promise<ClaimOutcome>
  /** Reads the blocks of all nodes that ever claimed one. */
  readAll(): Promise<ReadOutcome>
  write(value: Plain): Promise<WriteOutcome>
  /** The last write: the node leaves the group for good. The block stays, because a missing block would be a fault. */
  remove(value: Plain): Promise<WriteOutcome>
  /**
   * Writes the block of a process that has stopped for good. If it is alive nevertheless, it finds that its block is no
   * longer its own, and stops. A null value removes the node: its id can never be used again.
   *
   * `seen` is the block from which the value was computed, an object that `readAll` returned. The write is a
   * compare-and-swap against that version.
   */
  bury(of: NodeId, value: Plain, seen: Block): Promise<BuryOutcome>
  /** Releases the id, so that the next process need not probe; then closes the store. */
  close(): Promise<void>
}

const PROBE_READS = 10
const CLAIM_TRIES = 5

export function openRegisters(store: CellStore, options: RegistersOptions): Registers {
  return new OpenRegisters(store, options)
}

/** This process's block, as it was last read or written. */
type OwnBlock = { readonly block: Block; readonly version: Version }

type Round = {
  readonly blocks: Map<NodeId, Block>
  readonly own: OwnBlock | null
  readonly probe: Cell | null
}

/** Carries a fault out of a nested call. */
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
  /** The newest block of each node that was read. */
  readonly #seen = new Map<string, Block>()
  /** The version of each block object that was read. */
  readonly #versions = new WeakMap<Block, Version>()
  /** Null until claimed, and after a write with an unknown outcome. */
  #own: OwnBlock | null = null
  /** The pending write. Resolves when its outcome is known, or known to be unknown. */
  #writing: Promise<unknown> | null = null

  constructor(store: CellStore, options: RegistersOptions) {
    this.#store = store
    this.#options = options
    this.facts = store.facts
  }

  claim(): Promise<ClaimOutcome> {
    this.#own = null
    return this.#catchFaults(async () => {
      let mustProbe = true
      for (let tries = 0; tries < CLAIM_TRIES; tries++) {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        const round = await this.#readRound()
        const before = round.own?.block ?? null
        if (before?.removed === true)
          throw new FatalFault(new NodeRemovedError(this.#options.self, this.facts.place))
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        if (mustProbe && this.#isHeldByAnother(before)) await this.#probe(round)
        mustProbe = false
        const block: Block = {
          id: this.#options.self,
          incarnation: (before?.incarnation ?? 0) + 1,
          sequence: (before?.sequence ?? 0) + 1,
          holder: this.#holder,
          removed: false,
          value: before?.value ?? null,
          ...(this.#options.leaseMs === undefined ? {} : { leaseMs: this.#options.leaseMs }),
        }
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        const own = await this.#writeBlock(block, round.own?.version ?? null)
        if (own !== null) {
          this.#own = own
          return { outcome: 'ok', own: own.block }
        }
        // A delayed write of an earlier incarnation came between: read again.
      }
      throw new FatalFault(new IdInUseError(this.#options.self, this.facts.place, 'its block keeps changing'))
    })
  }

  readAll(): Promise<ReadOutcome> {
    return this.#catchFaults(async () => {
      const { blocks, own, probe } = await this.#readRound()
      const mine = this.#own
      if (mine !== null && own !== null && own.block.incarnation > mine.block.incarnation)
        throw new FatalFault(this.#superseded())
      if (mine !== null && probe !== null && probe.body !== this.#holder) this.#answerProbe(probe)
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
    if (version === undefined || seen.id !== of)
      throw new Error(`seen: must be a block of ${of} that readAll() returned`)
    const next: Block = {
      ...seen,
      incarnation: seen.incarnation + 1,
      sequence: seen.sequence + 1,
      holder: null,
      removed: value === null,
      value: value ?? seen.value,
    }
    return this.#catchFaults(async (): Promise<BuryOutcome> => {
      try {
        if ((await this.#writeBlock(next, version)) !== null) return { outcome: 'ok' }
        return { outcome: 'refused', why: `the block of ${of} was written after it was read` }
      } catch (error) {
        if (!(error instanceof CellLockedError)) throw error
        return {
          outcome: 'refused',
          why: `the block of ${of} is locked: its process is alive, or another node is removing it`,
        }
      } finally {
        this.#store.release?.(blockName(of))
      }
    })
  }

  async close(): Promise<void> {
    // Other nodes may wait for the last write.
    await this.#writing
    if (this.#own !== null) await this.#replace((block) => ({ ...block, holder: null }))
    this.#own = null
    await this.#store.close()
  }

  #replace(change: (block: Block) => Block): Promise<WriteOutcome> {
    if (this.#writing !== null) throw new Error('a write is still pending: only one at a time')
    const before = this.#own
    if (before === null) throw new Error('claim the block before writing it')
    const next = change({ ...before.block, sequence: before.block.sequence + 1 })
    // A block that is too large is a caller's error, not an unknown outcome.
    encodeBlock(next)
    // The outcome is unknown until the store answers.
    this.#own = null
    const written = this.#catchFaults(async (): Promise<WriteOutcome> => {
      const own = await this.#writeBlock(next, before.version)
      if (own === null) throw new FatalFault(this.#superseded())
      this.#own = own
      return { outcome: 'ok' }
    }).finally(() => {
      this.#writing = null
    })
    this.#writing = written
    return written
  }

  async #writeBlock(block: Block, expected: Version | null): Promise<OwnBlock | null> {
    const body = encodeBlock(block)
    const version = await this.#withTimeout((signal) =>
      this.#store.write(blockName(block.id), body, expected, signal),
    )
    if (version === null) return null
    this.#seen.set(blockName(block.id), block)
    return { block, version }
  }

  /** Reads all cells and checks that no block went back. */
  async #readRound(): Promise<Round> {
    const { self } = this.#options
    // Only blocks that were seen before the read started must be present.
    const before = new Map(this.#seen)
    const cells = await this.#withTimeout((signal) => this.#store.read(signal))
    const blocks = new Map<NodeId, Block>()
    let own: OwnBlock | null = null
    for (const { name, version, body } of cells) {
      if (!isBlockName(name)) continue
      const block = this.#decode(name, body)
      this.#checkOrder(name, before.get(name), block)
      blocks.set(block.id, block)
      this.#versions.set(block, version)
      if (name === blockName(self)) own = { block, version }
    }
    for (const [name, { id, sequence }] of before)
      if (!blocks.has(id))
        throw new FatalFault(new StoreRolledBackError(id, this.facts.place, `${name} ${sequence} is gone`))
    return { blocks, own, probe: cells.find(({ name }) => name === probeName(self)) ?? null }
  }

  #decode(name: string, body: string): Block {
    const { place } = this.facts
    const decoded = decodeBlock(body)
    if (decoded.is === 'foreign')
      throw new FatalFault(new UnsupportedFormatError(name, place, decoded.format, FORMAT))
    if (decoded.is === 'block' && blockName(decoded.block.id) === name) return decoded.block
    const problem = decoded.is === 'corrupt' ? decoded.problem : 'it is the block of another node'
    const error = new CorruptBlockError(name.slice(2), place, problem)
    // Another node's block may be repaired meanwhile; waiting does not repair one's own.
    if (name === blockName(this.#options.self)) throw new FatalFault(error)
    throw error
  }

  #checkOrder(name: string, before: Block | undefined, block: Block): void {
    if (before !== undefined && block.sequence < before.sequence) {
      const what = `write ${block.sequence} was read after write ${before.sequence}`
      throw new FatalFault(new StoreRolledBackError(block.id, this.facts.place, what))
    }
    const newest = this.#seen.get(name)
    if (newest === undefined || block.sequence > newest.sequence) this.#seen.set(name, block)
  }

  #isHeldByAnother(block: Block | null): boolean {
    return block !== null && block.holder !== null && block.holder !== this.#holder
  }

  /** Returns if no process answers in time; otherwise the id is in use. */
  async #probe({ probe, own }: Round): Promise<void> {
    const { self, probeMs } = this.#options
    const inUse = (sign: string): FatalFault => new FatalFault(new IdInUseError(self, this.facts.place, sign))
    const version = await this.#withTimeout((signal) =>
      this.#store.write(probeName(self), this.#holder, probe?.version ?? null, signal),
    )
    if (version === null) throw inUse('another process is starting under it')
    for (let reads = 0; reads < PROBE_READS; reads++) {
      // oxlint-disable-next-line no-await-in-loop -- polls
      await sleep(probeMs / PROBE_READS)
      // oxlint-disable-next-line no-await-in-loop -- polls
      const now = await this.#readRound()
      if (now.probe !== null && now.probe.body !== this.#holder) throw inUse('it answered')
      if (now.own !== null && now.own.block.sequence > (own?.block.sequence ?? 0)) throw inUse('it writes')
    }
  }

  /** Answers a probe. Failures do not matter: the next write shows whether the block is still ours. */
  #answerProbe(probe: Cell): void {
    const { self } = this.#options
    this.#withTimeout((signal) =>
      this.#store.write(probeName(self), this.#holder, probe.version, signal),
    ).catch(() => {})
  }

  #superseded(): SupersededError {
    return new SupersededError(this.#options.self, this.facts.place)
  }

  /** Rejects after the timeout even if the store ignores the signal. */
  #withTimeout<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

  async #catchFaults<T>(operation: () => Promise<T>): Promise<T | Incomplete> {
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
