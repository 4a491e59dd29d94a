export * from './explore.ts'
export type { CutShort, SearchProgress } from './search.ts'
