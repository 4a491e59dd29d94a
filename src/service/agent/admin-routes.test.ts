import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { parseLeaseBounds } from '../node/api/arguments.ts'
import {
  CommandRefusedError,
  type GroupStatus,
  type HandOver,
  type LeaseBounds,
  type TimingStatus,
} from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { createApp } from './app.ts'
import { Claims } from './claims.ts'
import { createServedGroup } from './served-group.ts'

const TOKEN = 'an admin token of some length'
const LEADING: GroupStatus = {
  role: 'leader',
  leader: { id: 'a', token: 12 },
  members: null,
  mode: 'majority',
  // Longer than a test takes on a busy machine.
  leaseMs: 60_000,
  voters: [['a', 'b']],
  nodes: [
    { id: 'a', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS },
    { id: 'b', reachable: true, evidenceMsAgo: 1, heardMsAgo: 1, ...NO_DETAILS },
  ],
  evidenceForMs: 100,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}

function lab(
  status: Partial<GroupStatus> = {},
  removeVoter: (id: unknown) => Promise<void> = async () => {},
) {
  const claims = new Claims()
  const term = new AbortController()
  void claims.holdTerm(term)
  const state = {
    status: { ...LEADING, ...status },
    stepDown: async (): Promise<boolean> => true,
    handOver: async (to: NodeId): Promise<HandOver> => ({
      to,
      released: true,
      leader: { id: to, token: 13 },
      afterMs: 7,
      problem: null,
    }),
  }
  const node = {
    group: 'g',
    id: 'a',
    lease: { lengthMs: 100, marginMs: 40 },
    status: () => state.status,
    stepDown: () => state.stepDown(),
    handOver: ({ to }: { readonly to: NodeId }) => state.handOver(to),
    removeVoter,
    setLeaseBounds: async (bounds: LeaseBounds) => {
      const { leaseMinMs, leaseMaxMs } = parseLeaseBounds(bounds)
      const { timing } = state.status
      if (timing === null) throw new CommandRefusedError('setLeaseBounds', 'the timing is fixed')
      if ((leaseMinMs ?? 0) > timing.leaseMaxMs) {
        const why = `leaseMinMs: ${leaseMinMs} is above leaseMaxMs`
        throw new CommandRefusedError('setLeaseBounds', why, 'leaseMinMs')
      }
      const next = {
        leaseMinMs: leaseMinMs ?? timing.leaseMinMs,
        leaseMaxMs: leaseMaxMs ?? timing.leaseMaxMs,
      }
      state.status = { ...state.status, timing: { ...timing, ...next } }
    },
    async *trace() {},
  }
  const group = createServedGroup({ node, claims })
  const app = createApp({
    groups: new Map([['g', group]]),
    adminToken: TOKEN,
    isLoopback: true,
    hosts: null,
    version: '0',
    closing: new AbortController().signal,
  })
  /** The status code and the body of an administrative request. */
  async function ask(method: string, path: string, body?: string, token = TOKEN): Promise<[number, unknown]> {
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.request(path, { method, headers, ...(body === undefined ? {} : { body }) })
    return [response.status, await response.json()]
  }
  return { ask, claims, term, state }
}

const refusal = (code: string, message: string, field: string | null = null) => ({
  error: { code, message, field },
})

describe('a claim', () => {
  it('lets another process act on the term until it expires with the lease', async () => {
    const { ask } = lab()
    const [status, body] = await ask('POST', '/v1/claim', '{"claim":null}')
    expect([status, body]).toEqual([
      200,
      {
        group: 'g',
        id: 'a',
        claim: expect.stringMatching(/^[\w-]{12}$/),
        token: 12,
        expiresInMs: 60_000,
        ending: false,
      },
    ])
    const { claim } = body as { claim: string }
    expect(await ask('POST', '/v1/claim', JSON.stringify({ claim }))).toMatchObject([200, { claim }])
  })

  it('is refused after it was released', async () => {
    const { ask } = lab()
    const [, body] = await ask('POST', '/v1/claim', '{"claim":null}')
    const { claim } = body as { claim: string }
    expect(await ask('DELETE', `/v1/claim?claim=${claim}`)).toEqual([200, { group: 'g' }])
    expect(await ask('POST', '/v1/claim', JSON.stringify({ claim }))).toEqual([
      409,
      refusal('ClaimRefused', 'the claim has expired, or there are too many claims'),
    ])
  })

  it('is refused while the agent ends its term', async () => {
    const { ask, claims, term } = lab()
    // The term does not end while a claim holds it.
    const held = claims.acquire(null, 60_000) as string
    term.abort()
    expect(await ask('POST', '/v1/claim', '{"claim":null}')).toEqual([
      409,
      refusal('ClaimRefused', 'the agent is ending its term'),
    ])
    claims.release(held)
  })

  it('is refused between the election and the start of the term, and after its end', async () => {
    const { ask, term } = lab()
    term.abort()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask('POST', '/v1/claim', '{"claim":null}')).toEqual([
      409,
      refusal('ClaimRefused', 'the term of the agent has just begun or ended; try again'),
    ])
  })

  it.each<[string, Partial<GroupStatus>, string]>([
    ['follows', { role: 'follower', leader: { id: 'b', token: 3 } }, 'a does not lead; the leader is b'],
    ['knows of no leader', { role: 'candidate', leader: null }, 'a does not lead'],
    ['has no lease any more', { leaseMs: null }, 'a does not lead; the leader is a'],
  ])('is refused by an agent that %s', async (_what, status, message) => {
    expect(await lab(status).ask('POST', '/v1/claim', '{"claim":null}')).toEqual([
      409,
      refusal('NotLeader', message),
    ])
  })

  it.each(['', 'claim', '{}', '[]', 'null', '{"claim":7}', '{"claim":7,"more":1}'])(
    'with the body %j is refused',
    async (body) => {
      expect(await lab().ask('POST', '/v1/claim', body)).toEqual([
        400,
        refusal(
          'InvalidBody',
          'claim: must be null for a new claim, or the id of a claim to renew, as in {"claim": null}',
          'claim',
        ),
      ])
    },
  )

  it('can be released without its id, which changes nothing', async () => {
    const { ask } = lab()
    const [, body] = await ask('POST', '/v1/claim', '{"claim":null}')
    const { claim } = body as { claim: string }
    expect(await ask('DELETE', '/v1/claim')).toEqual([200, { group: 'g' }])
    expect(await ask('POST', '/v1/claim', JSON.stringify({ claim }))).toMatchObject([200, { claim }])
  })
})

describe('the removal of a node', () => {
  it.each(['', '{}', '{"id":7}', '{"id":""}', '{"id":7,"now":true}', '["b"]'])(
    'is refused with the body %j',
    async (body) => {
      expect(await lab().ask('POST', '/v1/remove', body)).toEqual([
        400,
        refusal('InvalidBody', 'id: must be the id of a node, as in {"id": "n3"}', 'id'),
      ])
    },
  )

  it('names the nodes of the group if it does not know one', async () => {
    expect(await lab().ask('POST', '/v1/remove', '{"id":"x"}')).toEqual([
      404,
      refusal('UnknownNode', 'x is not a node of g; its nodes are a, b', 'id'),
    ])
  })

  it('asks the store about nodes that it does not know', async () => {
    const asked: unknown[] = []
    const { ask } = lab({ mode: 'store' }, async (id) => void asked.push(id))
    expect(await ask('POST', '/v1/remove', '{"id":"x"}')).toEqual([200, { group: 'g', removing: 'x' }])
    expect(asked).toEqual(['x'])
  })

  it('passes on why the protocol refuses, and reports other errors as its own', async () => {
    const refused = lab({}, () => Promise.reject(new CommandRefusedError('removeVoter', 'b leads')))
    expect(await refused.ask('POST', '/v1/remove', '{"id":"b"}')).toEqual([
      409,
      refusal('CommandRefused', 'removeVoter was refused: b leads'),
    ])
    const broken = lab({}, () => Promise.reject(new RangeError('no room')))
    expect(await broken.ask('POST', '/v1/remove', '{"id":"b"}')).toEqual([
      500,
      refusal('RangeError', 'no room'),
    ])
  })
})

describe('the bounds of leases', () => {
  const TIMING: TimingStatus = {
    level: 9,
    levels: [9, 28],
    leaseMs: 61.037,
    renewalMs: 24,
    marginMs: 24,
    leaseMinMs: 60,
    leaseMaxMs: 5000,
    failoverMs: { typical: 58, worst: 140 },
    need: null,
    evidence: [],
    refusals: [],
  }

  it.each([
    ['{"leaseMinMs":20,"leaseMaxMs":2000}', { leaseMinMs: 20, leaseMaxMs: 2000 }],
    ['{"leaseMaxMs":2000}', { leaseMinMs: 60, leaseMaxMs: 2000 }],
  ])('are changed to %s until the agent restarts', async (body, changed) => {
    expect(await lab({ timing: TIMING }).ask('POST', '/v1/lease-bounds', body)).toEqual([
      200,
      {
        group: 'g',
        id: 'a',
        ...changed,
        former: { leaseMinMs: 60, leaseMaxMs: 5000 },
        until: 'restart',
        toKeep: `set leaseMinMs: ${changed.leaseMinMs} and leaseMaxMs: 2000 in the configuration of a`,
      },
    ])
  })

  it.each([
    ['', 'body'],
    ['{}', 'body'],
    ['[]', 'body'],
    ['{"leaseMinMs":"20"}', 'leaseMinMs'],
  ])('must be numbers: %s is refused', async (body, field) => {
    const [status, response] = await lab({ timing: TIMING }).ask('POST', '/v1/lease-bounds', body)
    const message =
      'body: must have leaseMinMs, leaseMaxMs or both, in milliseconds, as in {"leaseMinMs": 20, "leaseMaxMs": 2000}'
    expect([status, response]).toEqual([400, refusal('InvalidBody', message, field)])
  })

  it.each(['{"min":1}', '{"leaseMinMs":20,"leaseMaxMs":2000,"min":1}'])(
    'have no other field: %s is refused',
    async (body) => {
      const message = 'min: unknown field; the fields are leaseMinMs and leaseMaxMs'
      const answer = await lab({ timing: TIMING }).ask('POST', '/v1/lease-bounds', body)
      expect(answer).toEqual([400, refusal('InvalidBody', message, 'min')])
    },
  )

  it('are refused with the field that must change', async () => {
    const answer = await lab({ timing: TIMING }).ask('POST', '/v1/lease-bounds', '{"leaseMinMs":6000}')
    const message = 'setLeaseBounds was refused: leaseMinMs: 6000 is above leaseMaxMs'
    expect(answer).toEqual([409, refusal('CommandRefused', message, 'leaseMinMs')])
  })

  it('must be within what timers can keep', async () => {
    const [status, response] = await lab({ timing: TIMING }).ask(
      'POST',
      '/v1/lease-bounds',
      '{"leaseMinMs":5}',
    )
    expect(status).toBe(400)
    expect(response).toMatchObject({
      error: { field: 'leaseMinMs', message: expect.stringContaining('5 is too short') as string },
    })
  })

  it('do not exist where the timing is fixed', async () => {
    expect(await lab().ask('POST', '/v1/lease-bounds', '{"leaseMinMs":20}')).toEqual([
      409,
      refusal('CommandRefused', 'setLeaseBounds was refused: the timing is fixed'),
    ])
  })

  it('need the admin token', async () => {
    const { ask } = lab({ timing: TIMING })
    expect((await ask('POST', '/v1/lease-bounds', '{"leaseMinMs":20}', 'another'))[0]).toBe(401)
  })
})

/** Any node may follow, so the agent does not wait for one. */
const NO_CHOICE = { successor: null, problem: null }

describe('a step-down', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('that a claim delays is polled, and answered when the term is over', async () => {
    const { ask, state } = lab()
    state.stepDown = async () => false
    const asking = ask('POST', '/v1/step-down')
    await vi.advanceTimersByTimeAsync(200)
    // Elected again: the term of the request is over.
    state.status = { ...LEADING, leader: { id: 'a', token: 13 } }
    await vi.advanceTimersByTimeAsync(50)
    expect(await asking).toEqual([
      200,
      { group: 'g', steppedDown: { id: 'a', token: 12 }, to: null, ...NO_CHOICE },
    ])
  })

  it('in local mode has no token', async () => {
    const { ask } = lab({ leader: { id: 'a', token: null } })
    expect(await ask('POST', '/v1/step-down')).toEqual([
      200,
      { group: 'g', steppedDown: { id: 'a', token: null }, to: null, ...NO_CHOICE },
    ])
  })
})

describe('a hand-over', () => {
  const node = (id: string, details: Partial<GroupStatus['nodes'][number]> = {}) => ({
    ...(LEADING.nodes[1] as GroupStatus['nodes'][number]),
    id,
    ...details,
  })
  const nodes = [
    node('a'),
    node('b'),
    node('c', { reachable: false }),
    node('w', { role: 'witness' }),
    node('o', { role: 'observer' }),
  ]
  const group = { nodes, voters: [['a', 'b', 'c', 'w']] }

  it('ends the term in favour of the chosen node, and says when it leads and with which token', async () => {
    const { ask, state } = lab(group)
    let ended = 0
    state.stepDown = async () => {
      ended += 1
      return true
    }
    expect(await ask('POST', '/v1/step-down', '{"to":"b"}')).toEqual([
      200,
      {
        group: 'g',
        steppedDown: { id: 'a', token: 12 },
        to: 'b',
        successor: { id: 'b', token: 13, afterMs: 7 },
        problem: null,
      },
    ])
    expect(ended).toBe(0)
    expect(await ask('POST', '/v1/step-down', '{}')).toMatchObject([200, { to: null, ...NO_CHOICE }])
    expect(ended).toBe(1)
  })

  it.each<[string, Partial<HandOver>, object]>([
    [
      'another node leads',
      { leader: { id: 'c', token: 13 }, problem: 'c leads next, not b' },
      { successor: { id: 'c', token: 13, afterMs: 7 }, problem: 'c leads next, not b' },
    ],
    [
      'no leader is known',
      { leader: null, afterMs: null, problem: 'this node knows no leader' },
      { successor: null, problem: 'this node knows no leader' },
    ],
  ])('says what went wrong when %s', async (_what, outcome, said) => {
    const { ask, state } = lab(group)
    const { handOver } = state
    state.handOver = async (to) => ({ ...(await handOver(to)), ...outcome })
    expect(await ask('POST', '/v1/step-down', '{"to":"b"}')).toMatchObject([200, { to: 'b', ...said }])
  })

  it('that a claim delays is answered when the term is over, without its successor', async () => {
    const { ask, state } = lab(group)
    const { handOver } = state
    state.handOver = async (to) => {
      state.status = { ...state.status, role: 'follower', leader: null }
      return { ...(await handOver(to)), released: false, leader: null, afterMs: null }
    }
    expect(await ask('POST', '/v1/step-down', '{"to":"b"}')).toMatchObject([
      200,
      { to: 'b', successor: null, problem: 'the term ended late; who leads next is not known yet' },
    ])
  })

  it.each<[string, number, string, string]>([
    ['x', 404, 'UnknownNode', 'x is not a node of g; its nodes are a, b, c, w, o'],
    ['a', 409, 'CannotHandOver', 'a already leads'],
    ['c', 409, 'CannotHandOver', 'c is unreachable'],
    ['w', 409, 'CannotHandOver', 'w never leads: it is a witness'],
    ['o', 409, 'CannotHandOver', 'o never leads: it is not a voter'],
  ])('to %s is refused with %i', async (to, status, code, message) => {
    const { ask, state } = lab(group)
    state.handOver = () => Promise.reject(new Error('must not be called'))
    expect(await ask('POST', '/v1/step-down', JSON.stringify({ to }))).toEqual([
      status,
      refusal(code, message, 'to'),
    ])
  })

  it('passes on why the protocol refuses', async () => {
    const { ask, state } = lab(group)
    state.handOver = () => Promise.reject(new CommandRefusedError('stepDown', 'omega has no hand-over'))
    expect(await ask('POST', '/v1/step-down', '{"to":"b"}')).toEqual([
      409,
      refusal('CommandRefused', 'stepDown was refused: omega has no hand-over', 'to'),
    ])
  })

  it.each(['b', '[]', '"b"', '{"to":7}', '{"to":""}', '{"to":7,"now":true}'])(
    'is refused with the body %j',
    async (body) => {
      expect(await lab(group).ask('POST', '/v1/step-down', body)).toEqual([
        400,
        refusal(
          'InvalidBody',
          'to: must be the id of a node, as in {"to": "n2"}; without a body any node can follow',
          'to',
        ),
      ])
    },
  )

  it.each([
    ['/v1/step-down', '{"to":"b","now":true}', 'now', 'to'],
    ['/v1/remove', '{"id":"b","force":1}', 'force', 'id'],
    ['/v1/claim', '{"claim":null,"for":5}', 'for', 'claim'],
  ])('%s names an unknown field', async (path, body, unknown, known) => {
    expect(await lab(group).ask('POST', path, body)).toEqual([
      400,
      refusal('InvalidBody', `${unknown}: unknown field; the only field is ${known}`, unknown),
    ])
  })
})

it.each([
  ['POST', '/v1/step-down'],
  ['POST', '/v1/remove'],
  ['POST', '/v1/claim'],
  ['DELETE', '/v1/claim'],
])('%s %s needs the whole token', async (method, path) => {
  const { ask } = lab()
  for (const wrong of ['', TOKEN.slice(1), `${TOKEN}x`, TOKEN.toUpperCase()]) {
    // oxlint-disable-next-line no-await-in-loop -- one request after the other
    expect(await ask(method, path, undefined, wrong)).toEqual([
      401,
      refusal('InvalidAdminToken', 'the admin token is missing or wrong', 'Authorization'),
    ])
  }
})
