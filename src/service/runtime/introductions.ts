/**
 * Who is there? Where the configuration names only an address, the process there is asked for its id, and only holders
 * of the cluster's key can ask and answer. An answer repeats the question's number, so an old one is worth nothing.
 */
import { randomInt } from 'node:crypto'
import type { Message, NodeId } from '../../core/index.ts'
import { type Address, type Directory, type Entry, showAddress } from './directory.ts'

const ASK = 'WhoAreYou'
const ANSWER = 'IAm'
/** Addressed to any node. */
export const ANYBODY = ''
const ANSWER_EVERY_MS = 100

export type IntroductionHooks = {
  send(to: NodeId, address: Address, body: Message): void
  /** Two nodes with the same id, or an address whose node has changed its id. */
  conflict(problem: string): void
}

export class Introductions {
  readonly #self: NodeId
  readonly #directory: Directory
  readonly #hooks: IntroductionHooks
  /** Numbers of questions, by whom they went to. */
  readonly #asked = new Map<Entry, number>()
  readonly #said = new Set<string>()
  readonly #answeredAt = new Map<Entry, number>()
  readonly #waiting = new Set<() => void>()

  constructor(self: NodeId, directory: Directory, hooks: IntroductionHooks) {
    this.#self = self
    this.#directory = directory
    this.#hooks = hooks
  }

  /** Addresses at which nobody has answered yet. */
  unknown(): readonly Address[] {
    return [...this.#directory.entries].filter(({ id }) => id === null).map(({ address }) => address)
  }

  /** Kept once everybody is known; given up with the signal. */
  complete(signal?: AbortSignal): Promise<boolean> {
    this.ask()
    if (this.unknown().length === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.unknown().length > 0 && signal?.aborted !== true) return
        this.#waiting.delete(look)
        signal?.removeEventListener('abort', look)
        resolve(this.unknown().length === 0)
      }
      this.#waiting.add(look)
      signal?.addEventListener('abort', look)
      look()
    })
  }

  ask(): void {
    for (const entry of this.#directory.entries) {
      if (entry.id !== null || entry.current === null) continue
      const number = this.#asked.get(entry) ?? randomInt(2 ** 47)
      this.#asked.set(entry, number)
      const address = { host: entry.current, port: entry.address.port }
      this.#hooks.send(ANYBODY, address, { kind: ASK, number })
    }
  }

  /** Whether it was an introduction: then it has been seen to. `at` is where it came from. */
  handle(from: NodeId, to: NodeId, body: Message, at: Address): boolean {
    if (body.kind === ASK && to === ANYBODY) {
      this.#answer(from, body, at)
      return true
    }
    if (body.kind !== ANSWER || to !== this.#self) return false
    for (const [entry, number] of this.#asked) if (body['number'] === number) this.#learn(entry, from)
    return true
  }

  /** Only where the configuration says that somebody is, so that nobody is made to answer strangers. */
  #answer(from: NodeId, { number = null }: Message, at: Address): void {
    const entry = this.#directory.entryOf(from) ?? this.#directory.entryAt(at.host, at.port)
    if (entry === null || entry.current === null || typeof number !== 'number') return
    const now = performance.now()
    const last = this.#answeredAt.get(entry)
    if (last !== undefined && now - last < ANSWER_EVERY_MS) return
    this.#answeredAt.set(entry, now)
    const address = { host: entry.current, port: entry.address.port }
    this.#hooks.send(from, address, { kind: ANSWER, number })
  }

  #learn(entry: Entry, id: NodeId): void {
    if (entry.id !== null) return
    const where = showAddress(entry.address)
    const other = this.#directory.entryOf(id)
    if (id === this.#self) {
      this.#complain(
        `the process at ${where} has this process's own id, ${JSON.stringify(id)}: give each an id of its own, ` +
          "and do not list a process's own address among its peers",
      )
    } else if (other !== null) {
      const first = showAddress(other.address)
      this.#complain(
        `the processes at ${first} and ${where} both have the id ${JSON.stringify(id)}: give each an id of its own`,
      )
    } else {
      this.#asked.delete(entry)
      this.#directory.name(entry, id)
      for (const look of this.#waiting) look()
    }
  }

  #complain(problem: string): void {
    if (this.#said.has(problem)) return
    this.#said.add(problem)
    this.#hooks.conflict(problem)
  }
}
