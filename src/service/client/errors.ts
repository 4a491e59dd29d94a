/** The errors of the client. Each has a stable `code`. */

/** No agent responds at the address. */
export class AgentUnreachableError extends Error {
  override readonly name = 'AgentUnreachableError'
  readonly code = 'ERR_CONCLAVE_AGENT_UNREACHABLE'
}

/** The agent responded with an error. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError'
  readonly code = 'ERR_CONCLAVE_REQUEST_REFUSED'
  /** HTTP status of the response. */
  readonly status: number
  /** `error.code` of the response body, such as `NotLeader`. */
  readonly kind: string
  /** Field or header of the request that is wrong; null when the error is not about one. */
  readonly field: string | null

  constructor(status: number, kind: string, message: string, field: string | null = null) {
    super(message)
    this.status = status
    this.kind = kind
    this.field = field
  }
}
