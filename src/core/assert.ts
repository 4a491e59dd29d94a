/** A broken invariant: a bug in this program, never bad input or a fault of the world. */
export class AssertionFailedError extends Error {
  override readonly name = 'AssertionFailedError'
  readonly code = 'ERR_CONCLAVE_ASSERTION_FAILED'
}

/** Stays on in production: a process that no longer understands its own state must stop. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailedError(message)
}

/** For checks in inner loops, where not even the message may be made unless it is needed. */
export function fail(message: string): never {
  throw new AssertionFailedError(message)
}

/** The value, which must be there. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionFailedError(`${what} is missing`)
  return value
}

/** Marks a switch that must have handled every case. */
export function unreachable(value: never): never {
  throw new AssertionFailedError(`unhandled case ${JSON.stringify(value)}`)
}
