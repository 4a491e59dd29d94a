export * from './agent.ts'
export { CannotListen } from './listen.ts'
export { Systemd } from './systemd.ts'
