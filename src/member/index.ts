export * from './errors.ts'
export * from './member.ts'
export type { Term } from './term.ts'
