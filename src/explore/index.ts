export * from './model.ts'
export * from './search.ts'
