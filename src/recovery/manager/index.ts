export * from './manager.ts'
export { type ManagerRules, RULES as MANAGER_RULES } from './rules.ts'
export {
  type Entry,
  type GroupView,
  type Held,
  MANAGER_KINDS,
  type ManagerMessage,
  type ManagerStable,
  type ManagerState,
} from './state.ts'
export * from './types.ts'
export type { ManagerSettings } from './work.ts'
