/** Every protocol, by name. */
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
import { ringDefinition } from './ring/index.ts'

export { defectProblems } from './defect-option.ts'
export { type GroupSpec, groupFor, type HostSettings, host, hosted, insightFor, peerHosting } from './host.ts'
export {
  type Asked,
  type Chosen,
  type Forensics,
  type Hosting,
  type LeaseLength,
  type PeerHosting,
  type Problem,
  type Recorded,
  type RecordedRun,
  type RecordedView,
  type Recovered,
  type Remedy,
  type StoreHosting,
  type StoreInsight,
} from './hosting.ts'
export { DEFAULT_PROTOCOL, hostedNames, hostingOf } from './hostings.ts'
export type { Insight, Membership, SeenView, Waiting } from './insight.ts'
export { hundredth, shownMs } from './plan-text.ts'
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
]

/** A protocol of another package, from a module that exports `protocol` and, to be run by real processes, `hosting`. */
export type AddedProtocol = {
  readonly definition: Definition
  /** Null: it can be simulated and explored only. */
  readonly hosting: Hosting | null
  /** The address of the module: threads import it again. */
  readonly module: string
}

const added = new Map<string, AddedProtocol>()

/**
 * Makes a protocol known in this thread, for good. Throws a RangeError where the name is taken; the same protocol may be
 * added again.
 */
export function addProtocol(given: AddedProtocol): void {
  const { definition, hosting } = given
  const { name } = definition
  const before = added.get(name)
  if (protocols.some((protocol) => protocol.name === name))
    throw new RangeError(`${name} is a protocol of this package: choose another name`)
  if (before !== undefined && before.definition !== definition)
    throw new RangeError(`${name} was loaded from ${before.module} already`)
  if (hosting !== null && hosting.name !== name)
    throw new RangeError(`hosting.name is ${hosting.name}, but the protocol is called ${name}`)
  added.set(name, given)
  if (hosting !== null) addHosting(hosting)
}

/** The modules of all protocols that were added, for threads to import. */
export function addedModules(): readonly string[] {
  return [...added.values()].map(({ module }) => module)
}

export function protocolNamed(name: string): Definition | null {
  return protocols.find((protocol) => protocol.name === name) ?? added.get(name)?.definition ?? null
}

/** Every protocol that this thread knows by name. */
export const catalogue = {
  get names(): readonly string[] {
    return [...added.keys(), ...protocols.map(({ name }) => name)]
  },
  find: protocolNamed,
}
