/**
 * Where the others are: learnt from the configuration only, never from a datagram.
 *
 * A peer is given by a host and a port. A host that is a name is resolved at the start, again now and then, and sooner
 * when nothing has come from that peer for a while: it may have moved. Which process is there may be given, as its id,
 * or left open; then it is asked (introductions.ts).
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { NodeId } from '../../core/index.ts'

export type Address = { readonly host: string; readonly port: number }
export type Peer = { readonly id: NodeId | null; readonly address: Address }
/** All addresses of a name, of both families. */
export type Lookup = (host: string) => Promise<readonly string[]>

export type Entry = {
  id: NodeId | null
  readonly address: Address
  /** What the name stands for, as the socket takes it. */
  found: readonly string[]
  /** The one in use. */
  current: string | null
  resolvedAt: number
  isResolving: boolean
  trouble: string | null
  /** When something last came from there, or it was last tried elsewhere. */
  heardAt: number
  waitMs: number
}

const RESOLVE_EVERY_MS = 30_000
const SILENT_AFTER_MS = 2_000
const LOOK_EVERY_MS = 500
const FIRST_WAIT_MS = 1_000

export type DirectorySettings = {
  /** What the socket can reach: `both` is an IPv6 socket that is open to IPv4 too. */
  readonly family: 4 | 6 | 'both'
  readonly lookup?: Lookup
  readonly now?: () => number
  trouble(address: Address, problem: string): void
  /** Called periodically, to ask for unknown ids. */
  look?(): void
}

export function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export async function lookupAll(host: string): Promise<readonly string[]> {
  const all = await systemLookup(host, { all: true })
  return all.map(({ address }) => address)
}

export class Directory {
  readonly #settings: DirectorySettings
  readonly #lookup: Lookup
  readonly #now: () => number
  readonly #entries = new Set<Entry>()
  readonly #byId = new Map<NodeId, Entry>()
  readonly #timer: NodeJS.Timeout

  constructor(settings: DirectorySettings) {
    this.#settings = settings
    this.#lookup = settings.lookup ?? lookupAll
    this.#now = settings.now ?? (() => performance.now())
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** Resolves after the first lookup of its name, successful or not. */
  async add({ id, address }: Peer): Promise<void> {
    const entry: Entry = {
      id,
      address,
      found: [],
      current: null,
      resolvedAt: Number.NEGATIVE_INFINITY,
      isResolving: false,
      trouble: null,
      heardAt: this.#now(),
      waitMs: FIRST_WAIT_MS,
    }
    this.#entries.add(entry)
    if (id !== null) this.#byId.set(id, entry)
    await this.#resolve(entry)
  }

  remove(id: NodeId): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    this.#byId.delete(id)
    this.#entries.delete(entry)
  }

  /** It has turned out who is there. */
  name(entry: Entry, id: NodeId): void {
    entry.id = id
    this.#byId.set(id, entry)
  }

  get entries(): Iterable<Entry> {
    return this.#entries
  }

  entryOf(id: NodeId): Entry | null {
    return this.#byId.get(id) ?? null
  }

  /** The one at which a datagram from there was sent, as far as addresses tell. */
  entryAt(host: string, port: number): Entry | null {
    for (const entry of this.#entries) {
      if (entry.address.port === port && entry.found.includes(host)) return entry
    }
    return null
  }

  heard(id: NodeId): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    entry.heardAt = this.#now()
    entry.waitMs = FIRST_WAIT_MS
  }

  /** Resolves what is due. */
  look(): void {
    const now = this.#now()
    for (const entry of this.#entries) {
      const isSilent = entry.current === null || now - entry.heardAt >= SILENT_AFTER_MS
      const wait = isSilent ? entry.waitMs : RESOLVE_EVERY_MS
      if (now - entry.resolvedAt >= wait) void this.#resolve(entry)
    }
    this.#settings.look?.()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#entries.clear()
    this.#byId.clear()
  }

  async #resolve(entry: Entry): Promise<void> {
    if (entry.isResolving) return
    entry.isResolving = true
    const { host } = entry.address
    try {
      const all = isIP(host) === 0 ? await this.#lookup(host) : [host]
      const usable = all.flatMap((address) => this.#asSent(address))
      if (usable.length > 0) this.#found(entry, usable)
      else
        this.#complain(
          entry,
          `no address of it can be reached from here (${all.join(', ') || 'it has none'})`,
        )
    } catch (error) {
      this.#complain(entry, error instanceof Error ? error.message : String(error))
    } finally {
      const now = this.#now()
      entry.isResolving = false
      entry.resolvedAt = now
      if (entry.current === null || now - entry.heardAt >= SILENT_AFTER_MS) {
        entry.waitMs = Math.min(RESOLVE_EVERY_MS, entry.waitMs * 2)
      }
    }
  }

  /** What is in use stays, unless it is gone or silent: then the next is tried. */
  #found(entry: Entry, found: readonly string[]): void {
    const place = entry.current === null ? -1 : found.indexOf(entry.current)
    const isSilent = this.#now() - entry.heardAt >= SILENT_AFTER_MS
    entry.found = found
    entry.trouble = null
    if (place < 0 || isSilent) entry.current = found[(place + 1) % found.length] ?? null
  }

  /** Said once for each problem; what was known before goes on being used. */
  #complain(entry: Entry, problem: string): void {
    if (entry.trouble === problem) return
    entry.trouble = problem
    this.#settings.trouble(entry.address, problem)
  }

  /** As the socket takes it, or nothing if it does not. */
  #asSent(address: string): readonly string[] {
    const family = isIP(address)
    const { family: reach } = this.#settings
    if (reach === 'both') return [family === 4 ? `::ffff:${address}` : address]
    return family === reach ? [address] : []
  }
}
