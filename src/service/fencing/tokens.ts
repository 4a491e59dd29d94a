/**
 * The receiving side of fencing tokens. A leader that was paused does not know yet that its term has ended, but the
 * resource that it writes to can: it keeps the greatest token that it has seen and refuses smaller ones.
 */

/** The token belongs to a former leader. */
export class StaleTokenError extends Error {
  override readonly name = 'StaleTokenError'
  readonly code = 'ERR_CONCLAVE_STALE_TOKEN'
  readonly resource: string
  readonly token: number
  /** The greatest token seen so far. */
  readonly current: number

  constructor(resource: string, token: number, current: number) {
    super(
      `${resource} refuses the token ${token}: token ${current} has been seen, so another node has led since. Stop acting as the leader`,
    )
    this.resource = resource
    this.token = token
    this.current = current
  }
}

/**
 * Limit for the distance of a token above the greatest one seen. A group with five terms per second needs 7,000 years to
 * reach it. A larger token is a mistake or an attack, and would lock out every leader.
 */
export const MAX_TOKEN_GAP = 2 ** 40

/** The token is too large to be real. */
export class ImplausibleTokenError extends Error {
  override readonly name = 'ImplausibleTokenError'
  readonly code = 'ERR_CONCLAVE_IMPLAUSIBLE_TOKEN'
  readonly resource: string
  readonly token: number
  /** The greatest token seen so far. */
  readonly current: number

  constructor(resource: string, token: number, current: number) {
    super(
      `${resource} refuses the token ${token}: it is too far above ${current}, the greatest seen so far. Check where it comes from; the token of a term is never that large`,
    )
    this.resource = resource
    this.token = token
    this.current = current
  }
}

/** A resource, and the token of the term that writes to it. */
export type Fence = { readonly resource: string; readonly token: number }

export function checkToken(token: number): void {
  if (!Number.isSafeInteger(token) || token < 0)
    throw new RangeError(`token: must be a whole number from 0, not ${token}; pass the token of the term`)
}

/** Remembers the greatest token of each resource, for receivers without their own storage. */
export type TokenMemory = {
  /** Raises the greatest token of the resource and returns it. Durable when the promise resolves. */
  raise(resource: string, token: number): Promise<number>
}

/** Lost when the process exits. A former leader can then be admitted until the new leader has sent a request. */
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
