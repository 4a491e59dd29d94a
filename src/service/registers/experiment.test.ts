/** Canaries: stores that are no registers, each in one way, and the experiment that must find it. */
import { describe, expect, it } from 'vitest'
import { type ExperimentFinding, runExperiment } from './experiment.ts'
import { type Memory, openMemory } from './memory.ts'
import type { Cell, CellStore } from './store.ts'

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Writes regardless of the current version. */
async function overwrite(store: CellStore, name: string, body: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until nobody else was faster
    const present = (await store.read(signal)).find((cell) => cell.name === name)
    // oxlint-disable-next-line no-await-in-loop -- until nobody else was faster
    const version = await store.write(name, body, present?.version ?? null, signal)
    if (version !== null) return version
  }
}

async function problems(
  broken: (store: CellStore) => CellStore,
): Promise<readonly ExperimentFinding['name'][]> {
  const memory: Memory = new Map()
  const open = (): CellStore => {
    const store = openMemory(memory, 'g')
    // A store takes its time, so that operations overlap.
    const slow: CellStore = {
      ...store,
      async read(signal) {
        await pause()
        return store.read(signal)
      },
      async write(...words) {
        await pause()
        return store.write(...words)
      },
    }
    return broken(slow)
  }
  const { findings } = await runExperiment(open(), open(), { rounds: 20, timeoutMs: 1000, nowMs: () => 0 })
  return findings.flatMap(({ name, problem }) => (problem === null ? [] : [name]))
}

describe('runExperiment', () => {
  it('accepts a register', async () => {
    expect(await problems((store) => store)).toEqual([])
  })

  it('detects stale reads', async () => {
    const stale = (store: CellStore): CellStore => {
      const seen: (readonly Cell[])[] = []
      return {
        ...store,
        async read(signal) {
          seen.push(await store.read(signal))
          return seen[Math.max(0, seen.length - 4)] ?? []
        },
      }
    }
    expect(await problems(stale)).toContain('regular')
  })

  it('detects the loss of an acknowledged write', async () => {
    let count = 0
    const losing = (store: CellStore): CellStore => ({
      ...store,
      async write(name, body, expected, signal) {
        count += 1
        return count === 7 ? expected : store.write(name, body, expected, signal)
      },
    })
    expect(await problems(losing)).toContain('regular')
  })

  it('detects a store without compare-and-swap', async () => {
    const careless = (store: CellStore): CellStore => ({
      ...store,
      write: (name, body, _, signal) => overwrite(store, name, body, signal),
    })
    expect(await problems(careless)).toContain('late-write')
  })

  it('detects a compare-and-swap that is not atomic', async () => {
    const racy = (store: CellStore): CellStore => ({
      ...store,
      async write(name, body, expected, signal) {
        const before = await store.read(signal)
        if ((before.find((cell) => cell.name === name)?.version ?? null) !== expected) return null
        return overwrite(store, name, body, signal)
      },
    })
    expect(await problems(racy)).toContain('compare')
  })

  it('detects torn values', async () => {
    const tearing = (store: CellStore): CellStore => ({
      ...store,
      async read(signal) {
        const cells = await store.read(signal)
        return cells.map((cell) => ({ ...cell, body: `${cell.body.slice(0, 100)}${'x'.repeat(5)}` }))
      },
    })
    expect(await problems(tearing)).toContain('regular')
  })

  it('removes its cells at the end', async () => {
    const memory: Memory = new Map()
    const open = (): CellStore => openMemory(memory, 'g')
    await runExperiment(open(), open(), { rounds: 3, timeoutMs: 1000, nowMs: () => 0 })
    expect(memory.get('g')?.size).toBe(0)
  })
})
