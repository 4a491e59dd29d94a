/**
 * The addresses of the peers: learned from the configuration only, never from a datagram.
 *
 * A peer is given by host and port. A host name is resolved at the start, again periodically, and sooner when the peer
 * has been silent for a while, because it may have moved. The id of a peer may be configured. Otherwise the process at
 * that address is asked for it (introductions.ts).
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { NodeId } from '../../core/index.ts'

export type Address = { readonly host: string; readonly port: number }
export type Peer = { readonly id: NodeId | null; readonly address: Address }
/** All addresses of a name, in both families. */
export type Lookup = (host: string) => Promise<readonly string[]>

export type Entry = {
  id: NodeId | null
  readonly address: Address
  /** The addresses of the name, in the form that the socket takes. */
  found: readonly string[]
  /** The address in use. */
  current: string | null
  resolvedAt: number
  isResolving: boolean
  problem: string | null
  /** When the last datagram came from the peer, or another address was last tried. */
  heardAt: number
  waitMs: number
}

const RESOLVE_INTERVAL_MS = 30_000
const SILENT_AFTER_MS = 2_000
const LOOK_INTERVAL_MS = 500
const FIRST_WAIT_MS = 1_000

export type DirectorySettings = {
  /** The address families that the socket can reach. `both`: an IPv6 socket that also accepts IPv4. */
  readonly family: 4 | 6 | 'both'
  readonly lookup?: Lookup
  readonly now?: () => number
  lookupFailed(id: NodeId | null, address: Address, problem: string): void
  /** Called periodically, to ask for unknown ids. */
  looked?(): void
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
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS)
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
      problem: null,
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

  /** Records the id that a peer has answered. */
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

  /** The entry with this address. */
  entryAt(host: string, port: number): Entry | null {
    for (const entry of this.#entries) {
      if (entry.address.port === port && entry.found.includes(host)) return entry
    }
    return null
  }

  /** The peer at an address, as `showAddress` shows it. */
  idAt(address: string): NodeId | null {
    for (const { id, found, address: given } of this.#entries) {
      if (id !== null && found.some((host) => showAddress({ host, port: given.port }) === address)) return id
    }
    return null
  }

  /** Where datagrams for a peer are sent; null while its name is not resolved. */
  resolvedAddressOf(id: NodeId): string | null {
    const entry = this.#byId.get(id)
    if (entry === undefined || entry.current === null) return null
    // A socket for both families takes IPv4 addresses in this form.
    return showAddress({ host: entry.current.replace(/^::ffff:/, ''), port: entry.address.port })
  }

  /** The peers whose ids are known. */
  named(): readonly { readonly id: NodeId; readonly address: Address; readonly isResolved: boolean }[] {
    return [...this.#entries].flatMap(({ id, address, current }) =>
      id === null ? [] : [{ id, address, isResolved: current !== null }],
    )
  }

  heard(id: NodeId): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    entry.heardAt = this.#now()
    entry.waitMs = FIRST_WAIT_MS
  }

  /** Resolves the names that are due. */
  look(): void {
    const now = this.#now()
    for (const entry of this.#entries) {
      const isSilent = entry.current === null || now - entry.heardAt >= SILENT_AFTER_MS
      const wait = isSilent ? entry.waitMs : RESOLVE_INTERVAL_MS
      if (now - entry.resolvedAt >= wait) void this.#resolve(entry)
    }
    this.#settings.looked?.()
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
      const usable = all.flatMap((address) => this.#toSocketAddress(address))
      if (usable.length > 0) this.#useAddress(entry, usable)
      else
        this.#report(
          entry,
          `none of its addresses can be reached from here (${all.join(', ') || 'it has none'})`,
        )
    } catch (error) {
      this.#report(entry, error instanceof Error ? error.message : String(error))
    } finally {
      const now = this.#now()
      entry.isResolving = false
      entry.resolvedAt = now
      if (entry.current === null || now - entry.heardAt >= SILENT_AFTER_MS) {
        entry.waitMs = Math.min(RESOLVE_INTERVAL_MS, entry.waitMs * 2)
      }
    }
  }

  /** Keeps the address in use, unless it is no longer found or the peer is silent. Then tries the next one. */
  #useAddress(entry: Entry, found: readonly string[]): void {
    const place = entry.current === null ? -1 : found.indexOf(entry.current)
    const isSilent = this.#now() - entry.heardAt >= SILENT_AFTER_MS
    entry.found = found
    entry.problem = null
    if (place < 0 || isSilent) entry.current = found[(place + 1) % found.length] ?? null
  }

  /** Reports each problem once. The addresses that were found before stay in use. */
  #report(entry: Entry, problem: string): void {
    if (entry.problem === problem) return
    entry.problem = problem
    this.#settings.lookupFailed(entry.id, entry.address, problem)
  }

  /** The address in the form that the socket takes; empty if the socket cannot reach it. */
  #toSocketAddress(address: string): readonly string[] {
    const family = isIP(address)
    const { family: reach } = this.#settings
    if (reach === 'both') return [family === 4 ? `::ffff:${address}` : address]
    return family === reach ? [address] : []
  }
}
