import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { comeback } from '../../../test/support/old-leader.ts'
import { type FencedLine, openFenced, readFenced } from './file.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-fenced-'))
  path = join(folder, 'ledger')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function linesIn(file: string): Promise<readonly FencedLine[]> {
  const lines: FencedLine[] = []
  for await (const line of readFenced(file)) lines.push(line)
  return lines
}

describe('fencing for a file', () => {
  it('refuses a leader that was paused', async () => {
    const { code, said } = await comeback('file', path, 5, async () => {
      const file = await openFenced(path)
      await file.append(6, 'by 6')
      await file.close()
    })
    expect({ code, said: JSON.parse(said) as unknown }).toEqual({
      code: 5,
      said: { refused: 'StaleTokenError', current: 6 },
    })
    const lines = await linesIn(path)
    expect(lines.at(-1)).toEqual({ token: 6, data: 'by 6' })
    expect(lines.slice(0, 3)).toEqual([1, 2, 3].map(() => ({ token: 5, data: 'by 5' })))
  })

  it('refuses an implausible token, and ignores a line with one', async () => {
    const file = await openFenced(path)
    await expect(file.append(Number.MAX_SAFE_INTEGER, 'x')).rejects.toMatchObject({
      name: 'ImplausibleTokenError',
      current: 0,
    })
    await file.append(1, 'a')
    // As an older version of this program would have written it.
    const token = Number.MAX_SAFE_INTEGER
    const sum = createHash('sha256').update(`${token} m "x"`).digest('hex').slice(0, 8)
    appendFileSync(path, `${token} m ${sum} "x"\n`)
    await file.append(2, 'b')
    await file.close()
    expect((await linesIn(path)).map(({ data }) => data)).toEqual(['a', 'b'])
  })

  it('voids a line after a newer leader’s line, and its writer gets an error', async () => {
    const [old, young] = [await openFenced(path), await openFenced(path)]
    await old.append(1, 'a\nb')
    await young.append(2, 'c')
    await expect(old.append(1, 'late')).rejects.toMatchObject({ name: 'StaleTokenError', current: 2 })
    await old.close()
    await young.close()
    // As if the old one had been stopped between looking and writing.
    const [first = '', second = ''] = readFileSync(path, 'utf8').split('\n')
    appendFileSync(path, `${first}\n`)
    expect(await linesIn(path)).toEqual([
      { token: 1, data: 'a\nb' },
      { token: 2, data: 'c' },
    ])
    expect(second).toMatch(/^2 [0-9a-f]{8} [0-9a-f]{8} "c"$/)
  })

  it('keeps all lines of concurrent writers with one token, in the order of each writer', async () => {
    const files = await Promise.all([1, 2, 3].map(() => openFenced(path)))
    await Promise.all(
      files.flatMap((file, writer) =>
        Array.from({ length: 30 }, (_, at) => file.append(1, `${writer} ${at}`)),
      ),
    )
    await Promise.all(files.map((file) => file.close()))
    const lines = await linesIn(path)
    expect(lines).toHaveLength(90)
    for (const writer of ['0', '1', '2']) {
      const own = lines
        .filter(({ data }) => data.startsWith(writer))
        .map(({ data }) => Number(data.split(' ')[1]))
      expect(own).toEqual(Array.from({ length: 30 }, (_, at) => at))
    }
  })

  it('skips a line that a crash cut short, and keeps the next one intact', async () => {
    writeFileSync(path, '3 abcd')
    const file = await openFenced(path)
    await file.append(1, 'after')
    await file.append(1, 'x'.repeat(200_000))
    await file.close()
    const lines = await linesIn(path)
    expect(lines.map(({ token, data }) => [token, data.length])).toEqual([
      [1, 5],
      [1, 200_000],
    ])
  })
})
