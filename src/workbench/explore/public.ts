/** `conclave/explore`: exhaustive search over every interleaving. Unstable until 1.0. */
export {
  type ExploredCounterexample,
  type ExploreHooks,
  type ExploreReport,
  type ExploreSettings,
  explore,
  type ProgressVerdict,
} from './explore.ts'
export type { CutShort, SearchProgress } from './search.ts'
