/** The wire format of local-leader: round trips of every field, and refusals of everything out of bounds. */
import { describe, expect, it } from 'vitest'
import type { Message } from '../../core/index.ts'
import { Reader, Writer } from '../../service/runtime/bytes.ts'
import type { MessageLayout } from '../wire.ts'
import { MOST_NUMBER } from './bounds.ts'
import { HIGHEST_LEVEL, LONGEST_LOCK } from './levels.ts'
import { type Beacon, type Election, type LocalLeaderMessage, NO_LOSS, type Reply } from './messages.ts'
import { localLeaderWire } from './wire.ts'

const BEACON: Beacon = {
  candidate: false,
  low: 0,
  priority: 0,
  incumbent: false,
  heard: false,
  seen: { number: 0, owner: null },
  lease: null,
}
const CONFIG = { id: [4, 2], sets: [['a', 'b', 'c']] } as const
const REQUEST = { incarnation: 7, counter: 3 }
const ELECTION: Election = {
  kind: 'Election',
  beacon: BEACON,
  request: REQUEST,
  epoch: 9,
  renew: false,
  config: CONFIG,
  certificate: null,
  view: null,
  wanted: null,
  tree: null,
}
const REPLY: Reply = {
  kind: 'Reply',
  beacon: BEACON,
  candidate: 'a',
  request: REQUEST,
  votes: [],
  promised: { number: 0, owner: null },
  config: CONFIG,
}
const RELEASE = { kind: 'Release', beacon: BEACON, request: REQUEST, yields: true } as const
const heartbeat = (change: Partial<Beacon>) =>
  ({ kind: 'Heartbeat', beacon: { ...BEACON, ...change } }) as const

const layoutOf = (kind: string): MessageLayout => {
  const found = localLeaderWire.layouts.find((each) => each.kind === kind)
  if (found === undefined) throw new Error(`no layout of ${kind}`)
  return found
}
const bytesOf = (message: LocalLeaderMessage): Uint8Array => {
  const writer = new Writer()
  layoutOf(message.kind).write(writer, message)
  return writer.end()
}
const read = (kind: string, bytes: Uint8Array): Message => layoutOf(kind).read(new Reader(bytes))
const fault = (message: object): string | null => localLeaderWire.fault(message as Message)

const LEVELS = { least: 0, most: HIGHEST_LEVEL }
const EVIDENCE = { late: 0, delay: 0, loss: 0, ...LEVELS }

describe('a message comes back as it was written', () => {
  it.each<[string, LocalLeaderMessage]>([
    ['the smallest beacon', heartbeat({})],
    ['every flag of a beacon', heartbeat({ candidate: true, incumbent: true, heard: true })],
    ['a negative priority', heartbeat({ low: 3, priority: -1_000_000 })],
    ['an epoch with a text owner', heartbeat({ seen: { number: MOST_NUMBER, owner: 'näme' } })],
    ['an epoch with a number owner', heartbeat({ seen: { number: 1, owner: -5 } })],
    ['a lease without a token', heartbeat({ lease: { left: 1, token: null } })],
    ['a lease with a token', heartbeat({ lease: { left: MOST_NUMBER, token: 9 } })],
    ['the smallest request', ELECTION],
    [
      'a full request',
      {
        ...ELECTION,
        renew: true,
        config: { id: [9, 1], sets: [['a'], ['a', 'b']] },
        certificate: { owner: 'b', request: { incarnation: 1, counter: 0 } },
        view: { round: REQUEST, members: ['a', 3] },
        wanted: ['a', 'b'],
        tree: ['c', 'b', 'a'],
      },
    ],
    ['a request with a lock', { ...ELECTION, renew: true, lock: LONGEST_LOCK }],
    ['an empty membership view', { ...ELECTION, view: { round: REQUEST, members: [] }, tree: [] }],
    ['the smallest reply', REPLY],
    [
      'a full reply',
      {
        ...REPLY,
        votes: [
          { node: 'b', support: true },
          { node: 3, support: false },
        ],
        promised: { number: 8, owner: 'c' },
      },
    ],
    [
      'a reply with evidence and bounds',
      {
        ...REPLY,
        votes: [
          { node: 'b', support: true, evidence: { late: 0, delay: HIGHEST_LEVEL, loss: NO_LOSS, ...LEVELS } },
          {
            node: 'c',
            support: false,
            evidence: { late: 3, delay: 4, loss: 0, least: 7, most: 7 },
            bounds: { shortest: 20_000, longest: 20_000 },
          },
          { node: 'd', support: false, bounds: { shortest: 1, longest: MOST_NUMBER } },
        ],
      },
    ],
    ['a release', RELEASE],
    ['a release that yields nothing', { ...RELEASE, yields: false }],
  ])('%s', (_what, message) => {
    expect(read(message.kind, bytesOf(message))).toEqual(message)
    expect(fault(message)).toBeNull()
  })
})

describe('bytes that no node writes', () => {
  it('are refused with unknown flags', () => {
    const bytes = bytesOf(heartbeat({}))
    bytes[0] = 32
    expect(() => read('Heartbeat', bytes)).toThrow(/flags/)
  })
  it('are refused with a token but no lease', () => {
    const bytes = bytesOf(heartbeat({}))
    bytes[0] = 16
    expect(() => read('Heartbeat', bytes)).toThrow('a token without a lease')
  })
  it.each([heartbeat({ lease: { left: 1, token: 2 } }), ELECTION, REPLY, RELEASE])(
    'are refused at every length below the whole: $kind',
    (message) => {
      const bytes = bytesOf(message)
      for (let length = 0; length < bytes.length; length++)
        expect(() => read(message.kind, bytes.subarray(0, length))).toThrow(
          /^truncated$|fewer bytes are left$/,
        )
    },
  )
})

describe('a message out of bounds', () => {
  const WHOLE = `must be a whole number from 0 to ${MOST_NUMBER}`
  const ID = 'must be a whole number or a non-empty string of at most 255 characters'

  it.each<[object, string]>([
    [heartbeat({ low: 4 }), 'Heartbeat.beacon.low: must be a whole number from 0 to 3'],
    [
      heartbeat({ priority: 1_000_001 }),
      'Heartbeat.beacon.priority: must be a whole number from -1000000 to 1000000',
    ],
    [heartbeat({ seen: { number: -1, owner: 'a' } }), `Heartbeat.beacon.seen.number: ${WHOLE}`],
    [
      heartbeat({ seen: { number: 3, owner: null } }),
      'Heartbeat.beacon.seen: an epoch and its owner go together',
    ],
    [
      heartbeat({ seen: { number: 0, owner: 'a' } }),
      'Heartbeat.beacon.seen: an epoch and its owner go together',
    ],
    [heartbeat({ seen: { number: 3, owner: '' } }), `Heartbeat.beacon.seen.owner: ${ID}`],
    [heartbeat({ lease: { left: -1, token: null } }), `Heartbeat.beacon.lease.left: ${WHOLE}`],
    [
      heartbeat({ lease: { left: 1, token: 0 } }),
      `Heartbeat.beacon.lease.token: must be a whole number from 1 to ${MOST_NUMBER}`,
    ],
    [
      { ...RELEASE, request: { incarnation: 0, counter: 0 } },
      `Release.request.incarnation: must be a whole number from 1 to ${MOST_NUMBER}`,
    ],
    [{ ...RELEASE, request: { incarnation: 1, counter: 0.5 } }, `Release.request.counter: ${WHOLE}`],
    [{ ...REPLY, candidate: 1.5 }, `Reply.candidate: ${ID}`],
    [
      {
        ...REPLY,
        votes: [
          { node: 'a', support: true },
          { node: 'a', support: false },
        ],
      },
      'Reply.votes: names a node twice',
    ],
    [
      { ...REPLY, promised: { number: 2, owner: null } },
      'Reply.promised: an epoch and its owner go together',
    ],
    [{ ...ELECTION, epoch: -1 }, `Election.epoch: ${WHOLE}`],
    [
      { ...ELECTION, config: { id: [1, 2 ** 32 + 1], sets: [['a']] } },
      'Election.config.id.1: must be a whole number from 0 to 4294967296',
    ],
    [
      { ...ELECTION, config: { id: [1, 1], sets: [] } },
      'Election.config.sets: must be one set of voters, or two',
    ],
    [
      { ...ELECTION, config: { id: [1, 1], sets: [['a'], ['b'], ['c']] } },
      'Election.config.sets: must be one set of voters, or two',
    ],
    [{ ...ELECTION, config: { id: [1, 1], sets: [[]] } }, 'Election.config.sets.0: must name a voter'],
    [
      { ...ELECTION, config: { id: [1, 1], sets: [['a'], ['b', 'a']] } },
      'Election.config.sets.1: must be sorted',
    ],
    [
      { ...ELECTION, lock: LONGEST_LOCK + 1 },
      `Election.lock: must be a whole number from 1 to ${LONGEST_LOCK}`,
    ],
    [
      {
        ...REPLY,
        votes: [{ node: 'a', support: true, evidence: { late: 41, delay: 0, loss: 0, ...LEVELS } }],
      },
      'Reply.votes.evidence.late: must be a whole number from 0 to 40',
    ],
    [
      {
        ...REPLY,
        votes: [{ node: 'a', support: true, evidence: { late: 0, delay: 0, loss: 16, ...LEVELS } }],
      },
      'Reply.votes.evidence.loss: must be a whole number from 0 to 15',
    ],
    [
      { ...REPLY, votes: [{ node: 'a', support: true, evidence: { ...EVIDENCE, least: 9, most: 8 } }] },
      'Reply.votes.evidence.most: must be a whole number from 9 to 40',
    ],
    [
      { ...REPLY, votes: [{ node: 'a', support: true, evidence: { ...EVIDENCE, least: 41, most: 41 } }] },
      'Reply.votes.evidence.least: must be a whole number from 0 to 40',
    ],
    [
      { ...REPLY, votes: [{ node: 'a', support: false, bounds: { shortest: 5, longest: 4 } }] },
      `Reply.votes.bounds.longest: must be a whole number from 5 to ${MOST_NUMBER}`,
    ],
    [
      { ...REPLY, votes: [{ node: 'a', support: true, bounds: { shortest: 5, longest: 6 } }] },
      'Reply.votes.bounds: must not accompany support',
    ],
    [{ ...ELECTION, wanted: ['a', 'a'] }, 'Election.wanted: names a node twice'],
    [{ ...ELECTION, tree: ['a', ''] }, `Election.tree: ${ID}`],
    [{ ...ELECTION, view: { round: REQUEST, members: ['x'.repeat(256)] } }, `Election.view.members: ${ID}`],
    [
      { ...ELECTION, certificate: { owner: Number.NaN, request: REQUEST } },
      `Election.certificate.owner: ${ID}`,
    ],
  ])('is refused: %.100j', (message, expected) => {
    expect(fault(message)).toBe(expected)
  })

  it('of another protocol is not judged', () => {
    expect(fault({ kind: 'ping' })).toBeNull()
  })
})
