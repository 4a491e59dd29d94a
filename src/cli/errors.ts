/** How commands end. The codes are part of the command line's contract. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** Nobody leads, or not whom it was asked of. */
  noLeader: 3,
  unreachable: 4,
  refused: 5,
  violated: 6,
  lost: 7,
} as const

/** What the caller must change; reported in one line, exit code 2. `field` names what is wrong, where it has a name. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_CONCLAVE_USAGE'
  readonly field: string | null

  constructor(message: string, field: string | null = null) {
    super(message)
    this.field = field
  }
}
