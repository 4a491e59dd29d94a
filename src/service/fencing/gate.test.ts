import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Entry, type GateOptions, isSafe, openGate, tokenHeaders } from './gate.ts'
import type { TokenMemory } from './tokens.ts'
import { tokensInMemory } from './tokens.ts'

const SECRET = 'a secret of some length'

/** What the gate answers: `in`, or the status, the code and the current token of the refusal. */
function shown(entry: Entry): unknown {
  if (entry.admitted) return 'in'
  const { status, body } = entry.refusal
  return [status, body.error.code, body.current]
}

const gateOf = (options: Partial<GateOptions> = {}) => openGate({ resource: 'billing', ...options })

async function enter(gate: ReturnType<typeof gateOf>, token: number | string): Promise<Entry> {
  return gate.enter(String(token), null)
}

function leave(entry: Entry): void {
  if (!entry.admitted) throw new Error('was not admitted')
  entry.leave()
}

describe('the header of a token', () => {
  it.each<[string | null | undefined, unknown]>([
    ['0', 'in'],
    ['1', 'in'],
    ['007', 'in'],
    [null, [428, 'TokenRequired', null]],
    [undefined, [428, 'TokenRequired', null]],
    ['', [428, 'TokenRequired', null]],
    [' 1', [428, 'TokenRequired', null]],
    ['+1', [428, 'TokenRequired', null]],
    ['1e3', [428, 'TokenRequired', null]],
    ['0x10', [428, 'TokenRequired', null]],
    ['1,2', [428, 'TokenRequired', null]],
    ['9007199254740992', [428, 'TokenRequired', null]],
    ['9007199254740991', [422, 'ImplausibleTokenError', 0]],
    [String(2 ** 40), 'in'],
    [String(2 ** 40 + 1), [422, 'ImplausibleTokenError', 0]],
  ])('%j: %j', async (header, expected) => {
    expect(shown(await gateOf().enter(header, null))).toEqual(expected)
  })
})

describe('a refusal', () => {
  it('says what to do, and carries the greatest token', async () => {
    const gate = gateOf()
    leave(await enter(gate, 7))
    const stale = await enter(gate, 6)
    expect(stale).toEqual({
      admitted: false,
      refusal: {
        status: 409,
        headers: { 'content-type': 'application/json', 'conclave-token': '7' },
        body: {
          error: {
            code: 'StaleTokenError',
            message:
              'billing refuses the token 6: token 7 has been seen, so another node has led since. Stop acting as the leader',
          },
          current: 7,
        },
      },
    })
  })

  it('asks for a proof by the header of HTTP authentication', async () => {
    const refused = await gateOf({ secret: SECRET }).enter('1', null)
    expect(refused).toMatchObject({
      refusal: {
        status: 401,
        headers: { 'www-authenticate': 'Conclave-Token-Proof' },
        body: { error: { message: 'send the proof of the token in the header conclave-token-proof' } },
      },
    })
  })
})

describe('the order of terms', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  it('admits several requests of one term at once', async () => {
    const gate = gateOf()
    expect(shown(await enter(gate, 3))).toBe('in')
    expect(shown(await enter(gate, 3))).toBe('in')
  })

  it('lets a newer term in when the last request of the older ones has left', async () => {
    const gate = gateOf()
    const old = [await enter(gate, 1), await enter(gate, 1)]
    let newer: Entry | null = null
    const waiting = enter(gate, 2).then((entry) => (newer = entry))
    leave(old[0] as Entry)
    // A second call changes nothing: the other request is still inside.
    leave(old[0] as Entry)
    await settle()
    expect(newer).toBeNull()
    leave(old[1] as Entry)
    expect(shown(await waiting)).toBe('in')
  })

  it('refuses a request that was overtaken while it waited', async () => {
    const gate = gateOf()
    const oldest = await enter(gate, 1)
    const middle = enter(gate, 2)
    const newest = enter(gate, 3)
    await settle()
    leave(oldest)
    expect(shown(await middle)).toEqual([409, 'StaleTokenError', 3])
    expect(shown(await newest)).toBe('in')
  })

  it('refuses an older term from the moment that a newer one waits', async () => {
    const gate = gateOf()
    const inside = await enter(gate, 1)
    const waiting = enter(gate, 2)
    await settle()
    expect(shown(await enter(gate, 1))).toEqual([409, 'StaleTokenError', 2])
    leave(inside)
    await waiting
  })
})

describe('a secret', () => {
  const fence = { resource: 'billing', token: 5 }

  it('is never sent: the proof is an HMAC of the resource and the token', () => {
    const headers = tokenHeaders(fence, SECRET)
    expect(headers).toEqual({
      'conclave-token': '5',
      'conclave-token-proof': createHmac('sha256', SECRET).update('conclave-token\nbilling\n5').digest('hex'),
    })
    expect(tokenHeaders(fence)).toEqual({ 'conclave-token': '5' })
  })

  it('must be long enough for both sides, and a token must be whole', () => {
    expect(() => tokenHeaders(fence, 'x'.repeat(15))).toThrow(
      'secret: must be a string of at least 16 characters',
    )
    expect(() => gateOf({ secret: [SECRET, 'short'] })).toThrow('at least 16 characters')
    expect(() => tokenHeaders({ ...fence, token: 1.5 })).toThrow(
      'token: must be a whole number from 0, not 1.5; pass the token of the term',
    )
  })

  it.each<[string, string | null, boolean]>([
    ['the proof', tokenHeaders(fence, SECRET)['conclave-token-proof'] ?? '', true],
    ['no proof', null, false],
    ['an empty proof', '', false],
    [
      'the proof in capitals',
      tokenHeaders(fence, SECRET)['conclave-token-proof']?.toUpperCase() ?? '',
      false,
    ],
    ['a proof that is too long', `${tokenHeaders(fence, SECRET)['conclave-token-proof']}0`, false],
  ])('is proven by %s', async (_what, proof, isProven) => {
    const entry = await gateOf({ secret: SECRET }).enter('5', proof)
    expect(shown(entry)).toEqual(isProven ? 'in' : [401, 'TokenNotProven', null])
  })
})

describe('the memory of tokens', () => {
  it('is shared by gates of one resource, and separate for others', async () => {
    const memory = tokensInMemory()
    leave(await enter(gateOf({ memory }), 9))
    expect(shown(await enter(gateOf({ memory }), 8))).toEqual([409, 'StaleTokenError', 9])
    expect(shown(await enter(gateOf({ memory, resource: 'mail' }), 8))).toBe('in')
  })

  it('that fails admits nobody', async () => {
    const memory: TokenMemory = { raise: () => Promise.reject(new Error('the disk is full')) }
    await expect(enter(gateOf({ memory }), 1)).rejects.toThrow('the disk is full')
  })

  it('is not raised by a token that is refused', async () => {
    const raised: number[] = []
    const inner = tokensInMemory()
    const memory: TokenMemory = {
      raise(resource, token) {
        raised.push(token)
        return inner.raise(resource, token)
      },
    }
    const gate = gateOf({ memory, maxTokenGap: 10, secret: SECRET })
    await gate.enter('5', null)
    await gate.enter('11', tokenHeaders({ resource: 'billing', token: 11 }, SECRET)['conclave-token-proof'])
    expect(raised).toEqual([0])
  })

  it('keeps the greatest token of each resource', async () => {
    const memory = tokensInMemory()
    const results: number[] = []
    for (const [resource, token] of [
      ['a', 3],
      ['a', 1],
      ['b', 2],
      ['a', 4],
      ['a', 0],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      results.push(await memory.raise(resource, token))
    }
    expect(results).toEqual([3, 3, 2, 4, 4])
  })
})

it.each([
  ['GET', true],
  ['HEAD', true],
  ['OPTIONS', true],
  ['POST', false],
  ['PUT', false],
  ['PATCH', false],
  ['DELETE', false],
  ['get', false],
  [undefined, false],
])('the method %s is safe: %s', (method, safe) => {
  expect(isSafe(method)).toBe(safe)
})

it.each([0, -1, 1.5, Number.NaN, 2 ** 53])(
  'refuses the limit %d for the distance of tokens',
  (maxTokenGap) => {
    expect(() => gateOf({ maxTokenGap })).toThrow(
      `maxTokenGap: must be a whole number from 1, not ${maxTokenGap}`,
    )
  },
)
