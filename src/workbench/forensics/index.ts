export * from './clocks.ts'
export * from './merge.ts'
export * from './message-matching.ts'
export * from './runs.ts'
