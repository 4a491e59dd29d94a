import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { backoffMs, CONNECT_TIMEOUT_MS, Connection, MAX_PAUSE_MS, OPEN_TIMEOUT_MS } from './connection.ts'
import { StoreUnreachableError } from './errors.ts'

type Client = { readonly number: number; isReleased: boolean }

/** A line whose connections are made by hand. */
function lab(connect: (client: Client, signal: AbortSignal) => Promise<Client>) {
  const clients: Client[] = []
  const line = new Connection<Client>({
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
  return { line, clients }
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

describe('a line to a store', () => {
  it('serves all calls with one connection', async () => {
    const { line, clients } = lab(async (client) => client)
    const numbers = await Promise.all([1, 2, 3].map(() => line.use(forever, async ({ number }) => number)))
    expect([numbers, clients.length]).toEqual([[0, 0, 0], 1])
  })

  it('connects again after a loss, but not before a pause; calls in between fail at once', async () => {
    const { line, clients } = lab(async (client) => client)
    await expect(line.use(forever, () => Promise.reject(lost))).rejects.toBe(lost)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
    await expect(line.use(forever, async () => 'done')).rejects.toBe(lost)
    await vi.advanceTimersByTimeAsync(50)
    expect(await line.use(forever, async ({ number }) => number)).toBe(1)
  })

  it('keeps a connection on which a call failed for another reason', async () => {
    const { line, clients } = lab(async (client) => client)
    await expect(line.use(forever, () => Promise.reject(new Error('busy')))).rejects.toThrow('busy')
    expect(await line.use(forever, async ({ number }) => number)).toBe(0)
    expect(clients).toEqual([{ number: 0, isReleased: false }])
  })

  it('attempts to connect ever more seldom, however often it is asked', async () => {
    const { line, clients } = lab(() => Promise.reject(lost))
    for (let ms = 0; ms < 60_000; ms += 10) {
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await line.use(forever, never).catch(() => {})
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      await vi.advanceTimersByTimeAsync(10)
    }
    // A pause of 500 to 1000 ms at most, after a few shorter ones.
    expect(clients.length).toBeGreaterThan(60)
    expect(clients.length).toBeLessThan(130)
  })

  it('releases the connection of a call that is given up, whether or not the client notices', async () => {
    const { line, clients } = lab(async (client) => client)
    const late = new AbortController()
    const call = line.use(late.signal, never)
    await vi.advanceTimersByTimeAsync(0)
    late.abort(new Error('no answer'))
    await expect(call).rejects.toThrow('no answer')
    await vi.advanceTimersByTimeAsync(0)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
  })

  it('gives up an attempt to connect after its limit, and releases what comes of it late', async () => {
    const ready: (() => void)[] = []
    const { line, clients } = lab((client) => new Promise((resolve) => ready.push(() => resolve(client))))
    const call = outcome(line.use(forever, never))
    await vi.advanceTimersByTimeAsync(OPEN_TIMEOUT_MS)
    expect(await call).toContain(`no connection within ${OPEN_TIMEOUT_MS} ms`)
    ready[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect(clients).toEqual([{ number: 0, isReleased: true }])
  })

  it('has less patience when it was connected before', async () => {
    const { line } = lab((client) => (client.number === 0 ? Promise.resolve(client) : never()))
    await line.use(forever, () => Promise.reject(lost)).catch(() => {})
    await vi.advanceTimersByTimeAsync(MAX_PAUSE_MS)
    const call = outcome(line.use(forever, never))
    await vi.advanceTimersByTimeAsync(CONNECT_TIMEOUT_MS)
    expect(await call).toContain(`no connection within ${CONNECT_TIMEOUT_MS} ms`)
  })

  it('drops a connection that the client says is lost, and no other', async () => {
    const { line, clients } = lab(async (client) => client)
    const first = await line.use(forever, async (client) => client)
    line.handleLoss(first, lost)
    await vi.advanceTimersByTimeAsync(MAX_PAUSE_MS)
    expect(await line.use(forever, async ({ number }) => number)).toBe(1)
    line.handleLoss(first, lost)
    await vi.advanceTimersByTimeAsync(0)
    expect(await line.use(forever, async ({ number }) => number)).toBe(1)
    expect(clients).toHaveLength(2)
  })

  it('holds nothing after it was closed, and connects no more', async () => {
    const signals: AbortSignal[] = []
    const { line, clients } = lab((client, signal) => {
      signals.push(signal)
      return client.number === 0 ? Promise.resolve(client) : never()
    })
    await line.use(forever, async () => {})
    await line.close()
    expect(clients).toEqual([{ number: 0, isReleased: true }])
    await expect(line.use(forever, never)).rejects.toThrow('it has been closed')
    const other = lab((_, signal) => {
      signals.push(signal)
      return never()
    })
    const call = outcome(other.line.use(forever, never))
    await other.line.close()
    expect(await call).toContain('it has been closed')
    expect(signals.at(-1)?.aborted).toBe(true)
  })
})

it('pauses grow to a limit, and half of each is chance', () => {
  for (let failures = 1; failures < 50; failures++) {
    const full = Math.min(50 * 2 ** (failures - 1), MAX_PAUSE_MS)
    const pauses = Array.from({ length: 50 }, () => backoffMs(failures))
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(full / 2)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(full)
    expect(new Set(pauses).size).toBeGreaterThan(10)
  }
})
