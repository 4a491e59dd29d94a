/** A group of agents on this machine, the faults on the links between them, and a log of what happened. */
import type { LinkFault, NetworkFaults } from '../../service/runtime/index.ts'
import { Failovers, formatMs } from './failover.ts'
import type { LocalAgent } from './local-agent.ts'
import { describeEvent, parseLogLine } from './text.ts'

/** One direction of a link: the messages that `from` sends to `to`. */
export type Direction = { readonly from: string; readonly to: string }

export type LogEntry = { readonly atMs: number; readonly text: string }

const MAX_LOG_ENTRIES = 1000

export class LocalGroup {
  readonly agents: readonly LocalAgent[]
  readonly #startedAt = performance.now()
  readonly #faults = new Map<string, Map<string, LinkFault>>()
  readonly #onEntry: (entry: LogEntry) => void
  /** The newest entries. */
  readonly log: LogEntry[] = []
  readonly failovers = new Failovers()

  /** `createAgents` receives the function that takes a line of an agent's own log. */
  constructor(
    createAgents: (takeLogLine: (id: string, line: string) => void) => readonly LocalAgent[],
    onEntry: (entry: LogEntry) => void = () => {},
  ) {
    this.#onEntry = onEntry
    this.agents = createAgents((id, line) => this.#takeLogLine(id, line))
  }

  get ids(): readonly string[] {
    return this.agents.map(({ id }) => id)
  }

  /** The agents that said they lead. More than one means a stale status, or a bug. */
  get leaders(): readonly LocalAgent[] {
    return this.agents.filter(({ isLeader }) => isLeader)
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  report(text: string): void {
    const entry = { atMs: this.elapsedMs, text }
    this.log.push(entry)
    this.log.splice(0, this.log.length - MAX_LOG_ENTRIES)
    this.#onEntry(entry)
  }

  /** Adds the event in a line of an agent's log, if it is shown: a new leader with the time since the former one. */
  #takeLogLine(id: string, line: string): void {
    const event = parseLogLine(line)
    if (event === null) {
      this.report(`${id}: ${line}`)
      return
    }
    const failover = this.failovers.take(id, event)
    const text = describeEvent(id, event)
    if (text !== null)
      this.report(failover === null ? text : `${text}, ${formatMs(failover.ms)} after ${failover.after}`)
  }

  async refresh(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.refresh()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.stop()))
  }

  /** Sets the fault on some directions; null removes it. */
  injectFault(directions: readonly Direction[], fault: LinkFault | null): void {
    for (const { from, to } of directions) {
      const incoming = this.#faults.get(to) ?? new Map<string, LinkFault>()
      if (fault === null) incoming.delete(from)
      else incoming.set(from, fault)
      this.#faults.set(to, incoming)
    }
    for (const to of new Set(directions.map((direction) => direction.to))) this.#sendFaults(to)
  }

  faultOf({ from, to }: Direction): LinkFault | null {
    return this.#faults.get(to)?.get(from) ?? null
  }

  /** The directions between agents of different parts. Agents that are in no part form one more part together. */
  between(parts: readonly (readonly string[])[]): readonly Direction[] {
    const partOf = (id: string): number => parts.findIndex((part) => part.includes(id))
    return this.directions().filter(({ from, to }) => partOf(from) !== partOf(to))
  }

  /** Both directions of every link. */
  directions(): readonly Direction[] {
    return this.ids.flatMap((from) => this.ids.flatMap((to) => (from === to ? [] : [{ from, to }])))
  }

  #sendFaults(to: string): void {
    const faults: NetworkFaults = Object.fromEntries(this.#faults.get(to) ?? [])
    this.agents.find(({ id }) => id === to)?.injectFaults(faults)
  }
}
