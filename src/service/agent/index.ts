export * from './agent.ts'
export { CannotListenError } from './listen.ts'
export { Systemd } from './systemd.ts'
