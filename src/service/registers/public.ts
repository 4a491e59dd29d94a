/** `conclave/registers`: shared registers on a store. */
export { type Block, BlockTooLargeError } from './block.ts'
export { parseStore, type StoreConfig } from './config.ts'
export {
  CellLockedError,
  CorruptBlockError,
  IdInUseError,
  InvalidStoreError,
  MissingClientError,
  NodeRemovedError,
  type RegisterFault,
  StoreAccessDeniedError,
  StoreRolledBackError,
  StoreUnreachableError,
  SupersededError,
  UnsuitableStoreError,
  UnsupportedFormatError,
} from './errors.ts'
export { openStore } from './open.ts'
export {
  type BuryOutcome,
  type ClaimOutcome,
  openRegisters,
  type ReadOutcome,
  type Registers,
  type RegistersOptions,
  type WriteOutcome,
} from './registers.ts'
export type { Cell, CellStore, StoreFacts, StoreKind, Version } from './store.ts'
