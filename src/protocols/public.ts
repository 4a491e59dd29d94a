/** `conclave/protocols`: the definitions of all protocols, and the types of a custom hosting. Unstable until 1.0. */
export type {
  Asked,
  Assumed,
  Broken,
  Chosen,
  Forensics,
  Hosting,
  LeaseLength,
  PeerHosting,
  Problem,
  StoreHosting,
  StoreInsight,
  TimingAssumptions,
} from './hosting.ts'
export { catalogue, protocolNamed, protocols } from './index.ts'
export type { Insight } from './insight.ts'
export type { MilestonePlan, Plan, PlanAsked, Planning, TrialPlan } from './planning.ts'
export {
  type MessageLayout,
  readFlag,
  readId,
  readIds,
  readList,
  readOptional,
  type WireFormat,
  type WireReader,
  type WireWriter,
  writeFlag,
  writeId,
  writeIds,
  writeList,
  writeOptional,
} from './wire.ts'
