/** The state of a node: the membership protocol, and the fault manager above it. */
import type {
  ManagerCommand,
  ManagerMessage,
  ManagerStable,
  ManagerState,
} from '../../recovery/manager/index.ts'
import type { OmegaCommand, OmegaMessage, OmegaStable, OmegaState } from '../omega/state.ts'

export type RecoveryStable = { readonly omega: OmegaStable; readonly manager: ManagerStable }
export type RecoveryState = { readonly omega: OmegaState; readonly manager: ManagerState }
export type RecoveryMessage = OmegaMessage | ManagerMessage
export type RecoveryCommand = OmegaCommand | ManagerCommand
