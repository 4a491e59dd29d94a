/** The house rules that tools enforce: the tools must detect violations. */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
    [
      'web/playground/src/view/x.ts',
      "export { NOTHING } from '../../../../src/core/index.ts'",
      'may import types only from there',
    ],
    [
      'web/playground/src/engine/x.ts',
      "export * from '../../../../src/service/runtime/index.ts'",
      'may import from pure rooms only',
    ],
  ])('refuses in %s: %s', (path, source, message) => {
    expect(lint(path, `${source}\n`)).toContain(message)
  })

  it('accepts imports that go down', () => {
    expect(lint('src/workbench/sim/x.ts', "export type { NodeId } from '../../core/index.ts'\n")).toContain(
      'Found 0 warnings and 0 errors',
    )
  })

  it('accepts types of pure rooms in the page of the playground, and all of them in its engine', () => {
    const type = "export type { NodeId } from '../../../../src/core/index.ts'\n"
    expect(lint('web/playground/src/view/x.ts', type)).toContain('Found 0 warnings and 0 errors')
    const value = "export { NOTHING } from '../../../../src/core/index.ts'\n"
    expect(lint('web/playground/src/engine/x.ts', value)).toContain('Found 0 warnings and 0 errors')
  })
})

it('keeps the lint configuration in step with the table in the script', () => {
  const before = readFileSync(join(root, '.oxlintrc.json'), 'utf8')
  mkdirSync(join(folder, 'scripts'), { recursive: true })
  copyFileSync(join(root, 'scripts/lint-rooms.mjs'), join(folder, 'scripts/lint-rooms.mjs'))
  spawnSync(process.execPath, [join(folder, 'scripts/lint-rooms.mjs')])
  const after = readFileSync(join(folder, '.oxlintrc.json'), 'utf8')
  expect(JSON.parse(after)).toEqual(JSON.parse(before))
})

describe('the language check', () => {
  function check(name: string, text: string): { readonly status: number | null; readonly stdout: string } {
    const file = join(folder, name)
    writeFileSync(file, text)
    const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts/language.mjs'), file], {
      encoding: 'utf8',
    })
    rmSync(file)
    return { status, stdout: stdout.replaceAll(`${folder}/`, '') }
  }

  it.each([
    // language-ignore -- the words that the check must find
    ['a.ts', '// The first line.\n// Whoever leads may write.', 'a.ts:2: "Whoever"'],
    // language-ignore -- the words that the check must find
    ['a.ts', '/** Some text about so\n * many nodes. */', 'a.ts:2: "so many"'],
    // language-ignore -- the words that the check must find
    ['a.ts', "throw new Error('nobody leads')", 'a.ts:1: "\'nobody"'],
    // language-ignore -- the words that the check must find
    ['a.ts', 'const firstErrand = 1', 'a.ts:1: "Errand"'],
    // language-ignore -- the words that the check must find
    ['a.ts', 'export function toldBy(): void {}', 'a.ts:1: "toldBy"'],
    // language-ignore -- the words that the check must find
    ['a.ts', 'export class Box {\n  readonly #letters: number\n}', 'a.ts:2: "letters"'],
    // language-ignore -- the words that the check must find
    ['a.md', 'Some text.\n\nA reign is a term, one that ends.', 'a.md:3: "reign"'],
    // language-ignore -- the words that the check must find
    ['a.md', 'It writes a\nline a node.', 'a.md:2: "a line a node"'],
  ])('finds in %s: %s', (name, text, finding) => {
    const { status, stdout } = check(name, text)
    expect(stdout).toContain(finding)
    expect(status).toBe(1)
  })

  it.each([
    // language-ignore -- a quotation of a paper
    ['a.md', '> Whoever holds the lock is told so.\n'],
    ['a.ts', '// A node that leads may write.\nconst turn = 1\n'],
    ['a.ts', '// It returns to the loop, and asks who leads.\n'],
    ['a.ts', 'const hasBegun = true\nconst options = { yieldWhenTold: true }\n'],
    // language-ignore -- an exception with a reason
    ['a.ts', '// language-ignore -- a name of the paper\nconst reign = 1\n'],
  ])('accepts in %s: %s', (name, text) => {
    expect(check(name, text)).toEqual({ status: 0, stdout: 'no findings\n' })
  })

  it('demands a reason for an exception', () => {
    // language-ignore -- an exception without a reason
    expect(check('a.ts', '// language-ignore\nconst reign = 1\n').status).toBe(1)
  })
})

it('the lock file names no download address', () => {
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
})

describe('a protocol is one folder', () => {
  /** Names of protocols that real processes run, and of the identifiers made from them. */
  const NAMES =
    /\b(?:local-leader|omega|epochs)\b|'recovery'|\b(?:localLeader|LocalLeader|omega[A-Z]|epochs[A-Z]|Epochs[A-Z])/
  /** Names of specifications, which reports print, and the notes on a paper. */
  const QUOTED = /'omega-(?:views|lives)'|papers\/omega\.md/g
  /** Jobs are a service of their own on top of one protocol. */
  const JOBS = 'service/recovery/cluster/options.ts'

  it('is named nowhere in src/ outside src/protocols', () => {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .filter((file) => !file.startsWith('protocols/') && file !== JOBS)
    expect(files.length).toBeGreaterThan(300)
    const found = files.flatMap((file) =>
      readFileSync(join(root, 'src', file), 'utf8')
        .split('\n')
        .map((line, index) => ({ place: `${file}:${index + 1}`, line: line.replaceAll(QUOTED, '') }))
        .filter(({ line }) => NAMES.test(line))
        .map(({ place, line }) => `${place}: ${line.trim()}`),
    )
    expect(found).toEqual([])
  })

  it('would be noticed if it were', () => {
    for (const line of [
      "protocol === 'omega'",
      "protocol: 'recovery'",
      'localLeaderDefinition',
      'under epochs',
    ])
      expect(line).toMatch(NAMES)
    for (const line of ['every epoch', 'Invariant I3 of Omega+']) expect(line).not.toMatch(NAMES)
  })
})
