import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { saveTrace } from './trace-file.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'conclave-traces-')), 'traces')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 2, 3, 4, 5, 678) })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

const node = (group: string, id: string, ...pieces: readonly string[]) => ({
  group,
  id,
  async *trace() {
    yield* pieces
  },
})

describe('saveTrace', () => {
  it('writes all pieces, in order, to a file that only its owner can read', async () => {
    const file = await saveTrace(node('g', 'a', 'one\n', 'two\n'), folder)
    expect(basename(file)).toBe('trace-g-a-2030-01-02T03-04-05-678Z.ndjson')
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700])
    expect(readdirSync(folder)).toEqual([basename(file)])
  })

  it('stays in its folder, regardless of the names of group and node', async () => {
    const file = await saveTrace(node('../../etc', 'a/b c', 'x'), folder)
    expect(file).toBe(join(folder, 'trace-.._.._etc-a_b_c-2030-01-02T03-04-05-678Z.ndjson'))
  })

  it('keeps the ten newest of a node, and all of other nodes', async () => {
    for (let each = 0; each < 12; each++) {
      vi.setSystemTime(Date.UTC(2030, 0, 2, 3, 4, each))
      // oxlint-disable-next-line no-await-in-loop -- one file after the other
      await saveTrace(node('g', 'a', String(each)), folder)
    }
    await saveTrace(node('g', 'b', 'x'), folder)
    writeFileSync(join(folder, 'trace-g-a-notes.txt'), 'mine')
    vi.setSystemTime(Date.UTC(2030, 0, 2, 3, 4, 30))
    await saveTrace(node('g', 'a', 'last'), folder)
    const kept = readdirSync(folder).filter((name) => name.startsWith('trace-g-a-2030'))
    expect(kept.toSorted().map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(
      [3, 4, 5, 6, 7, 8, 9, 10, 11, 'last'].map(String),
    )
    expect(readdirSync(folder).filter((name) => !kept.includes(name))).toHaveLength(2)
  })

  it('leaves nothing behind when the black box cannot be read', async () => {
    const broken = {
      group: 'g',
      id: 'a',
      async *trace() {
        yield 'half'
        throw new Error('the worker is gone')
      },
    }
    await expect(saveTrace(broken, folder)).rejects.toThrow('the worker is gone')
    expect(readdirSync(folder)).toEqual([])
  })

  it('does not overwrite a file that is being written', async () => {
    const first = await saveTrace(node('g', 'a', 'first'), folder)
    writeFileSync(`${first}.new`, 'in progress')
    await expect(saveTrace(node('g', 'a', 'second'), folder)).rejects.toThrow('EEXIST')
    expect([readFileSync(first, 'utf8'), existsSync(`${first}.new`)]).toEqual(['first', true])
  })
})
