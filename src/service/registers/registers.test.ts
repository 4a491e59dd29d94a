/** Edge cases that no real store shows on demand: contention, timeouts and strange cells, on a fake clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Block, blockName, decodeBlock, encodeBlock, probeName } from './block.ts'
import { CellLockedError } from './errors.ts'
import { type Memory, openMemory } from './memory.ts'
import { openRegisters, type Registers } from './registers.ts'
import type { CellStore } from './store.ts'

// Vitest replaces the timers of the global object only.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}))

const TIMEOUT_MS = 100
const PROBE_MS = 1000
const SIGNAL = new AbortController().signal

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The registers of a node, over a store that the test may change. */
function lab(self: string, memory: Memory = new Map(), change: Partial<CellStore> = {}) {
  const store: CellStore = { ...openMemory(memory, 'g'), ...change }
  const registers = openRegisters(store, { self, timeoutMs: TIMEOUT_MS, probeMs: PROBE_MS })
  return { registers, store, memory }
}

/** The result of a call, for which the fake clock runs as long as necessary. */
async function run<T>(call: Promise<T>): Promise<T> {
  let isOver = false
  const result = call.finally(() => (isOver = true))
  // oxlint-disable-next-line no-await-in-loop -- until it is over
  while (!isOver) await vi.advanceTimersByTimeAsync(10)
  return result
}

const BLOCK: Block = { id: 'a', incarnation: 1, sequence: 1, holder: null, removed: false, value: null }

async function put(memory: Memory, name: string, body: string): Promise<void> {
  const store = openMemory(memory, 'g')
  const present = (await store.read(SIGNAL)).find((cell) => cell.name === name)
  await store.write(name, body, present?.version ?? null, SIGNAL)
}

async function blockIn(memory: Memory, id: string): Promise<Block | null> {
  const cells = await openMemory(memory, 'g').read(SIGNAL)
  const body = cells.find(({ name }) => name === blockName(id))?.body
  const decoded = body === undefined ? null : decodeBlock(body)
  return decoded?.is === 'block' ? decoded.block : null
}

async function seen(by: Registers, id: string): Promise<Block> {
  const round = await by.readAll()
  const block = round.outcome === 'ok' ? round.blocks.get(id) : undefined
  if (block === undefined) throw new Error(`no block of ${id}`)
  return block
}

describe('claim', () => {
  it('counts incarnations and writes, and keeps the value', async () => {
    const memory: Memory = new Map()
    await put(memory, blockName('a'), encodeBlock({ ...BLOCK, incarnation: 4, sequence: 9, value: { x: 1 } }))
    expect(await lab('a', memory).registers.claim()).toEqual({
      outcome: 'ok',
      own: {
        id: 'a',
        incarnation: 5,
        sequence: 10,
        holder: expect.any(String),
        removed: false,
        value: { x: 1 },
      },
    })
  })

  it('probes for as long as another process may need to answer, before it takes an id over', async () => {
    const memory: Memory = new Map()
    await put(memory, blockName('a'), encodeBlock({ ...BLOCK, holder: 'another' }))
    const before = Date.now()
    const claimed = await run(lab('a', memory).registers.claim())
    expect(claimed).toMatchObject({ outcome: 'ok', own: { incarnation: 2 } })
    expect(Date.now() - before).toBe(PROBE_MS)
  })

  it('does not probe its own block, nor a released block', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    expect(await registers.claim()).toMatchObject({ outcome: 'ok', own: { incarnation: 2 } })
    expect(memory.get('g')?.has(probeName('a'))).toBe(false)
  })

  it.each<[string, string, (memory: Memory) => Promise<void>]>([
    ['answers', 'it answered', (memory) => put(memory, probeName('a'), 'the other')],
    ['writes', 'it writes', (memory) => put(memory, blockName('a'), encodeBlock({ ...BLOCK, sequence: 2 }))],
  ])('refuses an id whose process %s', async (_what, sign, act) => {
    const memory: Memory = new Map()
    await put(memory, blockName('a'), encodeBlock({ ...BLOCK, holder: 'another' }))
    const claim = lab('a', memory).registers.claim()
    await vi.advanceTimersByTimeAsync(PROBE_MS / 2)
    await act(memory)
    expect(await run(claim)).toMatchObject({
      outcome: 'failed',
      error: { name: 'IdInUseError', message: expect.stringContaining(`(${sign}, in memory, group g)`) },
    })
  })

  it('refuses an id under which another process starts at the same moment', async () => {
    const memory: Memory = new Map()
    await put(memory, blockName('a'), encodeBlock({ ...BLOCK, holder: 'another' }))
    const [first, second] = [lab('a', memory).registers.claim(), lab('a', memory).registers.claim()]
    expect([await run(first), await run(second)]).toMatchObject([
      { outcome: 'ok' },
      {
        outcome: 'failed',
        error: { message: expect.stringContaining('another process is starting under it') },
      },
    ])
  })

  it('reads again when a delayed write comes between, and gives up after five tries', async () => {
    let refusals = 4
    const memory: Memory = new Map()
    const { store } = lab('a', memory)
    const write: CellStore['write'] = async (name, body, expected, signal) => {
      if (name === blockName('a') && refusals-- > 0) return null
      return store.write(name, body, expected, signal)
    }
    expect(await lab('a', memory, { write }).registers.claim()).toMatchObject({ outcome: 'ok' })
    refusals = 5
    expect(await lab('b', new Map(), { write: async () => null }).registers.claim()).toMatchObject({
      outcome: 'failed',
      error: { name: 'IdInUseError', message: expect.stringContaining('its block keeps changing') },
    })
  })

  it('refuses an id that was removed, and one whose block another process has locked', async () => {
    const memory: Memory = new Map()
    await put(memory, blockName('a'), encodeBlock({ ...BLOCK, removed: true }))
    expect(await lab('a', memory).registers.claim()).toMatchObject({
      outcome: 'failed',
      error: { name: 'NodeRemovedError' },
    })
    const locked = lab('b', memory, { write: () => Promise.reject(new CellLockedError('locked')) })
    expect(await locked.registers.claim()).toMatchObject({
      outcome: 'failed',
      error: { name: 'IdInUseError', message: expect.stringContaining('it has locked its block') },
    })
  })
})

describe('a timeout', () => {
  it('makes the outcome unknown, and aborts the call of the store', async () => {
    const signals: AbortSignal[] = []
    const read: CellStore['read'] = (signal) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    const { registers } = lab('a', new Map(), { read })
    const reading = registers.readAll()
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    await vi.advanceTimersByTimeAsync(1)
    expect(await reading).toEqual({ outcome: 'unknown', why: 'no answer within 100 ms' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('leaves no timer behind where the store answers in time', async () => {
    const { registers } = lab('a')
    await registers.claim()
    await registers.readAll()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('write', () => {
  it('needs a claim, and one again after an unknown outcome', async () => {
    const memory: Memory = new Map()
    const inner = openMemory(memory, 'g')
    let isBroken = false
    const { registers } = lab('a', memory, {
      write: (...words) => (isBroken ? Promise.reject(new Error('reset')) : inner.write(...words)),
    })
    expect(() => registers.write(1)).toThrow('claim the block before writing it')
    await registers.claim()
    isBroken = true
    expect(await registers.write(1)).toEqual({ outcome: 'unknown', why: 'reset' })
    isBroken = false
    expect(() => registers.write(2)).toThrow('claim the block before writing it')
    await registers.claim()
    expect(await registers.write(2)).toEqual({ outcome: 'ok' })
  })

  it('increments the sequence number, never the incarnation', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    for (const value of [1, 2, 3]) {
      // oxlint-disable-next-line no-await-in-loop -- one write after the other
      await registers.write(value)
    }
    expect(await blockIn(memory, 'a')).toMatchObject({ incarnation: 1, sequence: 4, value: 3 })
  })

  it('refuses a second write while one is pending, before anything is sent', async () => {
    let sent = 0
    const memory: Memory = new Map()
    const inner = openMemory(memory, 'g')
    const { registers } = lab('a', memory, {
      write: (...words) => {
        sent += 1
        return inner.write(...words)
      },
    })
    await registers.claim()
    sent = 0
    const first = registers.write(1)
    expect(() => registers.write(2)).toThrow('a write is still pending: only one at a time')
    expect(await first).toEqual({ outcome: 'ok' })
    expect(sent).toBe(1)
  })
})

describe('readAll', () => {
  it('ignores cells that are no blocks', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    await put(memory, probeName('z'), 'a process')
    const round = await registers.readAll()
    expect(round.outcome === 'ok' && [...round.blocks.keys()]).toEqual(['a'])
  })

  it('does not accept the block of one node in the cell of another', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    await put(memory, blockName('c'), encodeBlock(BLOCK))
    expect(await registers.readAll()).toEqual({
      outcome: 'unknown',
      why: expect.stringContaining(
        'the block of c in memory, group g is corrupt (it is the block of another node)',
      ),
    })
  })

  it('fails for good if its own block is corrupt', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    await put(memory, blockName('a'), 'damaged')
    expect(await registers.readAll()).toMatchObject({
      outcome: 'failed',
      error: { name: 'CorruptBlockError' },
    })
  })

  it('answers a probe with its own name, only once it has claimed its block', async () => {
    const { registers, memory } = lab('a')
    await put(memory, probeName('a'), 'a newer process')
    await registers.readAll()
    expect(memory.get('g')?.get(probeName('a'))?.body).toBe('a newer process')
    await registers.claim()
    await registers.readAll()
    await vi.advanceTimersByTimeAsync(0)
    const answer = memory.get('g')?.get(probeName('a'))
    expect(answer).toEqual({ version: 2, body: (await blockIn(memory, 'a'))?.holder })
    await registers.readAll()
    await vi.advanceTimersByTimeAsync(0)
    expect(memory.get('g')?.get(probeName('a'))).toEqual(answer)
  })
})

describe('bury', () => {
  it('needs a block of that node that this process has read', async () => {
    const memory: Memory = new Map()
    const [a, b] = [lab('a', memory).registers, lab('b', memory).registers]
    await a.claim()
    await b.claim()
    const block = await seen(b, 'a')
    expect(() => b.bury('b', 1, block)).toThrow('seen: must be a block of b that readAll() returned')
    expect(() => b.bury('a', 1, { ...block })).toThrow('seen: must be a block of a that readAll() returned')
  })

  it('writes a tombstone: a new incarnation without a holder', async () => {
    const memory: Memory = new Map()
    const [a, b] = [lab('a', memory).registers, lab('b', memory).registers]
    await a.claim()
    await a.write({ ctr: 1 })
    await b.claim()
    expect(await b.bury('a', { gone: true }, await seen(b, 'a'))).toEqual({ outcome: 'ok' })
    const expected = {
      id: 'a',
      incarnation: 2,
      sequence: 3,
      holder: null,
      removed: false,
      value: { gone: true },
    }
    expect(await blockIn(memory, 'a')).toEqual(expected)
    expect(await a.readAll()).toMatchObject({ outcome: 'failed', error: { name: 'SupersededError' } })
    // Null removes the node, and keeps its last value.
    expect(await b.bury('a', null, await seen(b, 'a'))).toEqual({ outcome: 'ok' })
    expect(await blockIn(memory, 'a')).toEqual({ ...expected, incarnation: 3, sequence: 4, removed: true })
  })

  it.each<[string, () => Promise<null>, string]>([
    ['was written meanwhile', async () => null, 'the block of a was written after it was read'],
    [
      'is locked',
      () => Promise.reject(new CellLockedError('locked')),
      'the block of a is locked: its process is alive, or another node is removing it',
    ],
  ])('is refused if the block %s, and releases its lock', async (_what, answer, why) => {
    const memory: Memory = new Map()
    await lab('a', memory).registers.claim()
    const released: string[] = []
    const inner = openMemory(memory, 'g')
    const { registers } = lab('b', memory, {
      write: (...words) => (words[0] === blockName('a') ? answer() : inner.write(...words)),
      release: (name) => released.push(name),
    })
    await registers.claim()
    expect(await registers.bury('a', 1, await seen(registers, 'a'))).toEqual({ outcome: 'refused', why })
    expect(released).toEqual([blockName('a')])
  })
})

describe('the end', () => {
  it('of a process releases its id, so that the next need not probe', async () => {
    const memory: Memory = new Map()
    let closed = 0
    const { registers } = lab('a', memory, { close: async () => void (closed += 1) })
    await registers.claim()
    await registers.close()
    expect([(await blockIn(memory, 'a'))?.holder, closed]).toEqual([null, 1])
    expect(await lab('a', memory).registers.claim()).toMatchObject({ outcome: 'ok', own: { incarnation: 2 } })
  })

  it('of a node keeps its block, and its id cannot be used again', async () => {
    const { registers, memory } = lab('a')
    await registers.claim()
    expect(await registers.remove({ left: true })).toEqual({ outcome: 'ok' })
    expect(await blockIn(memory, 'a')).toMatchObject({ removed: true, holder: null, value: { left: true } })
    expect(() => registers.write(1)).toThrow('claim the block before writing it')
    expect(await registers.claim()).toMatchObject({ outcome: 'failed', error: { name: 'NodeRemovedError' } })
  })

  it('waits for a pending write, on which other nodes may wait', async () => {
    const memory: Memory = new Map()
    const inner = openMemory(memory, 'g')
    const order: string[] = []
    const { registers } = lab('a', memory, {
      async write(...words) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        order.push('write')
        return inner.write(...words)
      },
      close: async () => void order.push('close'),
    })
    await run(registers.claim())
    const [written] = await run(Promise.all([registers.write(7), registers.close()]))
    expect(written).toEqual({ outcome: 'ok' })
    expect(order).toEqual(['write', 'write', 'write', 'close'])
    expect(await blockIn(memory, 'a')).toMatchObject({ value: 7, holder: null })
  })
})
