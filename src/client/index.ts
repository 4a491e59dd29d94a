export * from './answers.ts'
export * from './client.ts'
