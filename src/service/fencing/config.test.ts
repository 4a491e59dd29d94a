import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { explain } from '../../core/index.ts'
import { fencingSchema, withTimeLimit } from './config.ts'
import type { FenceAnswer, FenceDevice, FenceOrder, FenceStatus } from './devices.ts'
import { establish, withAbort } from './devices.ts'

const COMMAND = { kind: 'command', command: ['fence_virsh'] }
const HTTP = { kind: 'http', url: 'http://switch/fence' }

describe('the configuration of a device', () => {
  it('has defaults', () => {
    expect(fencingSchema.parse(COMMAND)).toEqual({ ...COMMAND, options: {}, timeoutMs: 30_000 })
    expect(fencingSchema.parse(HTTP)).toEqual({ ...HTTP, headers: {}, timeoutMs: 30_000 })
  })

  it.each<[object, string, string]>([
    [{ kind: 'ssh' }, 'kind', '"ssh" is not one of "command", "http"'],
    [{ kind: 'command' }, 'command', 'is missing: write a list'],
    [{ ...COMMAND, command: [] }, 'command', 'has 0 entries: it needs at least 1'],
    [{ ...COMMAND, command: [''] }, 'command.0', 'must be a non-empty string'],
    [{ ...COMMAND, options: { port: 5 } }, 'options.port', '5 is not a string'],
    [{ ...COMMAND, timeoutMs: 0 }, 'timeoutMs', '0 is out of bounds: it must be at least 1'],
    [
      { ...COMMAND, timeoutMs: 3_600_001 },
      'timeoutMs',
      '3600001 is out of bounds: it must be at most 3600000',
    ],
    [{ ...HTTP, url: 'switch/fence' }, 'url', 'must be a URL such as http://switch/fence'],
    [{ ...HTTP, url: 'ftp://switch' }, 'url', 'must be a URL such as http://switch/fence'],
    [
      { ...HTTP, url: 'http://me@switch' },
      'url',
      'must not contain a user or password: use the header authorization',
    ],
    [{ ...HTTP, headers: { a: 1 } }, 'headers.a', '1 is not a string'],
  ])('is refused: %j', (given, path, message) => {
    const { error } = fencingSchema.safeParse(given, { error: explain })
    expect(error?.issues.map((issue) => [issue.path.join('.'), issue.message])).toEqual([[path, message]])
  })
})

const ORDER: FenceOrder = { action: 'off', target: 'b', token: 3, by: 'a' }
const DONE: FenceAnswer = { outcome: 'done' }

/** A device that records orders, and answers as the test says. */
function device(
  answers: { execute?: FenceDevice['execute']; status?: FenceDevice['status'] } = {},
  name = 'switch',
): FenceDevice & { readonly orders: string[] } {
  const orders: string[] = []
  const state = new Map<string, FenceStatus>()
  return {
    name,
    orders,
    execute(order, signal) {
      orders.push(`${order.action} ${order.target}`)
      state.set(order.target, order.action)
      return answers.execute?.(order, signal) ?? Promise.resolve(DONE)
    },
    status: (target, signal) =>
      answers.status?.(target, signal) ?? Promise.resolve(state.get(target) ?? 'unknown'),
  }
}

const forever = new AbortController().signal

describe('a time limit', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('makes the outcome of an order unknown, even if the device ignores the signal', async () => {
    const slow = withTimeLimit(device({ execute: () => new Promise(() => {}) }), 200)
    const answer = slow.execute(ORDER, forever)
    await vi.advanceTimersByTimeAsync(200)
    expect(await answer).toEqual({ outcome: 'unknown', why: 'no answer within 200 ms' })
  })

  it('makes a status unknown, and aborts the signal of the device', async () => {
    let aborted = false
    const slow = withTimeLimit(
      device({
        status: (_, signal) => {
          signal.addEventListener('abort', () => (aborted = true))
          return new Promise(() => {})
        },
      }),
      200,
    )
    const status = slow.status('b', forever)
    await vi.advanceTimersByTimeAsync(199)
    expect(aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect([await status, aborted]).toEqual(['unknown', true])
  })

  it('leaves no timer behind, and keeps the name', async () => {
    const quick = withTimeLimit(device(), 200)
    expect([quick.name, await quick.execute(ORDER, forever)]).toEqual(['switch', DONE])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('withAbort', () => {
  const otherwise = (why: string): string => `not done: ${why}`

  it.each<[string, AbortSignal, string]>([
    ['a reason', AbortSignal.abort(new Error('too late')), 'not done: too late'],
    ['no error as reason', AbortSignal.abort('stop'), 'not done: aborted'],
  ])('does not start work whose signal was aborted, with %s', async (_what, signal, expected) => {
    let started = 0
    expect(await withAbort(signal, async () => String((started += 1)), otherwise)).toBe(expected)
    expect(started).toBe(0)
  })

  it('passes the result and the error of the work on', async () => {
    expect(await withAbort(forever, async () => 'done', otherwise)).toBe('done')
    await expect(withAbort(forever, () => Promise.reject(new Error('broken')), otherwise)).rejects.toThrow(
      'broken',
    )
  })
})

describe('establish', () => {
  const partition = { by: 'a', token: 3, inside: ['a'], outside: ['b', 'c'] }

  it('isolates all outside nodes before it connects any, on each device in turn', async () => {
    const devices = [device(), device({}, 'disk')]
    expect(await establish(devices, partition, forever)).toEqual({ outcome: 'confirmed' })
    for (const { orders } of devices) expect(orders).toEqual(['off b', 'off c', 'on a'])
  })

  it('stops at the first refusal, and says where', async () => {
    const refused: FenceAnswer = { outcome: 'refused', current: 9, why: 'a newer leader' }
    const first = device({ execute: async ({ target }) => (target === 'c' ? refused : DONE) })
    const second = device({}, 'disk')
    expect(await establish([first, second], partition, forever)).toEqual({ ...refused, at: 'switch, c' })
    expect([first.orders, second.orders]).toEqual([['off b', 'off c'], []])
  })

  it.each<[FenceStatus]>([['on'], ['unknown']])(
    'does not trust an order whose status is %s',
    async (status) => {
      expect(await establish([device({ status: async () => status })], partition, forever)).toEqual({
        outcome: 'unknown',
        at: 'switch, b',
        why: `b was switched off, but its status is ${status}`,
      })
    },
  )

  it('leaves every device that it entered, also when an order fails', async () => {
    const left: string[] = []
    const exclusive = (name: string, answers = {}): FenceDevice => ({
      ...device(answers, name),
      enter: async () => () => left.push(name),
    })
    const broken = { execute: () => Promise.reject(new Error('no power')) }
    expect(await establish([exclusive('s1'), exclusive('s2', broken)], partition, forever)).toEqual({
      outcome: 'unknown',
      at: 'entering',
      why: 'no power',
    })
    expect(left).toEqual(['s1', 's2'])
  })

  it('without nodes or devices has nothing to do', async () => {
    expect(await establish([], partition, forever)).toEqual({ outcome: 'confirmed' })
    expect(await establish([device()], { ...partition, inside: [], outside: [] }, forever)).toEqual({
      outcome: 'confirmed',
    })
  })
})
