/** `conclave/links`: layers between a protocol and the network. Unstable until 1.0. */
export {
  consistentHistory,
  type HistoryLinks,
  type HistoryTiming,
} from './consistent-history/consistent-history.ts'
export { type Bertier, bertier } from './detectors/bertier.ts'
export type { Estimator } from './detectors/estimator.ts'
export { fixedTimeout } from './detectors/fixed.ts'
export { HEARTBEAT, type LeaderWatch, leaderWatch } from './detectors/leader-watch.ts'
export { type NfdE, nfdE } from './detectors/nfd-e.ts'
export {
  checkDetector,
  type DetectorOptions,
  detectorLayer,
  detectorOptions,
  noticedWithin,
} from './detectors/options.ts'
export { type Phi, phi } from './detectors/phi.ts'
export { type FailAwareSettings, failAware } from './fail-aware/fail-aware.ts'
export { type ReliableLinks, type ReliableTiming, reliableLinks } from './reliable.ts'
