export * from './agent.ts'
export { CannotListenError } from './listen.ts'
export { SystemdNotifier } from './systemd.ts'
