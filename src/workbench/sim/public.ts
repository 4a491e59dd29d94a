/** `conclave/sim`: scenarios, simulated runs, campaigns and shrinking. Unstable until 1.0. */
export type {
  ClockReading,
  NetworkReading,
  NodeState,
  RecordHook,
  RunInspector,
  RunOptions,
} from '../scenario/options.ts'
export { InvalidScenarioError, type Lookup, parseScenario } from '../scenario/parse.ts'
export type { Report } from '../scenario/report.ts'
export type { Network, Scenario, ScenarioEvent, ScheduleStep } from '../scenario/scenario.ts'
export {
  addTallies,
  type CampaignOptions,
  type CampaignTally,
  EMPTY_TALLY,
  runSeed,
  type SeedViolation,
  shrinkViolation,
} from './campaign.ts'
export { runScenario } from './run.ts'
export { shrink } from './shrink.ts'
export { type SwarmSettings, scenarioDrawer } from './swarm.ts'
export { RunawayRunError } from './world-hooks.ts'
