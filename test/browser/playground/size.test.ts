/** The size of the built playground. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'

const BUILT = fileURLToPath(new URL('../../../dist/playground/', import.meta.url))
const MOST_BYTES = 260_000

it('has at most 260 kB in all files together, compressed', () => {
  const files = readdirSync(BUILT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const sizes = files.map((file) => gzipSync(readFileSync(file), { level: 9 }).length)
  const size = sizes.reduce((sum, each) => sum + each, 0)
  expect(size).toBeGreaterThan(100_000)
  expect(size).toBeLessThanOrEqual(MOST_BYTES)
})

it('refers to nothing outside itself', () => {
  const page = readFileSync(join(BUILT, 'index.html'), 'utf8')
  const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1])
  expect(addresses.length).toBeGreaterThan(0)
  expect(addresses.filter((address) => !address?.startsWith('./'))).toEqual([])
})
