/** Between the node and the worker thread of a module job. Values are encoded (value.ts). */
import type { JobProgress } from './content.ts'

export type ModuleStart = {
  /** URL of the module. */
  readonly module: string
  readonly name: string
  readonly token: number
  readonly input: Uint8Array
}

export type ToWorker =
  | { readonly type: 'answer'; readonly call: number; readonly value: Uint8Array | null }
  | { readonly type: 'failure'; readonly call: number; readonly error: SentError }
  | { readonly type: 'abort'; readonly error: SentError }
  | { readonly type: 'ping' }

export type FromWorker =
  | { readonly type: 'restore'; readonly call: number }
  | { readonly type: 'checkpoint'; readonly call: number; readonly state: Uint8Array }
  | { readonly type: 'abortCheckpoint'; readonly call: number }
  | { readonly type: 'emit'; readonly seq: number; readonly value: Uint8Array }
  | ({ readonly type: 'progress' } & JobProgress)
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'returned'; readonly value: Uint8Array }
  | { readonly type: 'threw'; readonly error: SentError }
  | { readonly type: 'pong' }

/** An error as plain data. Its class is lost; its code stays. */
export type SentError = {
  readonly name: string
  readonly message: string
  readonly code: string | null
  readonly stack: string | null
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof Error))
    return { name: 'Error', message: `threw ${String(error)}`, code: null, stack: null }
  const { code } = error as { readonly code?: unknown }
  return {
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : null,
    stack: error.stack ?? null,
  }
}

export function receiveError({ name, message, code, stack }: SentError): Error {
  const error = new Error(message)
  error.name = name
  if (stack !== null) error.stack = stack
  return code === null ? error : Object.assign(error, { code })
}
