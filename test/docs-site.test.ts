/** The documents as a website: every link leads somewhere, and every embedded lesson exists. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ROOT } from './support/documents.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-site-'))
afterAll(() => rmSync(folder, { recursive: true }))
execFileSync(process.execPath, ['scripts/site.mjs', folder], { cwd: ROOT })

const pages = new Map(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.html') && !file.startsWith('playground'))
    .map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
)

const addresses = (text: string): readonly string[] =>
  [...text.matchAll(/(?:href|src|srcset)="([^"]+)"/g)]
    .map(([, address = '']) => address)
    .filter((address) => !/^https?:/.test(address))

it('has a page for every document, and starts with the README', () => {
  expect(pages.get('index.html')).toContain('<h1 id="conclave">Conclave</h1>')
  expect(pages.has('docs/index.html')).toBe(true)
  expect(pages.has('src/protocols/omega/index.html')).toBe(true)
})

it.each([...pages])('%s has only links that lead somewhere', (file, text) => {
  const dead = addresses(text).filter((address) => {
    const [path = '', anchor] = address.split('#')
    const target = path === '' ? file : normalize(join(dirname(file), path))
    if (!existsSync(join(folder, target))) return true
    return anchor !== undefined && pages.get(target)?.includes(`id="${anchor}"`) === false
  })
  expect(dead).toEqual([])
})

it('embeds lessons of the playground, each of them at least once', () => {
  const embedded = [...pages.values()].flatMap((text) =>
    [...text.matchAll(/<iframe src="[./]*playground\/index\.html#lesson=([^"]+)"/g)].map(([, name]) => name),
  )
  const guide = readFileSync(join(ROOT, 'docs/how-to/use-the-playground.md'), 'utf8')
  const lessons = [...guide.matchAll(/^\| `([\w-]+)` /gm)].map(([, name]) => name)
  expect(lessons.length).toBeGreaterThan(20)
  expect(new Set(embedded)).toEqual(new Set(lessons))
})
