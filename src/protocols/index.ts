/** Every protocol, by name. */
import type { Definition } from '../core/index.ts'
import { bullyDefinition } from './bully/index.ts'
import { bullyGmDefinition } from './bully-gm/index.ts'
import { epochsDefinition } from './epochs/index.ts'
import { gammaDefinition } from './gamma/index.ts'
import { invitationDefinition } from './invitation/index.ts'
import { localLeaderDefinition } from './local-leader/index.ts'
import { omegaDefinition } from './omega/index.ts'
import { omegaPrintedDefinition } from './omega-printed/index.ts'
import { phiDefinition } from './phi/index.ts'
import { psiDefinition } from './psi/index.ts'
import { ringDefinition } from './ring/index.ts'

export {
  type MembersCommand,
  type OpenInsight,
  type OpenState,
  openEpochs,
  openInsight,
} from './epochs/open-group.ts'
export { type EpochsOptions, givenBy as epochsGiven } from './epochs/options.ts'
export { timingOf as epochsTiming } from './epochs/timing.ts'
export {
  type GroupSpec,
  groupFor,
  type HostSettings,
  host,
  insightFor,
  RUNNABLE,
  type RunnableProtocol,
} from './host.ts'
export type { Insight, Membership, SeenView, Waiting } from './insight.ts'
export { type LeaseLength, leaseLength } from './lease-length.ts'
export { messageFault as localLeaderFault } from './local-leader/bounds.ts'
export { PROFILES } from './local-leader/options.ts'
export { recoverLocalLeader } from './local-leader/recover.ts'
export { forgetfulStable } from './local-leader/stable.ts'
export { brokenBound, profileOptions } from './omega/profiles.ts'
export { recoverOmega } from './omega/recover.ts'
export { omegaFault } from './omega/wire.ts'

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

export function protocolNamed(name: string): Definition | null {
  return protocols.find((protocol) => protocol.name === name) ?? null
}

/** The protocols of this package, for whoever reads scenarios. */
export const catalogue = { names: protocols.map(({ name }) => name), find: protocolNamed }
