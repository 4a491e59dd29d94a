/** A group of agents on this machine, the links between them, and what happened to them. */
import type { LinkFault, NetworkFaults } from '../../service/runtime/index.ts'
import type { LocalAgent } from './local-agent.ts'

/** One direction of a link: what `from` sends to `to`. */
export type Direction = { readonly from: string; readonly to: string }

export type Happening = { readonly atMs: number; readonly text: string }

const MOST_HAPPENINGS = 100

export class LocalGroup {
  readonly agents: readonly LocalAgent[]
  readonly #began = performance.now()
  readonly #faults = new Map<string, Map<string, LinkFault>>()
  readonly #onHappening: (happening: Happening) => void
  /** The last of what happened. */
  readonly happenings: Happening[] = []

  /** `makeAgents` is given where to say what happens. */
  constructor(
    makeAgents: (say: (text: string) => void) => readonly LocalAgent[],
    onHappening: (happening: Happening) => void = () => {},
  ) {
    this.#onHappening = onHappening
    this.agents = makeAgents((text) => this.say(text))
  }

  get ids(): readonly string[] {
    return this.agents.map(({ id }) => id)
  }

  /** Who leads, as far as is known; several only if something is very wrong, or the news is old. */
  get leaders(): readonly LocalAgent[] {
    return this.agents.filter(({ leads }) => leads)
  }

  get sinceMs(): number {
    return performance.now() - this.#began
  }

  say(text: string): void {
    const happening = { atMs: this.sinceMs, text }
    this.happenings.push(happening)
    this.happenings.splice(0, this.happenings.length - MOST_HAPPENINGS)
    this.#onHappening(happening)
  }

  async look(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.look()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.stop()))
  }

  /** What befalls what one sends to the other; null: nothing any more. */
  spoil(directions: readonly Direction[], fault: LinkFault | null): void {
    for (const { from, to } of directions) {
      const heard = this.#faults.get(to) ?? new Map<string, LinkFault>()
      if (fault === null) heard.delete(from)
      else heard.set(from, fault)
      this.#faults.set(to, heard)
    }
    for (const to of new Set(directions.map((direction) => direction.to))) this.#tell(to)
  }

  faultOf({ from, to }: Direction): LinkFault | null {
    return this.#faults.get(to)?.get(from) ?? null
  }

  /** Every direction between agents of different parts; who is named in none is in one more part with the others so. */
  between(parts: readonly (readonly string[])[]): readonly Direction[] {
    const partOf = (id: string): number => parts.findIndex((part) => part.includes(id))
    return this.directions().filter(({ from, to }) => partOf(from) !== partOf(to))
  }

  directions(): readonly Direction[] {
    return this.ids.flatMap((from) => this.ids.flatMap((to) => (from === to ? [] : [{ from, to }])))
  }

  #tell(to: string): void {
    const faults: NetworkFaults = Object.fromEntries(this.#faults.get(to) ?? [])
    this.agents.find(({ id }) => id === to)?.spoil(faults)
  }
}
