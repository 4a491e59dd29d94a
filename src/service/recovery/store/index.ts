export {
  type ColumnKey,
  columnName,
  describeCheckpoint,
  describeColumn,
  parseColumnName,
} from './column-key.ts'
export {
  type ColumnReader,
  columnOwner,
  FAST_CHECKSUMS,
  findColumnProblem,
  openColumnReader,
  readColumn,
} from './column-reader.ts'
export type { ColumnStore, ColumnWriter, RawColumn, StoredColumn } from './column-store.ts'
export { type DiskCalls, type DiskStoreOptions, openDiskStore } from './disk.ts'
export * from './errors.ts'
export { openS3Store, type S3StoreOptions } from './s3.ts'
export { type ScrubbedColumn, scrub } from './scrub.ts'
