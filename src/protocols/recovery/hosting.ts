/** What real nodes need to run the protocol. */
import type { NodeId, PlainObject } from '../../core/index.ts'
import { defectProblems } from '../defect-option.ts'
import type { Asked, Chosen, PeerHosting, Problem } from '../hosting.ts'
import { omegaForensics } from '../omega/forensics.ts'
import { omegaHosting } from '../omega/hosting.ts'
import { findBrokenTimes, profileOptions } from '../omega/profiles.ts'
import { type RecoveryOptions, recoveryGroup, recoveryInsight } from './group.ts'
import { findRecoveryFault, lengthOfIds, MOST_NODES } from './wire.ts'

/** Twice in a message of less than 1300 bytes: the holders of a checkpoint, and the nodes that declined. */
const LONGEST_IDS = 150

function optionsFor(asked: Asked, nodes: readonly NodeId[]): Chosen {
  const { mode = 'majority', profile = 'lan', priority = 0, data, options = {} } = asked
  const problems: Problem[] = [...defectProblems(options)]
  const refuse = (field: string, message: string): void => void problems.push({ field, message })
  if (data === undefined) refuse('data', 'is required with recovery, whose job table must survive a crash')
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
  if (problems.length > 0) return { problems }
  const times = profileOptions(profile, options)
  return { options: { ...options, ...times, links: 'datagrams', model: false } }
}

const own = (options: PlainObject): RecoveryOptions => options as unknown as RecoveryOptions

const NO_HOST = 'not judged: recordings do not contain the disks and the outputs of jobs'

export const recoveryHosting: PeerHosting = {
  name: 'recovery',
  needs: 'peers',
  summary: 'jobs with checkpoints, resumed after failures; views as under omega, needs `data`',
  optionsFor,
  problemsWith: (options, { profile = 'lan' }) =>
    findBrokenTimes(profile, options as unknown as Parameters<typeof findBrokenTimes>[1]),
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
  recovery: null,
}
