/**
 * Addresses from which something new came that only a holder of the key can have said: a peer's, behind a router or
 * under another port than it was given with. They are not taken for strangers when there is a flood, until something
 * comes from there that is refused: a replayed datagram makes its address no better known than any other.
 */
const MOST = 1000
const FOR_MS = 10_000

export class KnownAddresses {
  /** When something came last from each, the oldest first. */
  readonly #seen = new Map<string, number>()

  add(host: string, port: number, now: number): void {
    const address = `${host} ${port}`
    this.#seen.delete(address)
    this.#seen.set(address, now)
    if (this.#seen.size <= MOST) return
    const [oldest] = this.#seen.keys()
    if (oldest !== undefined) this.#seen.delete(oldest)
  }

  /** Something came from there that was refused. */
  delete(host: string, port: number): void {
    if (this.#seen.size > 0) this.#seen.delete(`${host} ${port}`)
  }

  has(host: string, port: number, now: number): boolean {
    const at = this.#seen.get(`${host} ${port}`)
    return at !== undefined && now - at < FOR_MS
  }
}
