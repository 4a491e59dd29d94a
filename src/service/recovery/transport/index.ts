export { ColumnClient, type ColumnClientOptions, type Outgoing, type Wanted } from './client.ts'
export * from './errors.ts'
export {
  type ColumnGate,
  ColumnServer,
  type ColumnServerOptions,
  type ServedGroup,
  type Verdict,
} from './server.ts'
export type { Transfer, Upload } from './wire.ts'
