/** Exit codes. They are part of the public interface of the command line. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** The group has no leader, or the agent that was asked is not the leader. */
  noLeader: 3,
  unreachable: 4,
  refused: 5,
  violated: 6,
  lost: 7,
} as const

/** Bad input. Reported in one line, with exit code 2. `field` names the flag, argument or field that is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_CONCLAVE_USAGE'
  readonly field: string | null

  constructor(message: string, field: string | null = null) {
    super(message)
    this.field = field
  }
}
