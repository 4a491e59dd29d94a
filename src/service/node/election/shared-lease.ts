/**
 * Memory that the worker of an election and the application's thread share: values that either reads without a message,
 * on the monotonic clock of the process.
 *
 * The lease, its token and its reason are protected by a seqlock with two slots: the lowest bit of the version says which
 * slot counts. The election writes to the other slot and then increments the version. A reader that finds the same
 * version afterwards has read one whole slot, and never waits for a writer that is held up. All accesses are atomic, so
 * that neither compiler nor processor reorders them.
 */
import type { Micros, NodeId } from '../../../core/index.ts'
import type { LateEpisode, SlowEpisode, WhyLate } from '../../runtime/index.ts'
import type { Datagrams } from './election.ts'

/** The version of the seqlock. Its lowest bit is the slot that counts. Only the election writes it. */
const VERSION = 0

// ---- Within a slot ----

/** The end of the lease; 0 when there is none. */
const UNTIL = 0
/** The token plus one; 0 when there is none, as in local mode. */
const TOKEN = 1
/** How far the wall clock was ahead of the monotonic one when the host was last known not to have slept. */
const WALL_AHEAD = 2
/** Why the lease ended or is not renewed: the length in bytes, then the text. */
const REASON = 3
const REASON_CELLS = 8
const PLACE_CELLS = REASON + 1 + REASON_CELLS

// ---- After both slots ----

const REST = 1 + 2 * PLACE_CELLS
/** When the application's thread last ran. */
const PROGRESS = REST
/** When the lease of the known leader ends; 0 when there is none. How often the leader has changed until this one. */
const LEAD_UNTIL = REST + 1
const LEADER_CHANGES = REST + 13
/** Until when the members in the snapshot are certain; 0 when there are none. */
const MEMBERS_UNTIL = REST + 2
const SENT = REST + 3
const RECEIVED = REST + 4
const DROPPED = REST + 5
/** When the lease was last renewed; 0 when there is none. */
const RENEWED_AT = REST + 6
/** The worst lateness since: by how much, when (0: none), and why, as the place in `WHY_LATE`. */
const LATE_BY = REST + 7
const LATE_AT = REST + 8
const LATE_WHY = REST + 9
/** The slowest message since: how long it took, when it arrived (0: none), and the place of its sender, plus one. */
const SLOW_BY = REST + 10
const SLOW_AT = REST + 11
const SLOW_FROM = REST + 12
/**
 * From here on: when each node was last heard, then the same number of cells for when each was last known to be
 * reachable. 0: never.
 */
const HEARD = REST + 14

const WHY_LATE: readonly WhyLate[] = ['unknown', 'busy', 'starved', 'stopped']

/** The lease is renewed a few times a second, so a reader never fails this often. */
const MOST_READS = 1000

export type SharedLease = {
  readonly until: Micros
  readonly token: number | null
  readonly wallAhead: Micros
}

/** `reason`: why there is no lease, or why it is not renewed; null when it is renewed. */
export type SharedLeaseState = { readonly lease: SharedLease | null; readonly reason: string | null }

export class SharedState {
  readonly buffer: SharedArrayBuffer
  readonly #cells: BigInt64Array
  readonly #room: number

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.#cells = new BigInt64Array(buffer)
    this.#room = (this.#cells.length - HEARD) / 2
  }

  /** With room for `nodes` nodes; values of further nodes are not shared. */
  static for(nodes: number): SharedState {
    return new SharedState(new SharedArrayBuffer(8 * (HEARD + 2 * nodes)))
  }

  // ---- The lease: written by the election ----

  grant({ until, token, wallAhead }: SharedLease, reason: string | null = null): void {
    const cells = this.#cells
    const next = Atomics.load(cells, VERSION) + 1n
    const place = placeIn(next)
    Atomics.store(cells, place + UNTIL, BigInt(until))
    Atomics.store(cells, place + TOKEN, BigInt(token === null ? 0 : token + 1))
    Atomics.store(cells, place + WALL_AHEAD, BigInt(Math.round(wallAhead)))
    this.#writeReason(place + REASON, reason)
    Atomics.store(cells, VERSION, next)
  }

  /** Ends the lease. Readers find the reason even before the message arrives. */
  revoke(reason: string): void {
    if (this.lease() !== null) this.grant({ until: 0, token: null, wallAhead: 0 }, reason)
  }

  /** Null when there is none. */
  lease(): SharedLease | null {
    return this.standing().lease
  }

  standing(): SharedLeaseState {
    const cells = this.#cells
    for (let reads = 0; reads < MOST_READS; reads++) {
      const version = Atomics.load(cells, VERSION)
      const place = placeIn(version)
      const until = Atomics.load(cells, place + UNTIL)
      const token = Atomics.load(cells, place + TOKEN)
      const wallAhead = Atomics.load(cells, place + WALL_AHEAD)
      const reason = this.#readReason(place + REASON)
      if (Atomics.load(cells, VERSION) !== version) continue
      if (until === 0n) return { lease: null, reason }
      return {
        lease: {
          until: Number(until),
          token: token === 0n ? null : Number(token) - 1,
          wallAhead: Number(wallAhead),
        },
        reason,
      }
    }
    return { lease: null, reason: null }
  }

  #writeReason(at: number, reason: string | null): void {
    const bytes = Buffer.alloc(8 * REASON_CELLS)
    const length = reason === null ? 0 : bytes.write(reason, 'latin1')
    this.#write(at, length)
    if (length === 0) return
    for (let cell = 0; cell < REASON_CELLS; cell++)
      Atomics.store(this.#cells, at + 1 + cell, bytes.readBigInt64LE(8 * cell))
  }

  #readReason(at: number): string | null {
    const length = this.#read(at)
    if (length === 0) return null
    const bytes = Buffer.alloc(8 * REASON_CELLS)
    for (let cell = 0; cell < REASON_CELLS; cell++)
      bytes.writeBigInt64LE(Atomics.load(this.#cells, at + 1 + cell), 8 * cell)
    return bytes.toString('latin1', 0, length)
  }

  // ---- Progress: written by the application ----

  get progress(): Micros {
    return this.#read(PROGRESS)
  }

  set progress(at: Micros) {
    this.#write(PROGRESS, at)
  }

  // ---- For operators: written by the election ----

  /** When the lease of the leader with this number of changes ends; null when there is none, or it is another leader. */
  leadUntil(leaderChanges: number): Micros | null {
    const isCurrent = (): boolean => this.#read(LEADER_CHANGES) === leaderChanges
    const wasCurrent = isCurrent()
    const until = this.#read(LEAD_UNTIL)
    return wasCurrent && isCurrent() && until !== 0 ? until : null
  }

  /** Published before the snapshot that names the leader is sent: until it arrives, readers know no leader. */
  publishLeadUntil(until: Micros | null, leaderChanges: number): void {
    if (this.#read(LEADER_CHANGES) !== leaderChanges) {
      this.#write(LEAD_UNTIL, 0)
      this.#write(LEADER_CHANGES, leaderChanges)
    }
    this.#write(LEAD_UNTIL, until ?? 0)
  }

  get membersUntil(): Micros | null {
    const until = this.#read(MEMBERS_UNTIL)
    return until === 0 ? null : until
  }

  set membersUntil(until: Micros | null) {
    this.#write(MEMBERS_UNTIL, until ?? 0)
  }

  get datagrams(): Datagrams {
    return { sent: this.#read(SENT), received: this.#read(RECEIVED), dropped: this.#read(DROPPED) }
  }

  set datagrams({ sent, received, dropped }: Datagrams) {
    this.#write(SENT, sent)
    this.#write(RECEIVED, received)
    this.#write(DROPPED, dropped)
  }

  heardAt(place: number): Micros | null {
    const at = place < this.#room ? this.#read(HEARD + place) : 0
    return at === 0 ? null : at
  }

  noteHeard(nodes: readonly NodeId[], heard: ReadonlyMap<NodeId, Micros>): void {
    for (const [place, id] of nodes.entries()) {
      if (place < this.#room) this.#write(HEARD + place, heard.get(id) ?? 0)
    }
  }

  evidenceAt(place: number): Micros | null {
    const at = place < this.#room ? this.#read(HEARD + this.#room + place) : 0
    return at === 0 ? null : at
  }

  /** In the order of the nodes. */
  noteEvidence(instants: readonly (Micros | null)[]): void {
    for (const [place, at] of instants.entries()) {
      if (place < this.#room) this.#write(HEARD + this.#room + place, at ?? 0)
    }
  }

  // ---- Why a lease is not renewed: written by the election. Values may be of two moments; they explain, nothing more ----

  get renewedAt(): Micros | null {
    const at = this.#read(RENEWED_AT)
    return at === 0 ? null : at
  }

  set renewedAt(at: Micros | null) {
    this.#write(RENEWED_AT, at ?? 0)
  }

  noteLate({ by, at, why }: LateEpisode): void {
    this.#write(LATE_BY, by)
    this.#write(LATE_WHY, Math.max(0, WHY_LATE.indexOf(why)))
    this.#write(LATE_AT, at)
  }

  /** `place`: of the sender among the nodes; negative if it is unknown. */
  noteSlow({ by, at }: SlowEpisode, place: number): void {
    this.#write(SLOW_BY, by)
    this.#write(SLOW_FROM, place + 1)
    this.#write(SLOW_AT, at)
  }

  /** The worst lateness, if it was at `since` or later. */
  late(since: Micros): LateEpisode | null {
    const at = this.#read(LATE_AT)
    if (at === 0 || at < since) return null
    return { by: this.#read(LATE_BY), at, why: WHY_LATE[this.#read(LATE_WHY)] ?? 'unknown' }
  }

  slow(nodes: readonly NodeId[], since: Micros): SlowEpisode | null {
    const at = this.#read(SLOW_AT)
    if (at === 0 || at < since) return null
    return { by: this.#read(SLOW_BY), at, from: nodes[this.#read(SLOW_FROM) - 1] ?? null, isStarved: false }
  }

  #read(cell: number): number {
    return Number(Atomics.load(this.#cells, cell))
  }

  #write(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, BigInt(Math.round(value)))
  }
}

function placeIn(version: bigint): number {
  return 1 + Number(version & 1n) * PLACE_CELLS
}
