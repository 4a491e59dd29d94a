/**
 * The port for sinks, which receive the numbered outputs of jobs. Every implementation runs the same conformance suite
 * (test/support/sink-conformance.ts).
 *
 * A job that is resumed repeats outputs. So a sink keeps the first output with a number (job, submission, seq), and drops
 * all later ones. It refuses a submission smaller than the largest that it has seen for the job: another job has taken the
 * name. Of the same submission, it refuses a token smaller than the largest that it has seen: that run was replaced.
 */

/** `fenced`: the sink has seen a later submission of the job, or a later token of the same submission. */
export type Acceptance = 'accepted' | 'duplicate' | 'fenced'

export type SinkEntry = {
  readonly job: string
  /** Tells apart jobs that use the same name one after the other. Compared as text, that of a later job is larger. */
  readonly submission: string
  readonly seq: number
  /** Of the view in which the run that releases it was assigned. */
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
