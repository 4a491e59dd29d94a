export { CASES } from './cases.ts'
export { exceedsBound, type Finding, formatMeasure, type Measure, summarize } from './report.ts'
export {
  FAULT_TABLE,
  type FaultRow,
  formatFaultRow,
  LEADER_KILL,
  SHORT_RESTART,
  STORE_FAULTS,
  type StoreFault,
  tryFaults,
} from './store-faults.ts'
export { type StoreServer, storeSettings, tryStore } from './stores.ts'
export type { ChaosBounds, ChaosSettings } from './trial.ts'
