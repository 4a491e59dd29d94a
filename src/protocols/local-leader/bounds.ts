/**
 * Bounds of every field of local-leader: the same for decoded messages and for stable data that is read at start-up. A
 * node stores only what it received or made itself, so storage accepts everything that the decoder accepts.
 *
 * plausible.ts checks whether a number is plausible for a node that already knows something.
 *
 * Written out rather than as a schema for speed: most of the traffic is checked here.
 */
import { compareIds, type NodeId } from '../../core/index.ts'
import { HIGHEST_LEVEL, LONGEST_LOCK } from './levels.ts'
import {
  type Ballot,
  type Beacon,
  type Epoch,
  type LocalLeaderMessage,
  NO_LOSS,
  type Request,
} from './messages.ts'
import type { Configuration } from './voters.ts'

/** Epochs, requests and incarnations. Small multiples of this number are still exact. */
export const MOST_NUMBER = 2 ** 52
/** More nodes than any group has; their ids would not fit into a datagram. */
const MOST_NODES = 10_000
const LONGEST_ID = 255
const MOST_LOW = 3
export const MOST_PRIORITY = 1_000_000
/** A voter change takes three renewals, and no term has that many changes. */
const MOST_CHANGES = 2 ** 32

/** The field, and what is wrong with it; null when the value is valid. */
export type Fault = readonly [field: string, problem: string] | null

const isWhole = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most

export function numberFault(field: string, value: unknown, least: number, most = MOST_NUMBER): Fault {
  return isWhole(value, least, most) ? null : [field, `must be a whole number from ${least} to ${most}`]
}

export function isNodeId(value: unknown): value is NodeId {
  if (typeof value === 'string') return value !== '' && value.length <= LONGEST_ID
  return Number.isSafeInteger(value) && !Object.is(value, -0)
}

const idFault = (field: string, value: unknown): Fault =>
  isNodeId(value)
    ? null
    : [field, `must be a whole number or a non-empty string of at most ${LONGEST_ID} characters`]

export function epochFault(field: string, { number, owner }: Epoch): Fault {
  const wrong = numberFault(`${field}.number`, number, 0)
  if (wrong !== null) return wrong
  if ((number === 0) !== (owner === null)) return [field, 'an epoch and its owner go together']
  return owner === null ? null : idFault(`${field}.owner`, owner)
}

function requestFault(field: string, { incarnation, counter }: Request): Fault {
  return numberFault(`${field}.incarnation`, incarnation, 1) ?? numberFault(`${field}.counter`, counter, 0)
}

/** A list without duplicates, in any order. */
function idsFault(field: string, ids: readonly NodeId[]): Fault {
  if (ids.length > MOST_NODES) return [field, `must have at most ${MOST_NODES} entries`]
  for (const id of ids) {
    const wrong = idFault(field, id)
    if (wrong !== null) return wrong
  }
  return new Set(ids).size === ids.length ? null : [field, 'names a node twice']
}

/** A set of voters: sorted, without duplicates, not empty. */
function votersFault(field: string, voters: readonly NodeId[]): Fault {
  if (voters.length === 0) return [field, 'must name a voter']
  const wrong = idsFault(field, voters)
  if (wrong !== null) return wrong
  for (let at = 1; at < voters.length; at++) {
    if (compareIds(voters[at - 1] as NodeId, voters[at] as NodeId) > 0) return [field, 'must be sorted']
  }
  return null
}

export function configFault(field: string, { id, sets }: Configuration): Fault {
  const wrong = numberFault(`${field}.id.0`, id[0], 0) ?? numberFault(`${field}.id.1`, id[1], 0, MOST_CHANGES)
  if (wrong !== null) return wrong
  if (sets.length < 1 || sets.length > 2) return [`${field}.sets`, 'must be one set of voters, or two']
  for (const [at, voters] of sets.entries()) {
    const fault = votersFault(`${field}.sets.${at}`, voters)
    if (fault !== null) return fault
  }
  return null
}

function beaconFault({ low, priority, seen, lease }: Beacon): Fault {
  const wrong =
    numberFault('beacon.low', low, 0, MOST_LOW) ??
    numberFault('beacon.priority', priority, -MOST_PRIORITY, MOST_PRIORITY) ??
    epochFault('beacon.seen', seen)
  if (wrong !== null || lease === null) return wrong
  const left = numberFault('beacon.lease.left', lease.left, 0)
  if (left !== null || lease.token === null) return left
  return numberFault('beacon.lease.token', lease.token, 1)
}

function ballotFault({ support, evidence, bounds }: Ballot): Fault {
  if (bounds !== undefined) {
    const wrong =
      numberFault('votes.bounds.shortest', bounds.shortest, 1) ??
      numberFault('votes.bounds.longest', bounds.longest, bounds.shortest)
    if (wrong !== null) return wrong
    if (support) return ['votes.bounds', 'must not accompany support']
  }
  if (evidence === undefined) return null
  return (
    numberFault('votes.evidence.late', evidence.late, 0, HIGHEST_LEVEL) ??
    numberFault('votes.evidence.delay', evidence.delay, 0, HIGHEST_LEVEL) ??
    numberFault('votes.evidence.loss', evidence.loss, 0, NO_LOSS) ??
    numberFault('votes.evidence.least', evidence.least, 0, HIGHEST_LEVEL) ??
    numberFault('votes.evidence.most', evidence.most, evidence.least, HIGHEST_LEVEL)
  )
}

function firstFault<T>(list: readonly T[], faultOf: (each: T) => Fault): Fault {
  for (const each of list) {
    const wrong = faultOf(each)
    if (wrong !== null) return wrong
  }
  return null
}

/** What is wrong with a message whose fields have the right types. */
export function messageFault(body: LocalLeaderMessage): Fault {
  const wrong = beaconFault(body.beacon)
  if (wrong !== null) return wrong
  switch (body.kind) {
    case 'Heartbeat':
      return null
    case 'Release':
      return requestFault('request', body.request) ?? (body.to === undefined ? null : idFault('to', body.to))
    case 'Reply':
      return (
        idFault('candidate', body.candidate) ??
        requestFault('request', body.request) ??
        idsFault(
          'votes',
          body.votes.map(({ node }) => node),
        ) ??
        firstFault(body.votes, ballotFault) ??
        epochFault('promised', body.promised) ??
        configFault('config', body.config)
      )
    case 'Election': {
      const { certificate, view, wanted, tree } = body
      return (
        requestFault('request', body.request) ??
        numberFault('epoch', body.epoch, 0) ??
        (body.lock === undefined ? null : numberFault('lock', body.lock, 1, LONGEST_LOCK)) ??
        configFault('config', body.config) ??
        (certificate === null
          ? null
          : (idFault('certificate.owner', certificate.owner) ??
            requestFault('certificate.request', certificate.request))) ??
        (view === null
          ? null
          : (requestFault('view.round', view.round) ?? idsFault('view.members', view.members))) ??
        (wanted === null ? null : votersFault('wanted', wanted)) ??
        (tree === null ? null : idsFault('tree', tree))
      )
    }
    default:
      return body satisfies never
  }
}
