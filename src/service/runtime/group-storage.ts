/**
 * The storage of an endpoint: it knows what each group has stored. When a write fails, only the groups that wanted to
 * write are excluded for a while. It reports when the disk works again.
 */
import type { Command, Input, Micros, Plain } from '../../core/index.ts'
import { groupsIn } from './endpoint-state.ts'
import type { Storage } from './storage.ts'

export type GroupStorageHooks = {
  /** A group could not store its data. */
  warn(group: string, detail: string): void
  recovered(): void
}

/** How long a group that could not store its data is excluded, so that the others can continue. */
const EXCLUSION: Micros = 100_000
/** A warning about failed writes is repeated periodically while they last, not at every try. */
const WARNING_INTERVAL_MS = 10_000

export class GroupStorage implements Storage {
  readonly #storage: Storage
  readonly #hooks: GroupStorageHooks
  /** When each group was last warned. */
  readonly #warnedAt = new Map<string, number>()
  #stored: { readonly [group: string]: Plain } = {}
  #isFailing = false
  #failure: Error | null = null

  constructor(storage: Storage, hooks: GroupStorageHooks) {
    this.#storage = storage
    this.#hooks = hooks
  }

  /** The last failed write since a group began. */
  get failure(): Error | null {
    return this.#failure
  }

  load(): Plain {
    const stable = this.#storage.load()
    this.#stored = groupsIn(stable)
    return stable
  }

  save(data: Plain): void {
    try {
      this.#storage.save(data)
    } catch (error) {
      this.#isFailing = true
      throw error
    }
    this.#stored = groupsIn(data)
    if (!this.#isFailing) return
    this.#isFailing = false
    this.#warnedAt.clear()
    this.#hooks.recovered()
  }

  close(): void {
    this.#storage.close()
  }

  /** A group joins, with this data or with what was stored for it. */
  begin(group: string, stable: Plain | undefined): void {
    this.#failure = null
    if (stable !== undefined) this.#stored = { ...this.#stored, [group]: stable }
  }

  storedFor(group: string): Plain {
    return this.#stored[group] ?? null
  }

  noteFailure(error: Error): void {
    this.#failure = error
  }

  /** The groups that wanted to write are left out for a while; the others go on. */
  excludeGroups(input: Input, stable: Plain): Command | null {
    const wanted = groupsIn(stable)
    const groups = Object.keys(wanted).filter((name) => wanted[name] !== this.#stored[name])
    const isJoin = input.type === 'command' && input.command.do === 'join'
    if (isJoin || groups.length === 0) return null
    queueMicrotask(() => this.#warn(groups))
    return { do: 'hold', groups, forMicros: EXCLUSION }
  }

  #warn(groups: readonly string[]): void {
    const now = performance.now()
    for (const name of groups) {
      const last = this.#warnedAt.get(name)
      if (this.#failure === null || (last !== undefined && now - last < WARNING_INTERVAL_MS)) continue
      this.#warnedAt.set(name, now)
      this.#hooks.warn(name, `${this.#failure.message}: no vote was given`)
    }
  }
}
