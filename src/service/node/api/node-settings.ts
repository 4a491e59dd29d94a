/** What a node is made from, and the options of its methods. */
import type { NodeId } from '../../../core/index.ts'
import type { WorkSettings } from '../../config/join-options.ts'
import type { LeaseTiming } from '../election/lease-timing.ts'
import type { Timers } from '../election/timers.ts'
import type { SignalOption } from './arguments.ts'
import type { Mode } from './status.ts'

export type LeadOptions = SignalOption & {
  /** Return after one term in which the work ran. */
  readonly once?: boolean
}

export type StepDownOptions = SignalOption & {
  /** The node that should lead next. */
  readonly to?: NodeId
}

export type HandOverOptions = SignalOption & {
  /** The node that should lead next. */
  readonly to: NodeId
}

export type NodeSettings = {
  readonly group: string
  readonly id: NodeId
  readonly mode: Mode
  readonly lease: LeaseTiming
  readonly work: WorkSettings
  readonly timers: Timers
  /** Null for nodes that may lead. */
  readonly role: 'observer' | 'witness' | null
}
