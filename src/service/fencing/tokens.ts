/**
 * The receiving half of a fencing token. A leader that was paused and comes back cannot know yet that it leads no more;
 * what it writes to can. It keeps the greatest token that it has seen and refuses every smaller one.
 */

/** A request of a former leader. */
export class StaleTokenError extends Error {
  override readonly name = 'StaleTokenError'
  readonly code = 'ERR_CONCLAVE_STALE_TOKEN'
  readonly resource: string
  readonly token: number
  /** The greatest that was seen. */
  readonly current: number

  constructor(resource: string, token: number, current: number) {
    super(
      `${resource} refuses the token ${token}: ${current} has been seen, so somebody else has led since. Stop acting as the leader`,
    )
    this.resource = resource
    this.token = token
    this.current = current
  }
}

/**
 * How far a token may be above the greatest that was seen. A group that renews five times a second needs 7,000 years for
 * so many; a token beyond it is a mistake or an attack, and would lock every leader out for ever.
 */
export const MOST_AHEAD = 2 ** 40

/** A token that no group can have come to. */
export class ImplausibleTokenError extends Error {
  override readonly name = 'ImplausibleTokenError'
  readonly code = 'ERR_CONCLAVE_IMPLAUSIBLE_TOKEN'
  readonly resource: string
  readonly token: number
  /** The greatest that was seen. */
  readonly current: number

  constructor(resource: string, token: number, current: number) {
    super(
      `${resource} refuses the token ${token}: it is too far above ${current}, the greatest seen so far. Check where it comes from; a term's token is never so large`,
    )
    this.resource = resource
    this.token = token
    this.current = current
  }
}

/** What must be known before a resource is touched. */
export type Fence = { readonly resource: string; readonly token: number }

export function checkToken(token: number): void {
  if (!Number.isSafeInteger(token) || token < 0)
    throw new RangeError(`a token is a whole number from 0 on, not ${token}: pass the term's token`)
}

/** Remembers the greatest token of each resource, for receivers that have no store of their own. */
export type TokenMemory = {
  /** The greatest token of the resource, this one included. It is remembered for good when the promise resolves. */
  raise(resource: string, token: number): Promise<number>
}

/** Forgets everything when the process ends. An old leader may then be let in until the new one has been heard of. */
export function tokensInMemory(): TokenMemory {
  const greatest = new Map<string, number>()
  return {
    async raise(resource, token) {
      const present = Math.max(greatest.get(resource) ?? 0, token)
      greatest.set(resource, present)
      return present
    },
  }
}
