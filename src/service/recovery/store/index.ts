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
export type { ColumnStore, ColumnWriter, RawColumn } from './column-store.ts'
export { openDiskStore } from './disk.ts'
export * from './errors.ts'
export { scrub } from './scrub.ts'
