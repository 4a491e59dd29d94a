/** What the thread of the application and the thread of an election say to each other. Plain data only. */
import type { MessagePort } from 'node:worker_threads'
import type { Command, Micros, NodeId, Output } from '../../../core/index.ts'
import type { Membership } from '../../../protocols/index.ts'
import type { NetworkElectionSettings, StoreElectionSettings } from '../../config/election-settings.ts'
import type { NetworkFaults } from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import type { NodeView } from './election.ts'

/** The first word of a thread: whoever says something else is not ours. */
export const GREETING = 'conclave election thread 1'

/** What an election begins with, and over which port it is spoken to. */
export type ElectionStart = {
  readonly settings: NetworkElectionSettings | StoreElectionSettings
  readonly shared: SharedArrayBuffer
  readonly maxStallMs: number
  readonly port: MessagePort
}

/** What a thread is told: it has no other election by the time it is to end. */
export type WorkerControl =
  | { readonly order: 'open'; readonly begin: ElectionStart }
  | { readonly order: 'end' }

/** Each is answered, under its number. */
export type WorkerRequest = { readonly number: number } & (
  | { readonly ask: 'command'; readonly command: Command }
  | { readonly ask: 'stepDown'; readonly token: number | null }
  | { readonly ask: 'injectFaults'; readonly faults: NetworkFaults }
  /** Answered when all pieces have been told. */
  | { readonly ask: 'trace' }
  | { readonly ask: 'close' }
)

/** How things stand, as far as it does not change all the time. Instants are on the clock of the process. */
export type StatusSnapshot = {
  readonly view: NodeView
  readonly voters: readonly (readonly NodeId[])[]
  /** All of the group, in order: by their places in it they stand in shared memory. */
  readonly nodes: readonly NodeId[]
  /** Who is there where the protocol does not say for how long evidence counts; shared memory has the evidence. */
  readonly reachable: readonly NodeId[]
  readonly evidenceFor: Micros | null
  readonly isSilent: boolean
  readonly membership: Membership | null
  readonly primary: boolean | null
}

export type WorkerMessage =
  | { readonly news: 'begun' }
  | { readonly news: 'refused'; readonly error: SerializedError }
  | { readonly news: 'answer'; readonly number: number; readonly why: string | null }
  | { readonly news: 'trace'; readonly number: number; readonly piece: string }
  /** What the protocol put out in one turn, and how things stand after it; null when that has not changed. */
  | { readonly news: 'turn'; readonly events: readonly Output[]; readonly shown: StatusSnapshot | null }
  | { readonly news: 'warning'; readonly what: string; readonly detail: string }
  | { readonly news: 'failed'; readonly error: SerializedError }

export type SerializedError = {
  readonly name: string
  readonly message: string
  readonly code: string | null
  readonly field: string | null
}

export function serializeError(error: unknown): SerializedError {
  const { name, message, code, field } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Error & {
    readonly code?: unknown
    readonly field?: unknown
  }
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return { name, message, code: text(code), field: text(field) }
}

/** The same error on the other side: its class is lost on the way unless it is ours, its name is not. */
export function deserializeError({ name, message, code, field }: SerializedError): Error {
  if (name === 'InvalidOptionsError' && field !== null)
    return new InvalidOptionsError(field, message.slice(`${field}: `.length))
  const more = { ...(code === null ? {} : { code }), ...(field === null ? {} : { field }) }
  return Object.assign(new Error(message), { name }, more)
}
