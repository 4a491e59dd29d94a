export * from './beliefs.ts'
export * from './catalogue.ts'
export * from './monitor.ts'
export * from './spec.ts'
