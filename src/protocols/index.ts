/** All protocols, by name. */
import type { Definition } from '../core/index.ts'
import { bullyDefinition } from './bully/index.ts'
import { bullyGmDefinition } from './bully-gm/index.ts'
import { epochsDefinition } from './epochs/index.ts'
import { gammaDefinition } from './gamma/index.ts'
import type { Hosting } from './hosting.ts'
import { addHosting } from './hostings.ts'
import { invitationDefinition } from './invitation/index.ts'
import { localLeaderDefinition } from './local-leader/index.ts'
import { omegaDefinition } from './omega/index.ts'
import { omegaPrintedDefinition } from './omega-printed/index.ts'
import { phiDefinition } from './phi/index.ts'
import { psiDefinition } from './psi/index.ts'
import { recoveryDefinition } from './recovery/index.ts'
import { ringDefinition } from './ring/index.ts'

export { defectProblems } from './defect-option.ts'
export {
  type GroupSpec,
  groupFor,
  type HostSettings,
  handOverProblemFor,
  host,
  hostShowing,
  insightFor,
  leaseInsightFor,
  peerHosting,
  pulseFor,
} from './host.ts'
export {
  type Asked,
  type Assumed,
  type Broken,
  type Chosen,
  type Forensics,
  type Hosting,
  LEASE_FIELDS,
  type LeaseFields,
  type LeaseLength,
  type PeerHosting,
  type Problem,
  type ProfileName,
  type Recorded,
  type RecordedRun,
  type RecordedView,
  type Recovered,
  type Remedy,
  type StoreHosting,
  type StoreInsight,
  type TimingAssumptions,
} from './hosting.ts'
export { DEFAULT_PROTOCOL, hostedNames, hostingOf } from './hostings.ts'
export type {
  Insight,
  LeaseInsight,
  LeaseNeed,
  Membership,
  Pulse,
  SeenView,
  Waiting,
} from './insight.ts'
export { roundUpMs } from './plan-text.ts'
export type {
  LoadCard,
  MeasuredIn,
  Milestone,
  MilestonePlan,
  Plan,
  PlanAsked,
  PlanDescription,
  PlanField,
  PlannedFigure,
  PlannedLevel,
  PlannedStore,
  PlannedTrial,
  Planning,
  Span,
  SteadyLoad,
  TrialEvent,
  TrialFault,
  TrialPlan,
  TrialText,
  TrialWorld,
} from './planning.ts'
export { type MessageLayout, readId, type WireFormat, writeId } from './wire.ts'

/** The protocols of this package. */
export const protocols: readonly Definition[] = [
  ringDefinition,
  bullyDefinition,
  bullyGmDefinition,
  invitationDefinition,
  localLeaderDefinition,
  epochsDefinition,
  gammaDefinition,
  phiDefinition,
  psiDefinition,
  omegaPrintedDefinition,
  omegaDefinition,
  recoveryDefinition,
]

/** A protocol of another package. Its module exports `protocol` and, if real processes can run it, `hosting`. */
export type AddedProtocol = {
  readonly definition: Definition
  /** Null: the protocol can only be simulated and explored. */
  readonly hosting: Hosting | null
  /** The URL of the module: worker threads import it again. */
  readonly module: string
}

const added = new Map<string, AddedProtocol>()

/**
 * Adds a protocol to this thread. Throws a RangeError if another protocol has the same name. Adding the same protocol
 * again is allowed.
 */
export function addProtocol(given: AddedProtocol): void {
  const { definition, hosting } = given
  const { name } = definition
  const before = added.get(name)
  if (protocols.some((protocol) => protocol.name === name))
    throw new RangeError(`${name} is a protocol of this package: choose another name`)
  if (before !== undefined && before.definition !== definition)
    throw new RangeError(
      `another protocol ${name} is already loaded, from ${before.module}: choose another name`,
    )
  if (hosting !== null && hosting.name !== name)
    throw new RangeError(`hosting.name is ${hosting.name}, but protocol.name is ${name}: use the same name`)
  added.set(name, given)
  if (hosting !== null) addHosting(hosting)
}

/** The modules of all added protocols, for worker threads to import. */
export function addedModules(): readonly string[] {
  return [...added.values()].map(({ module }) => module)
}

export function protocolNamed(name: string): Definition | null {
  return protocols.find((protocol) => protocol.name === name) ?? added.get(name)?.definition ?? null
}

/** All protocols of this thread, by name. */
export const catalogue = {
  get names(): readonly string[] {
    return [...added.keys(), ...protocols.map(({ name }) => name)]
  },
  find: protocolNamed,
}
