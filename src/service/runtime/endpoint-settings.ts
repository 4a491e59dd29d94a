/** What an endpoint needs, and whom it informs. */
import type { NodeId, Plain } from '../../core/index.ts'
import type { ProcessName } from './abouts.ts'
import type { HostClock } from './clock.ts'
import type { Address, Lookup, Peer } from './directory.ts'
import type { LoopRecord } from './loop.ts'
import type { DroppedDatagrams } from './refusal-log.ts'
import type { Sealer } from './seal.ts'
import type { Storage } from './storage.ts'

export type EndpointSettings = {
  readonly self: NodeId
  readonly listen: Address
  readonly peers: readonly Peer[]
  readonly sealer: Sealer
  readonly storage: Storage
  readonly clock?: HostClock
  readonly lookup?: Lookup
  /** What this process tells its peers about itself. */
  readonly name?: ProcessName
}

export type EndpointHooks = {
  /** `peer`: the node that is configured at the address of the last sender. */
  dropped(refused: DroppedDatagrams, peer: NodeId | null): void
  /** A condition for operators: a name that cannot be resolved, two processes with the same id, a one-way link. `peer`: the node
   * that it is about. */
  warning(what: string, detail: string, peer: NodeId | null): void
  /** The endpoint cannot continue, and has stopped. */
  failed(error: Error): void
  /** `before`: the state in which the step was taken; null at the start. */
  record?(record: LoopRecord, before: Plain): void
}
