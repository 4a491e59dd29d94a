/** The conformance suite for register stores. A backend's test file calls it with the real backend. */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import type { NodeId } from '../../src/core/index.ts'
import { blockName, encodeBlock } from '../../src/service/registers/block.ts'
import {
  type CellStore,
  openRegisters,
  type ReadOutcome,
  type RegisterBlock,
  type Registers,
  runExperiment,
} from '../../src/service/registers/index.ts'

export type Backend = {
  open(group: string): Promise<CellStore>
  /** The store has no compare-and-swap; the process that writes a block locks it against all others. */
  readonly locks?: boolean
}

const SIGNAL = (): AbortSignal => AbortSignal.timeout(10_000)
const TIMEOUT_MS = 10_000
const KNOCK_MS = 60
/**
 * How long the test waits for a write that the store holds back. Every other access must be faster, also on a
 * busy machine.
 */
const HELD_MS = 1000

/** A store that can hold operations back: they take place only when released. */
function holding(store: CellStore): { readonly store: CellStore; hold: boolean; letGo(): Promise<void> } {
  const held: (() => Promise<unknown>)[] = []
  const lab = {
    hold: false,
    store: {
      ...store,
      write(...words: Parameters<CellStore['write']>) {
        if (!lab.hold) return store.write(...words)
        const [name, body, expected] = words
        held.push(() => store.write(name, body, expected, SIGNAL()))
        return new Promise<never>(() => {})
      },
    } satisfies CellStore,
    letGo: async () => {
      await Promise.all(held.map((operation) => operation()))
    },
  }
  return lab
}

function valueOf(round: ReadOutcome, id: NodeId): unknown {
  return round.outcome === 'ok' ? round.blocks.get(id)?.value : round
}

export function conformance(about: string, backend: Backend): void {
  describe(`${about} as registers`, () => {
    const opened: { close(): Promise<void> }[] = []
    afterEach(async () => {
      await Promise.allSettled(opened.splice(0).map((each) => each.close()))
    })

    const freshGroup = (): string => `test ${randomUUID().slice(0, 8)}/ä`

    async function rawIn(group: string): Promise<CellStore> {
      const store = await backend.open(group)
      opened.push(store)
      return store
    }

    async function nodeIn(group: string, self: NodeId, more: { probeMs?: number } = {}): Promise<Registers> {
      const store = await backend.open(group)
      const registers = openRegisters(store, { self, timeoutMs: TIMEOUT_MS, probeMs: KNOCK_MS, ...more })
      opened.push(registers)
      return registers
    }

    async function claimed(group: string, self: NodeId): Promise<Registers> {
      const registers = await nodeIn(group, self)
      expect(await registers.claim()).toMatchObject({ outcome: 'ok' })
      return registers
    }

    it('a node writes its own register and all nodes read it', async () => {
      const group = freshGroup()
      const [a, b] = [await claimed(group, 'a'), await claimed(group, 'b')]
      expect(await a.write({ ctr: 1, val: 'a' })).toEqual({ outcome: 'ok' })
      expect(await b.write({ ctr: 2, val: null })).toEqual({ outcome: 'ok' })
      expect(await a.write({ ctr: 3, val: 'a' })).toEqual({ outcome: 'ok' })
      const round = await b.readAll()
      expect(valueOf(round, 'a')).toEqual({ ctr: 3, val: 'a' })
      expect(valueOf(round, 'b')).toEqual({ ctr: 2, val: null })
      expect(round.outcome === 'ok' && round.blocks.size).toBe(2)
    })

    it('every kind of id has its own register, and groups are separate', async () => {
      const group = freshGroup()
      const ids: readonly NodeId[] = [1, '1', 'a/b', 'a b', 'ä.*>', '..', 'B', 'b']
      for (const id of ids) {
        // oxlint-disable-next-line no-await-in-loop -- one node after the other
        const node = await claimed(group, id)
        // oxlint-disable-next-line no-await-in-loop -- one node after the other
        expect(await node.write({ of: id })).toEqual({ outcome: 'ok' })
      }
      const round = await (await nodeIn(group, 'reader')).readAll()
      expect(ids.map((id) => valueOf(round, id))).toEqual(ids.map((id) => ({ of: id })))
      const elsewhere = await (await nodeIn(`${group}2`, 'reader')).readAll()
      expect(elsewhere.outcome === 'ok' && elsewhere.blocks.size).toBe(0)
    })

    it('is regular, compares, and refuses late writes, with two writers at once', async () => {
      const group = freshGroup()
      const [a, b] = [await rawIn(group), await rawIn(group)]
      const { findings } = await runExperiment(a, b, {
        rounds: 25,
        timeoutMs: TIMEOUT_MS,
        nowMs: () => performance.now(),
      })
      expect(findings.map(({ name, problem }) => [name, problem])).toEqual([
        ['regular', null],
        ['compare', null],
        ['late-write', null],
      ])
      expect(findings.every(({ trials }) => trials > 0)).toBe(true)
    })

    it('a process that starts under the id of a dead process takes over its register', async () => {
      const group = freshGroup()
      const first = await claimed(group, 'a')
      await first.write({ ctr: 7 })
      const second = await nodeIn(group, 'a')
      const claim = await second.claim()
      if (backend.locks === true) {
        // The first process is silent, but still holds the lock.
        expect(claim).toMatchObject({ outcome: 'failed', error: { name: 'IdInUseError' } })
        return
      }
      expect(claim).toMatchObject({ outcome: 'ok', own: { incarnation: 2, value: { ctr: 7 } } })
      // The first process was only slow. Its operations no longer count.
      expect(await first.write({ ctr: 8 })).toMatchObject({
        outcome: 'failed',
        error: { name: 'SupersededError' },
      })
      expect(valueOf(await second.readAll(), 'a')).toEqual({ ctr: 7 })
    })

    it('a former incarnation learns from a read that it was replaced', async () => {
      const group = freshGroup()
      const first = await claimed(group, 'a')
      await (await nodeIn(group, 'a')).claim()
      // If blocks are locked, the second process was kept out, and the first is still the only one.
      const expected =
        backend.locks === true ? { outcome: 'ok' } : { outcome: 'failed', error: { name: 'SupersededError' } }
      expect(await first.readAll()).toMatchObject(expected)
    })

    it('a write that lands after its writer restarted changes nothing', async () => {
      const group = freshGroup()
      const lab = holding(await backend.open(group))
      const node = openRegisters(lab.store, { self: 'a', timeoutMs: HELD_MS, probeMs: KNOCK_MS })
      opened.push(node)
      await node.claim()
      await node.write({ ctr: 1 })
      lab.hold = true
      expect(await node.write({ ctr: 2 })).toEqual({
        outcome: 'unknown',
        why: `no answer within ${HELD_MS} ms`,
      })
      expect(() => node.write({ ctr: 2 })).toThrow('claim the block')
      lab.hold = false
      const again = await node.claim()
      expect(again).toMatchObject({ outcome: 'ok', own: { incarnation: 2, value: { ctr: 1 } } })
      await lab.letGo()
      expect(valueOf(await node.readAll(), 'a')).toEqual({ ctr: 1 })
      expect(await node.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
    })

    it('a write that lands before its writer restarts is found', async () => {
      const group = freshGroup()
      const lab = holding(await backend.open(group))
      const node = openRegisters(lab.store, { self: 'a', timeoutMs: HELD_MS, probeMs: KNOCK_MS })
      opened.push(node)
      await node.claim()
      lab.hold = true
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      lab.hold = false
      await lab.letGo()
      expect(await node.claim()).toMatchObject({ outcome: 'ok', own: { incarnation: 2, value: { ctr: 2 } } })
    })

    it('of two processes with one id the second refuses to start', async () => {
      const group = freshGroup()
      const older = await claimed(group, 'a')
      const younger = await nodeIn(group, 'a', { probeMs: 5000 })
      let isOver = false
      const claim = younger.claim().finally(() => {
        isOver = true
      })
      while (!isOver) {
        // oxlint-disable-next-line no-await-in-loop -- the older one looks round as it always does
        expect(await older.readAll()).toMatchObject({ outcome: 'ok' })
        // oxlint-disable-next-line no-await-in-loop -- and lets others do something
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await claim).toMatchObject({ outcome: 'failed', error: { name: 'IdInUseError' } })
      expect(await older.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
    })

    it('a closed process releases its id, and the next need not wait', async () => {
      const group = freshGroup()
      const first = await claimed(group, 'a')
      await first.write({ ctr: 1 })
      await first.close()
      const second = await nodeIn(group, 'a', { probeMs: 3_600_000 })
      expect(await second.claim()).toMatchObject({ outcome: 'ok', own: { value: { ctr: 1 } } })
    })

    it('a node that leaves for good marks its block', async () => {
      const group = freshGroup()
      const [a, b] = [await claimed(group, 'a'), await claimed(group, 'b')]
      expect(await a.remove({ ctr: 9 })).toEqual({ outcome: 'ok' })
      const round = await b.readAll()
      expect(round.outcome === 'ok' && round.blocks.get('a')).toMatchObject({
        removed: true,
        value: { ctr: 9 },
      })
    })

    /** The block of `of`, as this node reads it now. */
    async function readBy(reader: Registers, of: NodeId): Promise<RegisterBlock> {
      const round = await reader.readAll()
      const block = round.outcome === 'ok' ? round.blocks.get(of) : undefined
      if (block === undefined) throw new Error(`${of} has no register: ${JSON.stringify(round)}`)
      return block
    }

    it('a tombstone never overwrites a write that was acknowledged after its block was read', async () => {
      const group = freshGroup()
      const [a, b] = [await claimed(group, 'a'), await claimed(group, 'b')]
      await a.write({ ctr: 1 })
      const old = await readBy(b, 'a')
      expect(await a.write({ ctr: 2 })).toEqual({ outcome: 'ok' })
      expect(await b.bury('a', { ctr: 2, gone: true }, old)).toMatchObject({ outcome: 'refused' })
      expect(valueOf(await b.readAll(), 'a')).toEqual({ ctr: 2 })
      expect(await a.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
      // The remover is unharmed and may try again with the value it reads now.
      expect(await b.write({ ctr: 9 })).toEqual({ outcome: 'ok' })
      if (backend.locks === true) await a.close()
      const seen = await readBy(b, 'a')
      expect(await b.bury('a', { ctr: 4, gone: true }, seen)).toEqual({ outcome: 'ok' })
      expect(valueOf(await b.readAll(), 'a')).toEqual({ ctr: 4, gone: true })
      if (backend.locks === true) return
      // The removed node was alive: its writes fail, and it learns why.
      expect(await a.write({ ctr: 5 })).toMatchObject({
        outcome: 'failed',
        error: { name: 'SupersededError' },
      })
      expect(valueOf(await b.readAll(), 'a')).toEqual({ ctr: 4, gone: true })
    })

    it('a removal that races with the writes of a live node overwrites no acknowledged write', async () => {
      const group = freshGroup()
      const [a, b] = [await claimed(group, 'a'), await claimed(group, 'b')]
      let acknowledged = 0
      let isBuried = false
      const writes = (async () => {
        for (let ctr = 1; !isBuried; ctr++) {
          // oxlint-disable-next-line no-await-in-loop -- one write after the other
          const written = await a.write({ ctr })
          if (written.outcome !== 'ok') return
          acknowledged = ctr
        }
      })()
      const seen = await readBy(b, 'a')
      const outcome = await b.bury('a', { from: (seen.value as { ctr: number } | null)?.ctr ?? 0 }, seen)
      const before = acknowledged
      isBuried = true
      await writes
      const value = valueOf(await b.readAll(), 'a')
      // Either the tombstone follows from the last write, or it changed nothing.
      if (outcome.outcome === 'ok') expect(value).toEqual({ from: acknowledged })
      else expect((value as { ctr: number }).ctr).toBeGreaterThanOrEqual(before)
      expect(await b.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
    })

    it('of two nodes that remove a third at the same time one writes, and neither is interrupted', async () => {
      const group = freshGroup()
      const [a, b, c] = [await claimed(group, 'a'), await claimed(group, 'b'), await claimed(group, 'c')]
      await a.write({ ctr: 1 })
      await a.close()
      for (const value of [{ ctr: 2, gone: true }, null]) {
        // oxlint-disable-next-line no-await-in-loop -- first the tombstone, then the end
        const seen = await Promise.all([readBy(b, 'a'), readBy(c, 'a')])
        // oxlint-disable-next-line no-await-in-loop -- first the tombstone, then the end
        const outcomes = await Promise.all([b.bury('a', value, seen[0]), c.bury('a', value, seen[1])])
        expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['ok', 'refused'])
      }
      expect((await readBy(b, 'a')).removed).toBe(true)
      expect(await b.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
      expect(await c.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
      const again = await nodeIn(group, 'a')
      expect(await again.claim()).toMatchObject({ outcome: 'failed', error: { name: 'NodeRemovedError' } })
    })

    it('a corrupt block stops elections, not processes; its owner does not start', async () => {
      const group = freshGroup()
      const b = await claimed(group, 'b')
      const raw = await backend.open(group)
      const good = encodeBlock({
        id: 'a',
        incarnation: 1,
        sequence: 1,
        holder: null,
        removed: false,
        value: 5,
      })
      const version = await raw.write(blockName('a'), good.replace('"value":5', '"value":6'), null, SIGNAL())
      expect(await b.readAll()).toMatchObject({
        outcome: 'unknown',
        why: expect.stringContaining('checksum'),
      })
      const a = await nodeIn(group, 'a')
      expect(await a.claim()).toMatchObject({ outcome: 'failed', error: { name: 'CorruptBlockError' } })
      await raw.write(blockName('a'), good, version, SIGNAL())
      await raw.close()
      expect(valueOf(await b.readAll(), 'a')).toBe(5)
    })

    it('a block of another format is refused', async () => {
      const group = freshGroup()
      const raw = await backend.open(group)
      await raw.write(blockName('a'), 'conclave-register 2 anything {}', null, SIGNAL())
      await raw.close()
      const error = { name: 'UnsupportedFormatError', message: expect.stringContaining('has the format 2') }
      const b = await nodeIn(group, 'b')
      expect(await b.claim()).toMatchObject({ outcome: 'failed', error })
    })

    it('a store that was rolled back is detected', async () => {
      const group = freshGroup()
      const older = encodeBlock({
        id: 'a',
        incarnation: 1,
        sequence: 3,
        holder: null,
        removed: false,
        value: 3,
      })
      const newer = encodeBlock({
        id: 'a',
        incarnation: 1,
        sequence: 4,
        holder: null,
        removed: false,
        value: 4,
      })
      const raw = await rawIn(group)
      const first = await raw.write(blockName('a'), newer, null, SIGNAL())
      const [b, c] = [await claimed(group, 'b'), await claimed(group, 'c')]
      expect(valueOf(await b.readAll(), 'a')).toBe(4)
      expect(valueOf(await c.readAll(), 'a')).toBe(4)
      const second = await raw.write(blockName('a'), older, first, SIGNAL())
      const error = {
        name: 'StoreRolledBackError',
        message: expect.stringContaining('write 3 was read after write 4'),
      }
      expect(await b.readAll()).toMatchObject({ outcome: 'failed', error })
      await raw.remove(blockName('a'), second ?? '', SIGNAL())
      expect(await c.readAll()).toMatchObject({
        outcome: 'failed',
        error: { name: 'StoreRolledBackError', message: expect.stringContaining('is gone') },
      })
    })
  })
}
