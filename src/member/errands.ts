/** What the thread of the application and the thread of an election say to each other. Plain data only. */
import type { Command, NodeId, Output } from '../core/index.ts'
import type { NetworkFaults } from '../runtime/index.ts'
import type { NodeView, SeatSettings } from './seat.ts'

/** What the election's thread begins with. */
export type WorkerBegin = {
  readonly settings: SeatSettings
  readonly shared: SharedArrayBuffer
  readonly maxStallMs: number
}

/** Each is answered, under its number. */
export type Errand = { readonly number: number } & (
  | { readonly ask: 'command'; readonly command: Command }
  | { readonly ask: 'stepDown'; readonly token: number | null }
  | { readonly ask: 'spoil'; readonly faults: NetworkFaults }
  /** Answered when all pieces have been told. */
  | { readonly ask: 'trace' }
  | { readonly ask: 'close' }
)

/** How things stand, as far as it does not change all the time. Instants are on the clock of the process. */
export type Shown = {
  readonly view: NodeView
  readonly voters: readonly (readonly NodeId[])[]
  readonly there: readonly NodeId[]
  readonly isSilent: boolean
}

export type News =
  | { readonly news: 'begun' }
  | { readonly news: 'refused'; readonly error: PlainError }
  | { readonly news: 'answer'; readonly number: number; readonly why: string | null }
  | { readonly news: 'trace'; readonly number: number; readonly piece: string }
  | { readonly news: 'output'; readonly event: Output }
  | { readonly news: 'shown'; readonly shown: Shown }
  | { readonly news: 'warning'; readonly what: string; readonly detail: string }
  | { readonly news: 'failed'; readonly error: PlainError }

export type PlainError = { readonly name: string; readonly message: string; readonly code: string | null }

export function plainError(error: unknown): PlainError {
  const { name, message, code } = (error instanceof Error ? error : new Error(String(error))) as Error & {
    readonly code?: unknown
  }
  return { name, message, code: typeof code === 'string' ? code : null }
}

/** The same error on the other side: its class is lost on the way, its name is not. */
export function revivedError({ name, message, code }: PlainError): Error {
  return Object.assign(new Error(message), { name }, code === null ? {} : { code })
}
