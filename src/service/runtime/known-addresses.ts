/**
 * Addresses of peers that differ from the configured ones, for example behind a router. An address counts as known
 * after a fresh datagram that only a holder of the key can have sent. Known addresses are exempt from the rate limit
 * for unknown ones. A refused datagram removes its address again, so replayed datagrams do not help an attacker.
 */
const MOST = 1000
const FOR_MS = 10_000

export class KnownAddresses {
  /** When the last datagram came from each address, oldest first. */
  readonly #seen = new Map<string, number>()

  add(host: string, port: number, now: number): void {
    const address = `${host} ${port}`
    this.#seen.delete(address)
    this.#seen.set(address, now)
    if (this.#seen.size <= MOST) return
    const [oldest] = this.#seen.keys()
    if (oldest !== undefined) this.#seen.delete(oldest)
  }

  /** A datagram from this address was refused. */
  delete(host: string, port: number): void {
    if (this.#seen.size > 0) this.#seen.delete(`${host} ${port}`)
  }

  has(host: string, port: number, now: number): boolean {
    const at = this.#seen.get(`${host} ${port}`)
    return at !== undefined && now - at < FOR_MS
  }
}
