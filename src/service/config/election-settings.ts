/** What an election is started with: options that have been checked and resolved. Plain data, so that it can be sent to a worker. */
import type { NodeId, PlainObject } from '../../core/index.ts'
import type { FencingConfig } from '../fencing/config.ts'
import type { StoreConfig } from '../registers/index.ts'
import type { Address } from '../runtime/index.ts'

/** An election among peers that exchange datagrams. */
export type NetworkElectionSettings = {
  readonly group: string
  readonly id: string
  readonly listen: Address
  readonly peers: readonly { readonly id: string; readonly address: Address }[]
  /** The ids of all nodes of the group, sorted. */
  readonly nodes: readonly NodeId[]
  readonly keys: readonly Uint8Array[]
  readonly secrecy: boolean
  /** The data directory; null when nothing survives a crash. */
  readonly data: string | null
  readonly protocol: string
  /** Options of the protocol, defaults filled in. */
  readonly options: PlainObject
  /** How many of the last steps the black box keeps. */
  readonly traceSteps: number
}

/** An election in a shared store. */
export type StoreElectionSettings = {
  readonly group: string
  readonly id: string
  /** The nodes that are known before the store is read: this node alone. */
  readonly nodes: readonly NodeId[]
  readonly protocol: string
  readonly store: StoreConfig
  /** Devices that fence all other nodes before this node leads. */
  readonly fencing: readonly FencingConfig[]
  /** How many of the last steps the black box keeps. */
  readonly traceSteps: number
  /** Options of the protocol, defaults filled in. */
  readonly options: PlainObject
}
