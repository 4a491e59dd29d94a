export { ColumnClient } from './client.ts'
export * from './errors.ts'
export { type ColumnGate, ColumnServer, type Verdict } from './server.ts'
export type { Transfer, Upload } from './wire.ts'
