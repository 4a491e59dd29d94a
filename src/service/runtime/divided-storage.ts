/**
 * The stable data of a process in which each group has its own folder.
 *
 * A group stores its own data in its folder only. The incarnation belongs to the process and is stored in every folder,
 * because it must grow no matter which groups the next start joins first, or at all. A folder that was not used for a
 * while does not know the incarnations in between. So every start also exceeds the wall clock. That matters only if the
 * set of groups changes between starts. If the clock was set back meanwhile, joining the group with the later
 * incarnation fails.
 */
import type { Plain } from '../../core/index.ts'
import { MOST_IN_SESSION } from '../../links/index.ts'
import type { Storage } from './storage.ts'

/** The folder of a group has recorded a later incarnation of this process than the current one. */
export class LaterIncarnationError extends Error {
  override readonly name = 'LaterIncarnationError'
  readonly code = 'ERR_CONCLAVE_LATER_INCARNATION'

  constructor(group: string) {
    super(
      `${group} was last joined by a later incarnation of this process, because the clock of the host was set ` +
        'back: join this group before the others',
    )
  }
}

/** Peers would refuse the incarnation in the folder of a group. */
export class UnusableIncarnationError extends Error {
  override readonly name = 'UnusableIncarnationError'
  readonly code = 'ERR_CONCLAVE_UNUSABLE_INCARNATION'

  constructor(group: string) {
    super(
      `the incarnation in the data directory of ${group} is out of range: run "conclave recover" on this folder`,
    )
  }
}

/** The content of the folder of a group. */
type Kept = { readonly layer: number; readonly upper: Plain }
type Part = { readonly storage: Storage; kept: Kept }

export class DividedStorage implements Storage {
  readonly #parts = new Map<string, Part>()
  readonly #wall: () => number
  /** Null until the process has started. */
  #incarnation: number | null = null

  constructor(wall: () => number = Date.now) {
    this.#wall = wall
  }

  /** The stored data of a group that is about to be joined. If it cannot be joined, its folder is closed. */
  add(group: string, storage: Storage): Plain {
    try {
      const kept = checkKept(group, storage.load() ?? { layer: 0, upper: null })
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

  /** The data of each group is loaded when the group is joined. */
  load(): Plain {
    const seen = [...this.#parts.values()].map(({ kept }) => kept.layer)
    return { layer: Math.max(this.#wall(), ...seen), upper: {} }
  }

  /**
   * Writes to the folders whose data has changed. If that fails for one group, others may have been written, which does
   * no harm.
   */
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

/** A process must not start with an incarnation that peers would refuse. */
function checkKept(group: string, data: Plain): Kept {
  const { layer } = (data ?? {}) as { readonly layer?: Plain }
  if (Number.isInteger(layer) && (layer as number) >= 0 && (layer as number) < MOST_IN_SESSION - 1)
    return data as Kept
  throw new UnusableIncarnationError(group)
}

function write(part: Part, kept: Kept): void {
  part.storage.save(kept)
  part.kept = kept
}
