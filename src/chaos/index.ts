export * from './campaign.ts'
export * from './report.ts'
export type { Bounds, Settings } from './trial.ts'
export * from './stores.ts'
