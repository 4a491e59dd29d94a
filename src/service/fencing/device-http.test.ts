import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { httpDevice } from './device-http.ts'
import { commandDevice, type FenceOrder } from './devices.ts'

const ORDER: FenceOrder = { action: 'off', target: 'b', token: 3, by: 'a' }
const URL_OF = 'http://switch/fence?port=1'
const SIGNAL = new AbortController().signal

type Call = { readonly url: string; readonly init: RequestInit }
let calls: Call[] = []
let answer: () => Promise<Response>
beforeEach(() => {
  calls = []
  vi.stubGlobal('fetch', (url: URL, init: RequestInit) => {
    calls.push({ url: url.href, init })
    return answer()
  })
})
afterEach(() => void vi.unstubAllGlobals())

const respond = (status: number, body: unknown): void => {
  answer = () =>
    Promise.resolve(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status }))
}

describe('an order over HTTP', () => {
  it('is one POST with its fields, without redirects', async () => {
    respond(200, {})
    const device = httpDevice({ url: URL_OF, headers: { authorization: 'Bearer x' } })
    expect(await device.execute(ORDER, SIGNAL)).toEqual({ outcome: 'done' })
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      url: URL_OF,
      init: {
        method: 'POST',
        redirect: 'error',
        headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
        body: JSON.stringify(ORDER),
      },
    })
  })

  it.each<[number, unknown, object]>([
    [200, {}, { outcome: 'done' }],
    [201, 'no JSON', { outcome: 'done' }],
    [409, { current: 9 }, { outcome: 'refused', current: 9, why: `${URL_OF} returned status 409` }],
    [409, { error: { message: 'too old' } }, { outcome: 'refused', current: null, why: 'too old' }],
    [500, { error: { message: 'no power' } }, { outcome: 'unknown', why: 'no power' }],
    [302, '', { outcome: 'unknown', why: `${URL_OF} returned status 302` }],
    [503, '<html>', { outcome: 'unknown', why: `${URL_OF} returned status 503` }],
  ])('with the status %i and %j', async (status, body, expected) => {
    respond(status, body)
    expect(await httpDevice({ url: URL_OF }).execute(ORDER, SIGNAL)).toEqual(expected)
  })

  it('that fails is unknown, with the reason', async () => {
    answer = () => Promise.reject(new TypeError('fetch failed'))
    expect(await httpDevice({ url: URL_OF }).execute(ORDER, SIGNAL)).toEqual({
      outcome: 'unknown',
      why: `${URL_OF}: fetch failed`,
    })
  })
})

describe('the status over HTTP', () => {
  it.each<[number, unknown, string]>([
    [200, { status: 'on' }, 'on'],
    [200, { status: 'off' }, 'off'],
    [200, { status: 'maybe' }, 'unknown'],
    [200, 'on', 'unknown'],
    [404, {}, 'unknown'],
  ])('with %i and %j is %s', async (status, body, expected) => {
    respond(status, body)
    expect(await httpDevice({ url: URL_OF }).status('b c', SIGNAL)).toBe(expected)
    expect(calls[0]?.url).toBe('http://switch/fence?port=1&target=b+c')
  })

  it('of a device that does not answer is unknown', async () => {
    answer = () => Promise.reject(new Error('timeout'))
    expect(await httpDevice({ url: URL_OF }).status('b', SIGNAL)).toBe('unknown')
  })
})

describe('the options of a command', () => {
  it.each([
    [{ 'a=b': 'x' }, 'options.a=b'],
    [{ 'a\nb': 'x' }, 'options.a\nb'],
    [{ passwd: 'x\naction=on' }, 'options.passwd'],
  ])('%j could change its other lines, and are refused', (options, field) => {
    expect(() => commandDevice({ command: ['fence'], options })).toThrow(
      `${field}: must not contain a line break, and its name must not contain =`,
    )
  })

  it('may have values with "="', () => {
    expect(commandDevice({ command: ['fence', '-v'], options: { login: 'a=b' } }).name).toBe('fence')
  })
})
