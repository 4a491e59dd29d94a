export * from './clocks.ts'
export * from './letters.ts'
export * from './merge.ts'
export * from './runs.ts'
