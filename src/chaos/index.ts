export * from './campaign.ts'
export * from './report.ts'
export * from './stores.ts'
export type { Bounds, Settings } from './trial.ts'
