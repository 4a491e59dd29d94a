/**
 * The port for sinks, which receive the numbered outputs of jobs. Every implementation runs the same conformance suite
 * (test/support/sink-conformance.ts).
 *
 * A job that is resumed repeats outputs. So a sink keeps the first output with a number (job, submission,
 * seq), and drops all later ones. And it refuses a token smaller than the largest that it has seen for the job: that run was replaced.
 */

/** `fenced`: the token is older than that of another run. */
export type Acceptance = 'accepted' | 'duplicate' | 'fenced'

export type SinkEntry = {
  readonly job: string
  /** Tells apart jobs that use the same name one after the other. */
  readonly submission: string
  readonly seq: number
  /** Of the run that releases it. */
  readonly token: number
  /** null, boolean, number, string, array, plain object or Uint8Array. */
  readonly output: unknown
}

export type Sink = {
  /** Location, for messages. */
  readonly place: string
  /** Resolves when the output is safe. A sink that cannot tell rejects, and the output is offered again. */
  accept(entry: SinkEntry, signal?: AbortSignal): Promise<Acceptance>
  close(): Promise<void>
}
