/**
 * Introductions. Where the configuration gives only an address, the process there is asked for its id. Only holders of
 * the group's key can ask and answer. An answer repeats the number of the question, so a replayed answer has no effect.
 */
import { randomInt } from 'node:crypto'
import type { Message, NodeId } from '../../core/index.ts'
import { type Address, type Directory, type Entry, showAddress } from './directory.ts'

export const ASK = 'WhoAreYou'
export const ANSWER = 'IAm'
/** Addressed to any node. */
export const ANY_NODE = ''
const ANSWER_INTERVAL_MS = 100

export type IntroductionHooks = {
  send(to: NodeId, address: Address, body: Message): void
  /** Two nodes with the same id, or an address whose node has changed its id. */
  conflict(problem: string): void
}

export class Introductions {
  readonly #self: NodeId
  readonly #directory: Directory
  readonly #hooks: IntroductionHooks
  /** The number of the pending question per entry. */
  readonly #asked = new Map<Entry, number>()
  readonly #reported = new Set<string>()
  readonly #answeredAt = new Map<Entry, number>()
  readonly #waiting = new Set<() => void>()

  constructor(self: NodeId, directory: Directory, hooks: IntroductionHooks) {
    this.#self = self
    this.#directory = directory
    this.#hooks = hooks
  }

  /** Addresses at which no node has answered yet. */
  unknown(): readonly Address[] {
    return [...this.#directory.entries].filter(({ id }) => id === null).map(({ address }) => address)
  }

  /** Resolves to true when all ids are known, and to false when the signal is aborted first. */
  complete(signal?: AbortSignal): Promise<boolean> {
    this.ask()
    if (this.unknown().length === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.unknown().length > 0 && signal?.aborted !== true) return
        this.#waiting.delete(check)
        signal?.removeEventListener('abort', check)
        resolve(this.unknown().length === 0)
      }
      this.#waiting.add(check)
      signal?.addEventListener('abort', check)
      check()
    })
  }

  ask(): void {
    for (const entry of this.#directory.entries) {
      if (entry.id !== null || entry.current === null) continue
      const number = this.#asked.get(entry) ?? randomInt(2 ** 47)
      this.#asked.set(entry, number)
      const address = { host: entry.current, port: entry.address.port }
      this.#hooks.send(ANY_NODE, address, { kind: ASK, number })
    }
  }

  /** Handles introductions. Returns false for other messages. `at`: the address of the sender. */
  handle(from: NodeId, to: NodeId, body: Message, at: Address): boolean {
    if (body.kind === ASK && to === ANY_NODE) {
      this.#answer(from, body, at)
      return true
    }
    if (body.kind !== ANSWER || to !== this.#self) return false
    for (const [entry, number] of this.#asked) if (body['number'] === number) this.#learn(entry, from)
    return true
  }

  /** Answers only configured addresses, so that strangers cannot make this process send datagrams. */
  #answer(from: NodeId, { number = null }: Message, at: Address): void {
    const entry = this.#directory.entryOf(from) ?? this.#directory.entryAt(at.host, at.port)
    if (entry === null || entry.current === null || typeof number !== 'number') return
    const now = performance.now()
    const last = this.#answeredAt.get(entry)
    if (last !== undefined && now - last < ANSWER_INTERVAL_MS) return
    this.#answeredAt.set(entry, now)
    const address = { host: entry.current, port: entry.address.port }
    this.#hooks.send(from, address, { kind: ANSWER, number })
  }

  #learn(entry: Entry, id: NodeId): void {
    if (entry.id !== null) return
    const where = showAddress(entry.address)
    const other = this.#directory.entryOf(id)
    if (id === this.#self) {
      this.#report(
        `the process at ${where} has the id of this process, ${JSON.stringify(id)}: give each its own id, ` +
          "and do not list a process's own address among its peers",
      )
    } else if (other !== null) {
      const first = showAddress(other.address)
      this.#report(
        `the processes at ${first} and ${where} both have the id ${JSON.stringify(id)}: give each its own id`,
      )
    } else {
      this.#asked.delete(entry)
      this.#directory.name(entry, id)
      for (const check of this.#waiting) check()
    }
  }

  #report(problem: string): void {
    if (this.#reported.has(problem)) return
    this.#reported.add(problem)
    this.#hooks.conflict(problem)
  }
}
