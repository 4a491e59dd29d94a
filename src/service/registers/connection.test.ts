import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  Backoff,
  backoffMs,
  CONNECT_TIMEOUT_MS,
  Connection,
  MAX_PAUSE_MS,
  OPEN_TIMEOUT_MS,
  rejectOnAbort,
} from './connection.ts'
import { StoreUnreachableError } from './errors.ts'

type Client = { readonly number: number; isReleased: boolean }

/** A connection whose connections are made by hand. */
function lab(connect: (client: Client, signal: AbortSignal) => Promise<Client>) {
  const clients: Client[] = []
  const connection = new Connection<Client>({
    place: 'a store',
    connect: (signal) => {
      const client = { number: clients.length, isReleased: false }
      clients.push(client)
      return connect(client, signal)
    },
    release: (client) => {
      client.isReleased = true
    },
    isLost: (error) => error instanceof StoreUnreachableError,
  })
  return { connection, clients }
}

const never = (): Promise<never> => new Promise(() => {})
/** Why it failed; `done` where it did not. */
const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: Error) => error.message,
  )
const forever = new AbortController().signal
const lost = new StoreUnreachableError('a store', new Error('reset'))

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

describe('Connection', () => {
  it('serves all calls with one connection', async () => {
    const { connection, clients } = lab(async (client) => client)
    const numbers = await Promise.all(
      [1, 2, 3].map(() => connection.use(forever, async ({ number }) => number)),
    )
    expect([numbers, clients.length]).toEqual([[0, 0, 0], 1])
  })

  it('reconnects after a pause; calls during the pause fail at once', async () => {
    const { connection, clients } = lab(async (client) => client)
    await expect(connection.use(forever, () => Promise.reject(lost))).rejects.toBe(lost)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
    await expect(connection.use(forever, async () => 'done')).rejects.toBe(lost)
    await vi.advanceTimersByTimeAsync(50)
    expect(await connection.use(forever, async ({ number }) => number)).toBe(1)
  })

  it('keeps the connection after other errors', async () => {
    const { connection, clients } = lab(async (client) => client)
    await expect(connection.use(forever, () => Promise.reject(new Error('busy')))).rejects.toThrow('busy')
    expect(await connection.use(forever, async ({ number }) => number)).toBe(0)
    expect(clients).toEqual([{ number: 0, isReleased: false }])
  })

  it('increases the pause between attempts, regardless of the number of calls', async () => {
    const { connection, clients } = lab(() => Promise.reject(lost))
    for (let ms = 0; ms < 60_000; ms += 10) {
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await connection.use(forever, never).catch(() => {})
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await vi.advanceTimersByTimeAsync(10)
    }
    // A pause of 500 to 1000 ms at most, after a few shorter ones.
    expect(clients.length).toBeGreaterThan(60)
    expect(clients.length).toBeLessThan(130)
  })

  it('releases the connection of an aborted call, even if the client ignores the abort', async () => {
    const { connection, clients } = lab(async (client) => client)
    const late = new AbortController()
    const call = connection.use(late.signal, never)
    await vi.advanceTimersByTimeAsync(0)
    late.abort(new Error('no answer'))
    await expect(call).rejects.toThrow('no answer')
    await vi.advanceTimersByTimeAsync(0)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
  })

  it('aborts a connection attempt after its timeout, and releases a late connection', async () => {
    const ready: (() => void)[] = []
    const { connection, clients } = lab(
      (client) => new Promise((resolve) => ready.push(() => resolve(client))),
    )
    const call = outcome(connection.use(forever, never))
    await vi.advanceTimersByTimeAsync(OPEN_TIMEOUT_MS)
    expect(await call).toContain(`no connection within ${OPEN_TIMEOUT_MS} ms`)
    ready[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
  })

  it('uses a shorter timeout for reconnections', async () => {
    const { connection } = lab((client) => (client.number === 0 ? Promise.resolve(client) : never()))
    await connection.use(forever, () => Promise.reject(lost)).catch(() => {})
    await vi.advanceTimersByTimeAsync(MAX_PAUSE_MS)
    const call = outcome(connection.use(forever, never))
    await vi.advanceTimersByTimeAsync(CONNECT_TIMEOUT_MS)
    expect(await call).toContain(`no connection within ${CONNECT_TIMEOUT_MS} ms`)
  })

  it('drops a connection that the client reports as lost, and no other', async () => {
    const { connection, clients } = lab(async (client) => client)
    const first = await connection.use(forever, async (client) => client)
    connection.handleLoss(first, lost)
    await vi.advanceTimersByTimeAsync(MAX_PAUSE_MS)
    expect(await connection.use(forever, async ({ number }) => number)).toBe(1)
    connection.handleLoss(first, lost)
    await vi.advanceTimersByTimeAsync(0)
    expect(await connection.use(forever, async ({ number }) => number)).toBe(1)
    expect(clients).toHaveLength(2)
  })

  it('releases everything on close, and does not reconnect', async () => {
    const signals: AbortSignal[] = []
    const { connection, clients } = lab((client, signal) => {
      signals.push(signal)
      return client.number === 0 ? Promise.resolve(client) : never()
    })
    await connection.use(forever, async () => {})
    await connection.close()
    expect(clients).toEqual([{ number: 0, isReleased: true }])
    await expect(connection.use(forever, never)).rejects.toThrow('it has been closed')
    const other = lab((_, signal) => {
      signals.push(signal)
      return never()
    })
    const call = outcome(other.connection.use(forever, never))
    await other.connection.close()
    expect(await call).toContain('it has been closed')
    expect(signals.at(-1)?.aborted).toBe(true)
  })
})

it('grows the pause to a limit, with random jitter in the upper half', () => {
  for (let failures = 1; failures < 50; failures++) {
    const full = Math.min(50 * 2 ** (failures - 1), MAX_PAUSE_MS)
    const pauses = Array.from({ length: 50 }, () => backoffMs(failures))
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(full / 2)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(full)
    expect(new Set(pauses).size).toBeGreaterThan(10)
  }
})

describe('Backoff', () => {
  it('fails with the last failure during the pause, and not after it', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const backoff = new Backoff()
    expect(() => backoff.check()).not.toThrow()
    backoff.recordFailure(new Error('first'))
    backoff.recordFailure(new Error('second'))
    vi.advanceTimersByTime(99)
    expect(() => backoff.check()).toThrow('second')
    vi.advanceTimersByTime(1)
    expect(() => backoff.check()).not.toThrow()
    vi.restoreAllMocks()
  })

  it.each([
    [1, 0, 25],
    [1, 1, 50],
    [2, 0, 50],
    [5, 1, 800],
    [6, 0, 500],
    [6, 1, 1000],
    [1000, 1, 1000],
  ])('after %i failures, with the random number %d, pauses for %d ms', (failures, random, pauseMs) => {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    expect(backoffMs(failures)).toBe(pauseMs)
    vi.restoreAllMocks()
  })

  it('starts again with the shortest pause after a success', () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const backoff = new Backoff()
    for (let each = 0; each < 5; each++) backoff.recordFailure(lost)
    backoff.reset()
    expect(() => backoff.check()).not.toThrow()
    backoff.recordFailure(lost)
    vi.advanceTimersByTime(50)
    expect(() => backoff.check()).not.toThrow()
    vi.restoreAllMocks()
  })
})

describe('rejectOnAbort', () => {
  it('settles like the promise, and removes its listener', async () => {
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    expect(await rejectOnAbort(Promise.resolve(7), signal)).toBe(7)
    await expect(rejectOnAbort(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken')
    await vi.advanceTimersByTimeAsync(0)
    expect(removed).toHaveBeenCalledTimes(2)
  })

  it('rejects with the reason of the signal, also of a signal that was aborted before', async () => {
    const abort = new AbortController()
    const waiting = rejectOnAbort(never(), abort.signal)
    abort.abort(new Error('too late'))
    await expect(waiting).rejects.toThrow('too late')
    await expect(rejectOnAbort(never(), abort.signal)).rejects.toThrow('too late')
  })
})
