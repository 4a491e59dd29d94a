/** The library: `join`, the node and its terms, their events, and the errors that callers can meet. */
export type { HealthCheck, JoinOptions, WorkOptions } from '../config/join-options.ts'
export { loadProtocol, type ProtocolModule } from '../config/load-protocol.ts'
export type { FieldProblem } from '../config/problems.ts'
export type { StoreJoinOptions } from '../config/store-join-options.ts'
export type {
  Announcement,
  Cause,
  CauseKind,
  EndedTerm,
  Hearing,
  Measured,
  NodeDetails,
  NodeRole,
  Spread,
} from '../runtime/index.ts'
export {
  DamagedStorageError,
  InvalidKeyError,
  StorageFailedError,
  StorageInUseError,
  StorageLockError,
  UnusableFolderError,
} from '../runtime/index.ts'
export {
  AlreadyLeadingError,
  CommandRefusedError,
  InvalidArgumentError,
  InvalidOptionsError,
  LeadershipLostError,
  NodeClosedError,
  StoreFailedError,
  WorkerLostError,
} from './api/errors.ts'
export { join } from './api/join.ts'
export type { LossReason } from './api/loss-reason.ts'
export type {
  ConclaveNode,
  HandOver,
  HandOverOptions,
  LeadOptions,
  LeaseBounds,
  StepDownOptions,
} from './api/node.ts'
export type {
  GroupStatus,
  IneligibleReason,
  InstalledView,
  Mode,
  NodeEvents,
  RecentWarning,
} from './api/status.ts'
export type { Term } from './api/term.ts'
export type {
  LevelCause,
  LevelChange,
  LevelNeed,
  LevelStep,
  TimingStatus,
  VoterEvidence,
} from './api/timing-status.ts'
export type { NodeStatus, NodeView } from './election/election.ts'
export type { LeaseTiming } from './election/lease-timing.ts'
