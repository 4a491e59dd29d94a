/** scripts/shape.mjs: each rule fails a small tree that breaks it, and passes a tree at the limit. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../scripts/shape.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'conclave-shape-'))
afterAll(() => rmSync(folder, { recursive: true }))

let trees = 0

type Tree = { readonly [path: string]: string }
type Shape = { readonly sizes: readonly string[]; readonly ratio: readonly string[] }

const { shapeOf } = (await import(script)) as { shapeOf(root: string): Shape }

function plant(files: Tree): string {
  trees += 1
  const tree = join(folder, String(trees))
  for (const [path, text] of Object.entries({ 'src/empty.ts': '', 'test/empty.ts': '', ...files })) {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), text)
  }
  return tree
}

/** The problems with sizes in a tree with these files. */
const sizes = (files: Tree): readonly string[] => shapeOf(plant(files)).sizes

const lines = (count: number, line = 'step()'): string => `${line}\n`.repeat(count)
/** A number of files with a number of lines each. */
const many = (count: number, length: number): Tree =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`src/${length}-${index}.ts`, lines(length)]),
  )

describe('files in src', () => {
  it('have at most 100 lines at the median', () => {
    expect(sizes(many(4, 100))).toEqual([])
    expect(sizes(many(4, 101))).toEqual(['src: the median file has 101 lines (at most 100)'])
  })

  it('have at most 300 lines at the 95th percentile', () => {
    expect(sizes({ ...many(18, 5), ...many(1, 301) })).toEqual([])
    expect(sizes({ ...many(17, 5), ...many(2, 301) })).toEqual([
      'src: the 95th percentile is 301 lines (at most 300)',
    ])
  })

  it('never have more than 450 lines; tests may', () => {
    expect(sizes({ ...many(30, 5), 'src/a.test.ts': lines(451), ...many(1, 450) })).toEqual([])
    expect(sizes({ ...many(30, 5), ...many(1, 451) })).toEqual(['src/451-0.ts: 451 lines (at most 450)'])
  })
})

describe('a function body', () => {
  const inFile = (source: string) => sizes({ ...many(5, 5), 'src/x.ts': source })

  it('has at most 80 lines', () => {
    expect(inFile(`export function run() {\n${lines(80)}}\n`)).toEqual([])
    expect(inFile(`export function run() {\n${lines(81)}}\n`)).toEqual([
      'src/x.ts:1: run: the body has 81 lines (at most 80)',
    ])
  })

  it.each([
    ['a method', `class A {\n  #run() {\n${lines(81)}  }\n}\n`, 'src/x.ts:2: #run'],
    ['an arrow function', `const run = () => {\n${lines(81)}}\n`, 'src/x.ts:1: run'],
    ['an arrow function of one expression', `const run = () => [\n${lines(81, '1,')}]\n`, 'src/x.ts:1: run'],
    ['a nested function', `function outer() {\n  function run() {\n${lines(81)}  }\n}\n`, 'src/x.ts:2: run'],
    ['a callback in a test', `it('works', () => {\n${lines(81)}})\n`, 'src/x.ts:1: a function'],
  ])('counts in %s', (_what, source, place) => {
    expect(inFile(source)).toEqual([expect.stringContaining(`${place}: the body has 8`)])
  })

  const methods = (count: number): string => `    run() {\n${lines(count)}    },\n`

  it('may be longer in a closure that only defines others', () => {
    expect(inFile(`function create() {\n  return {\n${methods(70)}${methods(70)}  }\n}\n`)).toEqual([])
    expect(inFile(`describe('x', () => {\n${lines(100)}})\n`)).toEqual([])
  })

  it('may not be longer if the function has a loop of its own, or is mostly its own statements', () => {
    const helper = `  function help() {\n${lines(70)}  }\n`
    for (const [own, length] of [
      [`  while (help()) step()\n${lines(20)}`, 93],
      [lines(75), 147],
    ] as const) {
      expect(inFile(`function run() {\n${helper}${own}}\n`)).toEqual([
        `src/x.ts:1: run: the body has ${length} lines (at most 80)`,
      ])
    }
  })
})

describe('positional parameters', () => {
  const inFile = (source: string) => sizes({ 'src/x.ts': source })
  const SEVEN = 'a: A, b: A, c: A, d: A, e: A, f: A, g: A'

  it('are at most 6', () => {
    expect(inFile('function run(a: A, b: A, c: A, d: A, e: A, f: A) {}\n')).toEqual([])
    expect(inFile('function run(this: A, a: A, b: A, c: A, d: A, e: A, f: A) {}\n')).toEqual([])
    expect(inFile(`function run(${SEVEN}) {}\n`)).toEqual([
      'src/x.ts:1: run: 7 positional parameters (at most 6)',
    ])
  })

  it.each([
    ['a method', `class A {\n  run(${SEVEN}) {}\n}\n`],
    ['an arrow function', `const run = (${SEVEN}) => a\n`],
    ['a function type', `type Run = (${SEVEN}) => void\n`],
    ['a method of a type', `type A = { run(${SEVEN}): void }\n`],
    ['an overload', `declare function run(${SEVEN}): void\n`],
  ])('are counted in %s', (_what, source) => {
    expect(inFile(source)).toEqual([expect.stringContaining('7 positional parameters')])
  })

  it('are counted in tests', () => {
    expect(sizes({ 'test/x.ts': `function run(${SEVEN}) {}\n` })).toHaveLength(1)
  })

  it('may be more with a reason that names a benchmark', () => {
    const reason = '// shape: npm run bench -- explore: fields are 8 % slower\n'
    expect(inFile(`${reason}export function run(${SEVEN}) {}\n`)).toEqual([])
    expect(inFile(`class A {\n  ${reason}  run(${SEVEN}) {}\n}\n`)).toEqual([])
    expect(inFile(`// shape: it is faster\nfunction run(${SEVEN}) {}\n`)).toHaveLength(1)
    expect(inFile(`${reason}\nconst other = 1\nfunction run(${SEVEN}) {}\n`)).toHaveLength(1)
  })
})

describe('tests', () => {
  const code = { 'src/x.ts': lines(50), 'src/x.test.ts': lines(30) }

  it('have at least 0.8 lines for each line of code', () => {
    expect(shapeOf(plant({ ...code, 'test/y.ts': lines(10) })).ratio).toEqual([])
    expect(shapeOf(plant({ ...code, 'test/y.ts': lines(9) })).ratio).toEqual([
      'test/code is 0.780 (at least 0.8): 1 lines of tests are missing',
    ])
  })
})

it('prints the figures and the problems, and fails if there are any', () => {
  const tree = plant({ 'src/x.ts': lines(50), 'test/y.ts': lines(20) })
  const run = (...flags: readonly string[]) => {
    const { status, stdout } = spawnSync(process.execPath, [script, tree, ...flags], { encoding: 'utf8' })
    return { status, stdout }
  }
  const figures =
    'files      2 in src: median 0, 95th percentile 50, longest 50 lines\n' +
    'test/code  20 / 50 lines = 0.400 (at least 0.8)\n'
  const problem = 'test/code is 0.400 (at least 0.8): 20 lines of tests are missing\n'
  expect(run()).toEqual({ status: 1, stdout: `${figures}${problem}` })
  expect(run('--sizes')).toEqual({ status: 0, stdout: figures })
})
