/** What real nodes need to run the protocol. */
import { microsOf, type NodeId, type PlainObject } from '../../core/index.ts'
import {
  type Asked,
  type Chosen,
  NO_FAST_PROFILE,
  networkOf,
  type PeerHosting,
  type Problem,
} from '../hosting.ts'
import { omegaAssumptions } from './assumptions.ts'
import { omegaForensics } from './forensics.ts'
import { type OmegaOptions, omegaGroup, omegaInsight } from './group.ts'
import { omegaPlanning } from './planning.ts'
import { findBrokenTimes, profileOptions } from './profiles.ts'
import { recoverOmega } from './recover.ts'
import { findOmegaFault } from './wire.ts'

function optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen {
  const { mode = 'majority', priority = 0, data, options = {} } = asked
  const profile = networkOf(asked.profile)
  const problems: Problem[] = []
  const refuse = (field: string, message: string): void => void problems.push({ field, message })
  if (data === undefined)
    refuse(
      'data',
      'is required with omega, whose promises must survive a crash; give each node a folder of its own',
    )
  if (nodes.length < 2) refuse('peers', 'is empty; omega needs at least two nodes')
  if (priority !== 0)
    refuse(
      'priority',
      'does not apply to omega, which compares weights that all nodes know; set options.weights on all nodes',
    )
  for (const role of ['observer', 'witness'] as const) {
    if (asked[role] === true) refuse(role, 'does not apply to omega, which has no such role; remove it')
  }
  if (profile === null) problems.push(NO_FAST_PROFILE)
  if (profile === null || problems.length > 0) return { problems }
  const quorum = mode === 'local' ? 'none' : 'dynamic'
  const times = profileOptions(profile, options)
  return { options: { quorum, ...options, ...times, links: 'datagrams' } }
}

const own = (options: PlainObject): OmegaOptions => options as unknown as OmegaOptions

/** See recover.ts for the reason. */
const TOGETHER =
  'Under omega all nodes are recovered together: stop all of them, and run this command with --all-stopped on each'

export const omegaHosting: PeerHosting = {
  name: 'omega',
  needs: 'peers',
  summary: 'numbered views of live nodes, no leases, needs `data`',
  optionsFor,
  /** Users may set single times, within the bounds of the profile's network. */
  problemsWith: (options, { profile }) => findBrokenTimes(networkOf(profile) ?? 'lan', own(options)),
  assumptions: omegaAssumptions,
  slackOptions: () => ({}),
  leaseLength(options) {
    const { detector, timeoutMs, pingMs, alphaMs, retransmitMs } = own(options)
    const lease = microsOf(detector === 'nfd-e' ? Math.min(timeoutMs, pingMs + alphaMs) : timeoutMs)
    return { lease, margin: Math.max(0, lease - microsOf(pingMs + retransmitMs)) }
  },
  withoutLease:
    'omega has no lease: the command is killed if no majority of its view replies for a while, but another node can lead earlier; check CONCLAVE_TOKEN in the resource that the command writes to',
  recordedOptions: (group) => ({ links: 'hosted', hostedGroup: group }),
  ownOptions: [],
  forensics: omegaForensics,
  planning: omegaPlanning,
  wire: { layouts: [], fault: findOmegaFault },
  fixedNodes: 'omega cannot change its nodes at run time; list all of them from the start',
  listsRoles: false,
  group: (identity, options) => omegaGroup(identity, own(options)),
  insight: (identity, options, state, now) => omegaInsight(state, identity, own(options), now),
  modeOf: (options) => (own(options).quorum === 'none' ? 'local' : 'majority'),
  forgetfulStable: () => null,
  recovery: {
    isOwn: (stable) => stable !== null && typeof stable === 'object' && 'upper' in stable,
    recover(stable, { self, moment, above, voters, together }) {
      if (voters !== null) throw new RangeError('voters: under omega all nodes vote; remove it')
      const mended = recoverOmega(stable, { self, second: Math.floor(moment / 1000), above }, together)
      if (mended === null || together) return mended
      throw new RangeError(`all-stopped: ${mended.changes[0] ?? 'the data is unusable'}. ${TOGETHER}`)
    },
  },
}
