import { describe, expect, it } from 'vitest'
import type { Plain } from '../../core/index.ts'
import { DividedStorage, LaterIncarnationError } from './divided-storage.ts'
import { memoryStorage, type Storage } from './storage.ts'

/** A storage that records what was written to it, and whether it was closed. */
function watched(first: Plain = null): Storage & { readonly saved: Plain[]; closed: number; full: boolean } {
  const kept = memoryStorage(first)
  const watch = {
    saved: [] as Plain[],
    closed: 0,
    full: false,
    load: () => kept.load(),
    save(data: Plain) {
      if (watch.full) throw new Error('full')
      kept.save(data)
      watch.saved.push(data)
    },
    close() {
      watch.closed += 1
    },
  }
  return watch
}

describe('divided storage', () => {
  it('starts above every stored incarnation, and above the wall clock', () => {
    const storage = new DividedStorage(() => 100)
    expect(storage.add('a', memoryStorage({ layer: 7, upper: { vote: 1 } }))).toEqual({ vote: 1 })
    expect(storage.load()).toEqual({ layer: 100, upper: {} })
    storage.add('b', memoryStorage({ layer: 300, upper: null }))
    expect(storage.load()).toEqual({ layer: 300, upper: {} })
  })

  it('writes the data of each group to its own folder, and only when it has changed', () => {
    const storage = new DividedStorage(() => 100)
    const [a, b] = [watched({ layer: 7, upper: { vote: 1 } }), watched()]
    const vote = storage.add('a', a)
    storage.save({ layer: 101, upper: {} })
    expect(a.saved).toEqual([{ layer: 101, upper: { vote: 1 } }])
    expect(storage.add('b', b)).toBe(null)
    expect(b.saved).toEqual([{ layer: 101, upper: null }])
    storage.save({ layer: 101, upper: { a: vote, b: { vote: 2 } } })
    expect([a.saved.length, b.saved.at(-1)]).toEqual([1, { layer: 101, upper: { vote: 2 } }])
    storage.remove('b')
    storage.save({ layer: 101, upper: { a: { vote: 3 }, b: { vote: 4 } } })
    expect([a.saved.at(-1), b.saved.length, b.closed]).toEqual([{ layer: 101, upper: { vote: 3 } }, 2, 1])
    storage.close()
    expect([a.closed, b.closed]).toEqual([1, 1])
  })

  it('refuses a group with a later incarnation than the current one, and closes its folder', () => {
    const storage = new DividedStorage(() => 100)
    storage.add('a', memoryStorage())
    storage.save({ layer: 101, upper: {} })
    const late = watched({ layer: 102, upper: null })
    expect(() => storage.add('b', late)).toThrow(LaterIncarnationError)
    expect([late.saved, late.closed]).toEqual([[], 1])
  })

  it('throws when a group cannot be written, and writes it when that is possible again', () => {
    const storage = new DividedStorage(() => 100)
    const [a, b] = [watched(), watched()]
    storage.add('a', a)
    storage.add('b', b)
    storage.save({ layer: 101, upper: {} })
    const next = { layer: 101, upper: { a: { vote: 1 }, b: { vote: 2 } } }
    b.full = true
    expect(() => storage.save(next)).toThrow('full')
    b.full = false
    storage.save(next)
    expect([a.load(), b.load()]).toEqual([
      { layer: 101, upper: { vote: 1 } },
      { layer: 101, upper: { vote: 2 } },
    ])
  })
})
