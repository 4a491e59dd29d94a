export * from './client.ts'
export * from './responses.ts'
