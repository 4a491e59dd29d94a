/** The house rules that tools enforce: that the tools would notice. */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'conclave-house-'))
afterAll(() => rmSync(folder, { recursive: true }))
copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))

function lint(path: string, source: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, source)
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/oxlint'), [path], {
    cwd: folder,
    encoding: 'utf8',
  })
  rmSync(file)
  return stdout
}

describe('the lint table', () => {
  it.each([
    ['src/core/x.ts', "export * from '../workbench/sim/index.ts'", 'core may not import'],
    ['src/workbench/specs/x.ts', "export * from '../../protocols/bully/index.ts'", 'specs may not import'],
    ['src/protocols/bully/x.ts', "export * from '../../workbench/sim/index.ts'", 'protocols may not import'],
    ['src/workbench/sim/x.ts', "export * from '../explore/index.ts'", 'sim may not import'],
    [
      'src/workbench/trace/x.ts',
      "import { readFileSync } from 'node:fs'\nexport { readFileSync }",
      'trace is a pure room',
    ],
    ['src/links/x.ts', 'export const now = Date.now()', 'Date'],
    ['src/protocols/x.ts', 'export const chance = Math.random()', 'random'],
  ])('refuses in %s: %s', (path, source, message) => {
    expect(lint(path, `${source}\n`)).toContain(message)
  })

  it('lets through what goes downwards', () => {
    expect(lint('src/workbench/sim/x.ts', "export type { NodeId } from '../../core/index.ts'\n")).toContain(
      'Found 0 warnings and 0 errors',
    )
  })
})

it('the table in the lint configuration is the one that the script writes', () => {
  const before = readFileSync(join(root, '.oxlintrc.json'), 'utf8')
  mkdirSync(join(folder, 'scripts'), { recursive: true })
  copyFileSync(join(root, 'scripts/lint-rooms.mjs'), join(folder, 'scripts/lint-rooms.mjs'))
  spawnSync(process.execPath, [join(folder, 'scripts/lint-rooms.mjs')])
  const after = readFileSync(join(folder, '.oxlintrc.json'), 'utf8')
  expect(JSON.parse(after)).toEqual(JSON.parse(before))
})

it('the lock file names no download address', () => {
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
})
