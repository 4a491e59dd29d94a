/** The messages between the application's thread and the worker of an election. Plain data only. */
import type { MessagePort } from 'node:worker_threads'
import type { Command, Micros, NodeId, Output } from '../../../core/index.ts'
import type { Membership } from '../../../protocols/index.ts'
import type { NetworkElectionSettings, StoreElectionSettings } from '../../config/election-settings.ts'
import type { NetworkFaults } from '../../runtime/index.ts'
import type { News, NodeView } from './election.ts'
import type { SerializedError } from './error-transfer.ts'
import type { Observed } from './observed.ts'

/** The first message of a worker. A worker that sends something else runs another script. */
export const GREETING = 'conclave election thread 1'

/** What an election starts with, and the port of its channel. */
export type ElectionStart = {
  readonly settings: NetworkElectionSettings | StoreElectionSettings
  /** Modules of protocols that were loaded in the thread of the application. */
  readonly modules: readonly string[]
  readonly shared: SharedArrayBuffer
  readonly maxStallMs: number
  readonly port: MessagePort
}

/** Messages to the worker itself. `end` comes after its last election was closed. */
export type WorkerControl =
  | { readonly control: 'open'; readonly start: ElectionStart }
  | { readonly control: 'end' }

/** Every request gets a reply with its number. */
export type WorkerRequest = { readonly number: number } & (
  | { readonly request: 'command'; readonly command: Command }
  | { readonly request: 'stepDown'; readonly token: number | null; readonly to?: NodeId }
  | { readonly request: 'handOverProblem'; readonly to: NodeId }
  | { readonly request: 'injectFaults'; readonly faults: NetworkFaults }
  | { readonly request: 'announce'; readonly news: News }
  /** The reply follows the last piece. */
  | { readonly request: 'trace' }
  | { readonly request: 'close' }
)

/** The part of the status that changes seldom; the rest is in shared memory. Instants are on the clock of the process. */
export type StatusSnapshot = {
  readonly view: NodeView
  /** The number of changes of `view.leader` so far. Shared memory has the end of the lease of this leader. */
  readonly leaderChanges: number
  readonly voters: readonly (readonly NodeId[])[]
  /** All nodes of the group, sorted. Shared memory has their values in this order. */
  readonly nodes: readonly NodeId[]
  /** The reachable nodes, where the protocol does not say for how long evidence counts. */
  readonly reachable: readonly NodeId[]
  readonly evidenceFor: Micros | null
  readonly isSilent: boolean
  readonly membership: Membership | null
  readonly primary: boolean | null
}

export type WorkerMessage =
  | { readonly message: 'started' }
  | { readonly message: 'refused'; readonly error: SerializedError }
  | { readonly message: 'reply'; readonly number: number; readonly why: string | null }
  | { readonly message: 'trace'; readonly number: number; readonly piece: string }
  /** The outputs of the protocol in one turn, and the snapshot after it; null when that has not changed. */
  | {
      readonly message: 'progress'
      readonly events: readonly Output[]
      readonly snapshot: StatusSnapshot | null
    }
  /** Measurements, and what nodes tell each other; about once a second. */
  | { readonly message: 'observed'; readonly observed: Observed }
  | { readonly message: 'warning'; readonly what: string; readonly detail: string }
  | { readonly message: 'failed'; readonly error: SerializedError }
