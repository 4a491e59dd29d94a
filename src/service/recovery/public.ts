/** `conclave/recovery`: jobs that survive the loss of nodes. */
export {
  type Cluster,
  type ClusterEvents,
  type ClusterView,
  type ModuleJob,
  type NumberedResult,
} from './cluster/cluster.ts'
export type { JobHandle, JobState, WaitOptions } from './cluster/handle.ts'
export { openCluster } from './cluster/open.ts'
export type { ClusterOptions } from './cluster/options.ts'
export type { JobProgress } from './jobs/content.ts'
export type { CheckpointOptions, JobContext, JobFunction } from './jobs/context.ts'
export {
  CheckpointAbortedError,
  CheckpointDiskFullError,
  CheckpointFailedError,
  CheckpointTooLargeError,
  InvalidJobValueError,
  JobCancelledError,
  JobExistsError,
  JobFailedError,
  JobFencedError,
  JobRefusedError,
  UnknownJobError,
} from './jobs/errors.ts'
export { openDirectorySink } from './sink/directory.ts'
export { SinkFailedError } from './sink/errors.ts'
export { openMemorySink } from './sink/memory.ts'
export type { Acceptance, Sink, SinkEntry } from './sink/sink.ts'
export type { ColumnKey } from './store/column-key.ts'
export type { ColumnStore, ColumnWriter, RawColumn, StoredColumn } from './store/column-store.ts'
export { type DiskStoreOptions, openDiskStore } from './store/disk.ts'
export {
  ColumnMissingError,
  ColumnStoreFailedError,
  ColumnStoreFullError,
  CorruptColumnError,
  InvalidColumnKeyError,
} from './store/errors.ts'
export { openS3Store, type S3StoreOptions } from './store/s3.ts'
