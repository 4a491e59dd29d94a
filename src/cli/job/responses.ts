/** What a node that runs jobs answers over HTTP. Client and server share these types. */

export type JobResponse = {
  readonly name: string
  readonly status: string
  /** The node that runs it. */
  readonly node: string | null
  readonly reason: string
  /** The newest committed checkpoint. */
  readonly epoch: number | null
  /** The nodes that hold its columns, by column. */
  readonly holders: readonly (string | null)[]
  /** Nodes that may still be lost without losing it, where that is known. */
  readonly tolerated: number | null
  readonly progress: { readonly done: number; readonly text: string } | null
  readonly stalledMs: number | null
  readonly submission: string
}

export type JobsResponse = {
  readonly group: string
  readonly self: string
  readonly leader: string | null
  readonly members: readonly string[]
  readonly jobs: readonly JobResponse[]
}

export type OutputsResponse = {
  readonly job: string
  /** Tells apart jobs that use the same name one after the other. */
  readonly submission: string
  readonly outputs: readonly { readonly seq: number; readonly output: unknown }[]
}

export type ResultResponse = { readonly job: string; readonly result: unknown }

/** Bytes in JSON. */
export function showBytes(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}
