/**
 * The stable data of a process whose groups have a folder each.
 *
 * What a group must keep is in its own folder only. The incarnation, which belongs to the process, is in all of them:
 * it must grow whichever groups are joined first next time, or at all. A folder that was left out for a while does not
 * know of the incarnations in between, so every start goes beyond the time of day too: only where groups come and go
 * between starts does anything rest on that, and a clock that was set back meanwhile is noticed when the group with
 * the later incarnation comes.
 */
import type { Plain } from '../../core/index.ts'
import { MOST_IN_SESSION } from '../../links/index.ts'
import type { Storage } from './storage.ts'

/** A group's folder has seen a later incarnation of this process than the present one. */
export class LaterIncarnationError extends Error {
  override readonly name = 'LaterIncarnationError'
  readonly code = 'ERR_CONCLAVE_LATER_INCARNATION'

  constructor(group: string) {
    super(
      `${group} was last joined by a later incarnation of this process than this one, for the host's clock was set ` +
        'back since: join this group before the others',
    )
  }
}

/** The incarnation in a group's folder is none that another process would accept. */
export class UnusableIncarnationError extends Error {
  override readonly name = 'UnusableIncarnationError'
  readonly code = 'ERR_CONCLAVE_UNUSABLE_INCARNATION'

  constructor(group: string) {
    super(
      `the incarnation in the data directory of ${group} is out of range: run "conclave recover" on this folder`,
    )
  }
}

/** As a group's folder has it. */
type Kept = { readonly layer: number; readonly upper: Plain }
type Part = { readonly storage: Storage; kept: Kept }

export class DividedStorage implements Storage {
  readonly #parts = new Map<string, Part>()
  readonly #wall: () => number
  /** Null until the process has begun. */
  #incarnation: number | null = null

  constructor(wall: () => number = Date.now) {
    this.#wall = wall
  }

  /** The stored data of a group that is about to be joined. If it cannot be joined, its folder is closed. */
  add(group: string, storage: Storage): Plain {
    try {
      const kept = checked(group, storage.load() ?? { layer: 0, upper: null })
      const part = { storage, kept }
      if (this.#incarnation !== null) {
        if (kept.layer > this.#incarnation) throw new LaterIncarnationError(group)
        write(part, { layer: this.#incarnation, upper: kept.upper })
      }
      this.#parts.set(group, part)
      return kept.upper
    } catch (error) {
      storage.close()
      throw error
    }
  }

  remove(group: string): void {
    this.#parts.get(group)?.storage.close()
    this.#parts.delete(group)
  }

  /** The groups' own data comes when they are joined. */
  load(): Plain {
    const seen = [...this.#parts.values()].map(({ kept }) => kept.layer)
    return { layer: Math.max(this.#wall(), ...seen), upper: {} }
  }

  /** Writes where something has changed. If that fails for one group, others may have been written: that does no harm. */
  save(data: Plain): void {
    const { layer, upper } = data as {
      readonly layer: number
      readonly upper: { readonly [group: string]: Plain }
    }
    this.#incarnation = layer
    for (const [group, part] of this.#parts) {
      const stable = group in upper ? (upper[group] as Plain) : part.kept.upper
      if (part.kept.layer !== layer || part.kept.upper !== stable) write(part, { layer, upper: stable })
    }
  }

  close(): void {
    for (const { storage } of this.#parts.values()) storage.close()
    this.#parts.clear()
  }
}

/** An incarnation that others would refuse must not be begun. */
function checked(group: string, data: Plain): Kept {
  const { layer } = (data ?? {}) as { readonly layer?: Plain }
  if (Number.isInteger(layer) && (layer as number) >= 0 && (layer as number) < MOST_IN_SESSION - 1)
    return data as Kept
  throw new UnusableIncarnationError(group)
}

function write(part: Part, kept: Kept): void {
  part.storage.save(kept)
  part.kept = kept
}
