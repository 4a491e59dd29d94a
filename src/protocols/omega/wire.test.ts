/** What a group of Omega+ accepts from the network: every field, at its bounds and beyond. */
import { describe, expect, it } from 'vitest'
import type { Message, PlainObject } from '../../core/index.ts'
import { MOST_LEADERS, MOST_VIEWS } from './state.ts'
import { findOmegaFault } from './wire.ts'

const NO_VIEW = { id: [0, null], members: [] }
const VIEW = {
  id: [3, 'a'],
  members: [
    ['a', 1],
    ['b', 2],
  ],
}
const HEADER = { by: 1, for: 0, count: 5, received: 4 }
const BODIES: { readonly [kind: string]: PlainObject } = {
  status: {
    kind: 'status',
    life: 2,
    ok: true,
    view: VIEW,
    promised: 3,
    formed: NO_VIEW,
    attempts: [VIEW],
    links: ['b', 7],
    torn: false,
    aside: false,
  },
  cand: { kind: 'cand', n: 4, members: VIEW.members, base: [3, 'a'] },
  cancel: { kind: 'cancel', n: 4 },
  accept: { kind: 'accept', n: 4, formed: VIEW, attempts: [] },
  attempt: { kind: 'attempt', n: 4 },
  attempted: { kind: 'attempted', n: 4 },
  withdraw: { kind: 'withdraw', n: 4 },
}
const frame = (body: unknown): Message =>
  ({ kind: 'frame', ...HEADER, seq: 1, again: false, body }) as Message
const ping = (change: PlainObject = {}): Message => ({ kind: 'ping', ...HEADER, no: 1, echo: -1, ...change })

describe('valid datagrams', () => {
  it.each(Object.keys(BODIES))('carry %s', (kind) => {
    expect(findOmegaFault(frame(BODIES[kind]))).toBeNull()
  })
  it.each<[string, Message]>([
    ['a ping', ping()],
    ['an acknowledgement', { kind: 'ack', ...HEADER }],
    ['a message of another protocol', { kind: 'Heartbeat', anything: 1 }],
  ])('are %s', (_what, message) => {
    expect(findOmegaFault(message)).toBeNull()
  })
  it('are accepted at their bounds', () => {
    const most = 2 ** 52
    expect(
      findOmegaFault(ping({ by: most, for: most, count: most, received: most, no: most, echo: most })),
    ).toBeNull()
    expect(findOmegaFault(frame({ kind: 'cancel', n: MOST_VIEWS }))).toBeNull()
    expect(findOmegaFault(frame({ ...BODIES['status'], links: ['x'.repeat(255)] }))).toBeNull()
  })
})

describe('a header', () => {
  it.each<[PlainObject, string]>([
    [{ by: 0 }, 'ping.by: must be a whole number from 1 to 4503599627370496'],
    [{ for: -1 }, 'ping.for: must be a whole number from 0 to 4503599627370496'],
    [{ count: 1.5 }, 'ping.count: must be a whole number from 0 to 4503599627370496'],
    [{ received: '4' }, 'ping.received: must be a whole number from 0 to 4503599627370496'],
    [{ echo: -2 }, 'ping.echo: must be a whole number from -1 to 4503599627370496'],
    [{ no: 2 ** 52 + 1 }, 'ping.no: must be a whole number from 0 to 4503599627370496'],
    [{ extra: 1 }, 'ping.extra: unknown field'],
  ])('is refused with %j', (change, fault) => {
    expect(findOmegaFault(ping(change))).toBe(fault)
  })
  it('is refused without a field', () => {
    const { echo: _, ...rest } = ping()
    expect(findOmegaFault(rest as Message)).toBe('ping.echo: is missing')
  })
})

describe('the message in a frame', () => {
  const status = (change: PlainObject): unknown => ({ ...BODIES['status'], ...change })
  const NUMBER = `must be a whole number from 0 to ${MOST_VIEWS}`
  const PROPOSED = `must be a whole number from 1 to ${MOST_VIEWS}`
  const NODE = 'must be a node id (an integer, or a string of 1 to 255 characters)'

  it.each<[string, unknown, string]>([
    ['nothing', null, 'body.kind: unknown message'],
    ['an unknown kind', { kind: 'vote' }, 'body.kind: unknown message'],
    ['an inherited name as kind', { kind: 'constructor' }, 'body.kind: unknown message'],
    ['a number of 0', { kind: 'cancel', n: 0 }, `body.n: ${PROPOSED}`],
    ['a number beyond the limit', { kind: 'attempt', n: MOST_VIEWS + 1 }, `body.n: ${PROPOSED}`],
    ['no life', status({ life: 0 }), 'body.life: must be a whole number from 1 to 4503599627370496'],
    ['a flag that is none', status({ ok: 1 }), 'body.ok: must be true or false'],
    ['a promise that is none', status({ promised: null }), `body.promised: ${NUMBER}`],
    ['links that are no list', status({ links: {} }), 'body.links: must be a list'],
    ['an empty id', status({ links: ['b', ''] }), `body.links.1: ${NODE}`],
    ['an id that is too long', status({ links: ['x'.repeat(256)] }), `body.links.0: ${NODE}`],
    ['a fraction as id', status({ links: [1.5] }), `body.links.0: ${NODE}`],
    [
      'too many links',
      status({ links: Array.from({ length: MOST_LEADERS + 1 }, (_, at) => at) }),
      `body.links: must have at most ${MOST_LEADERS} entries`,
    ],
    ['a view that is a list', status({ view: [] }), 'body.view: must be an object'],
    ['a view without members', status({ view: { id: [1, 'a'] } }), 'body.view.members: is missing'],
    ['an id that is no pair', status({ view: { id: [1], members: [] } }), 'body.view.id: must be a pair'],
    [
      'a number without a leader',
      status({ view: { id: [1, null], members: [] } }),
      'body.view.id: must have a leader exactly if the number is not 0',
    ],
    [
      'a leader without a number',
      status({ view: { id: [0, 'a'], members: [] } }),
      'body.view.id: must have a leader exactly if the number is not 0',
    ],
    [
      'a leader outside its view',
      status({ view: { id: [1, 'c'], members: VIEW.members } }),
      'body.view: must contain its leader',
    ],
    [
      'members of no view',
      status({ view: { id: [0, null], members: VIEW.members } }),
      'body.view: must contain its leader',
    ],
    [
      'members out of order',
      {
        ...BODIES['cand'],
        members: [
          ['b', 1],
          ['a', 1],
        ],
      },
      'body.members: must be sorted by id, without duplicates',
    ],
    [
      'a member twice',
      {
        ...BODIES['cand'],
        members: [
          ['a', 1],
          ['a', 2],
        ],
      },
      'body.members: must be sorted by id, without duplicates',
    ],
    [
      'a member without a life',
      { ...BODIES['cand'], members: [['a', 0]] },
      'body.members.0.1: must be a whole number from 1 to 4503599627370496',
    ],
    [
      'an attempt that is none',
      { ...BODIES['accept'], attempts: [NO_VIEW, {}] },
      'body.attempts.1.id: is missing',
    ],
  ])('is refused with %s', (_what, body, fault) => {
    expect(findOmegaFault(frame(body))).toBe(`frame.${fault}`)
  })
})
