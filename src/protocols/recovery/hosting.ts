/** What real nodes need to run the protocol. */
import type { NodeId, Plain, PlainObject } from '../../core/index.ts'
import { defectProblems } from '../defect-option.ts'
import {
  type Asked,
  type Chosen,
  NO_FAST_PROFILE,
  networkOf,
  type PeerHosting,
  type Problem,
} from '../hosting.ts'
import { omegaForensics } from '../omega/forensics.ts'
import { omegaHosting } from '../omega/hosting.ts'
import { findBrokenTimes, profileOptions } from '../omega/profiles.ts'
import { type RecoveryOptions, recoveryGroup, recoveryInsight } from './group.ts'
import { checkedManagerStable, findRecoveryFault, lengthOfIds, MOST_NODES } from './wire.ts'

/** Twice in a message of less than 1300 bytes: the holders of a checkpoint, and the nodes that declined. */
const LONGEST_IDS = 128

function optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen {
  const { mode = 'majority', priority = 0, data, options = {} } = asked
  const profile = networkOf(asked.profile)
  const problems: Problem[] = [...defectProblems(options)]
  const refuse = (field: string, message: string): void => void problems.push({ field, message })
  if (data === undefined)
    refuse(
      'data',
      'is required with recovery, whose job table must survive a crash; give each node a folder of its own',
    )
  if (mode === 'local') refuse('mode', 'must be majority with recovery: partitions must not run the same job')
  if (nodes.length < 2) refuse('peers', 'is empty; recovery needs at least two nodes')
  if (nodes.length > MOST_NODES) refuse('peers', `recovery supports at most ${MOST_NODES} nodes`)
  else if (lengthOfIds(nodes) > LONGEST_IDS)
    refuse(
      'peers',
      `the ids are too long for the messages of recovery: use at most ${LONGEST_IDS} characters in all`,
    )
  if (priority !== 0)
    refuse(
      'priority',
      'does not apply to recovery, which compares weights that all nodes know; set options.weights on all nodes',
    )
  for (const role of ['observer', 'witness'] as const) {
    if (asked[role] === true) refuse(role, 'does not apply to recovery, which has no such role; remove it')
  }
  if (profile === null) problems.push(NO_FAST_PROFILE)
  if (profile === null || problems.length > 0) return { problems }
  const times = profileOptions(profile, options)
  return { options: { ...options, ...times, links: 'datagrams', model: false } }
}

/** The data of both parts; null if it was not written by this protocol. */
function partsOf(
  stable: Plain,
): { readonly layer: Plain; readonly omega: Plain; readonly manager: Plain } | null {
  if (stable === null || typeof stable !== 'object' || !('upper' in stable)) return null
  const { layer = null, upper = null } = stable as { readonly layer?: Plain; readonly upper?: Plain }
  if (upper === null || typeof upper !== 'object' || !('omega' in upper) || !('manager' in upper)) return null
  const { omega = null, manager = null } = upper as { readonly omega?: Plain; readonly manager?: Plain }
  return { layer, omega, manager }
}

const own = (options: PlainObject): RecoveryOptions => options as unknown as RecoveryOptions

const NO_HOST = 'not judged: recordings do not contain the disks and the outputs of jobs'

export const recoveryHosting: PeerHosting = {
  name: 'recovery',
  needs: 'peers',
  summary: 'jobs with checkpoints, resumed after failures; views as under omega, needs `data`',
  optionsFor,
  problemsWith: (options, { profile }) =>
    findBrokenTimes(networkOf(profile) ?? 'lan', options as unknown as Parameters<typeof findBrokenTimes>[1]),
  ...(omegaHosting.assumptions === undefined ? {} : { assumptions: omegaHosting.assumptions }),
  slackOptions: () => ({}),
  leaseLength: omegaHosting.leaseLength,
  withoutLease:
    'recovery has no lease: the command is killed if no majority replies for a while, but another node can lead earlier; check CONCLAVE_TOKEN in the resource that the command writes to',
  recordedOptions: (group) => ({ links: 'hosted', hostedGroup: group }),
  ownOptions: [],
  forensics: {
    unjudged: (runs) => ({
      ...omegaForensics.unjudged(runs),
      'one-accepted-owner': NO_HOST,
      'checkpoints-survive': NO_HOST,
      'jobs-resume': NO_HOST,
      'one-content': NO_HOST,
    }),
    complete: omegaForensics.complete,
  },
  planning: null,
  wire: { layouts: [], fault: findRecoveryFault },
  fixedNodes: 'recovery cannot change its nodes at run time; list all of them from the start',
  listsRoles: false,
  group: (identity, options) => recoveryGroup(identity, own(options)),
  insight: (identity, options, state, now) => recoveryInsight(state, identity, own(options), now),
  modeOf: () => 'majority',
  forgetfulStable: () => null,
  recovery: {
    isOwn: (stable) => partsOf(stable) !== null,
    recover(stable, remedy) {
      const parts = partsOf(stable)
      if (parts === null) throw new RangeError('data: the job table is missing; remove the data of this node')
      const { layer, omega, manager } = parts
      checkedManagerStable(manager)
      const mended = omegaHosting.recovery?.recover({ layer, upper: omega }, remedy) ?? null
      if (mended === null) return null
      const below = mended.stable as { readonly layer: Plain; readonly upper: Plain }
      const { changes } = mended
      return { stable: { layer: below.layer, upper: { omega: below.upper, manager } }, changes }
    },
  },
}
