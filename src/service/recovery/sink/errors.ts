/** Errors of sinks. */

/** The sink could not store an output. It is offered again. */
export class SinkFailedError extends Error {
  override readonly name = 'SinkFailedError'
  readonly code = 'ERR_CONCLAVE_SINK_FAILED'

  constructor(place: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`the sink ${place} cannot store an output: ${why}. It is offered again`, { cause })
  }
}
