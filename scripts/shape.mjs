/**
 * Checks the size of files and functions.
 *
 *   npm run shape                 this repository
 *   npm run shape -- FOLDER       another tree with src/ and test/
 *   npm run shape -- --sizes      without the ratio of tests to code
 *
 * The live page in web/ has the same limits for its functions, and at most 300 lines per file. It does not count for the
 * ratio: browsers test its components.
 *
 * Files, for the code in src/ (without *.test.ts): the median has at most 100 lines, the 95th percentile at most 300,
 * and no file more than 450.
 *
 * Functions, in src/ and test/:
 * - A body has at most 80 lines, counted between its braces. A closure that only defines others is excepted: more than
 *   half of its lines lie in nested functions or methods, and outside of them it has no loop. Each nested function is
 *   checked on its own. So a factory that returns an object of methods passes, and an algorithm with local helpers
 *   fails. Callbacks of `describe` only group tests and are not checked.
 * - At most 6 positional parameters; this holds for function types, too. An exception needs a comment beside the
 *   function, which names the benchmark that justifies it: // shape: npm run bench -- explore: REASON
 *
 * Tests: the lines of *.test.ts and of test/ are at least 0.8 of the lines of the code in src/.
 *
 * Prints the figures, then one line per problem. Exit code 1 if there are problems.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

const MEDIAN = 100
const P95 = 300
const LONGEST_FILE = 450
const LONGEST_PAGE_FILE = 300
const LONGEST_BODY = 80
const MOST_PARAMETERS = 6
const NESTED_SHARE = 0.5
const TEST_RATIO = 0.8

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const FUNCTION_TYPES = new Set([
  'TSDeclareFunction',
  'TSEmptyBodyFunctionExpression',
  'TSFunctionType',
  'TSConstructorType',
  'TSMethodSignature',
  'TSCallSignatureDeclaration',
])
const LOOPS = new Set([
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'WhileStatement',
  'DoWhileStatement',
])
const EXCEPTION = /\/\/ shape: .*\bnpm run bench\b.*\S/

function sourceFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(?:tsx?|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}

/** The lines of a text; an end of line at its end begins no further line. */
function countLines(text) {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
}

/** The least of the values that is not exceeded by this share of them (nearest rank). */
function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

class SourceFile {
  constructor(path, text) {
    this.path = path
    this.text = text
    this.lines = countLines(text)
    this.isTest = path.startsWith('test/') || path.endsWith('.test.ts')
    this.breaks = [...text.matchAll(/\n/g)].map(({ index }) => index)
  }

  /** The line of an offset, from 1. */
  lineAt(offset) {
    let low = 0
    let high = this.breaks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.breaks[middle] < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }

  problems() {
    const program = parseAst(this.text, { lang: /\.(tsx?)$/.exec(this.path)?.[1] ?? 'js' })
    const found = []
    this.#visit(program, [], (node, parents) => found.push(...this.#functionProblems(node, parents)))
    return found
  }

  #visit(node, parents, inspect) {
    if (FUNCTIONS.has(node.type) || FUNCTION_TYPES.has(node.type)) inspect(node, parents)
    for (const child of childrenOf(node)) this.#visit(child, [...parents, node], inspect)
  }

  #functionProblems(node, parents) {
    const line = this.lineAt(node.start)
    const place = `${this.path}:${line}: ${nameOf(node, parents)}`
    const problems = []
    const { length } = parametersOf(node)
    if (length > MOST_PARAMETERS && !this.#hasException(node, parents))
      problems.push(`${place}: ${length} positional parameters (at most ${MOST_PARAMETERS})`)
    if (!FUNCTIONS.has(node.type) || isGroupOfTests(node, parents)) return problems
    const { body } = node
    const lines = this.#bodyLines(body)
    if (lines > LONGEST_BODY && !this.#onlyDefines(body, lines))
      problems.push(`${place}: the body has ${lines} lines (at most ${LONGEST_BODY})`)
    return problems
  }

  #bodyLines({ type, start, end }) {
    const lines = this.lineAt(end) - this.lineAt(start) + 1
    return type === 'BlockStatement' ? Math.max(0, lines - 2) : lines
  }

  #onlyDefines(body, lines) {
    const { nested, loops } = this.#contentsOf(body)
    return loops === 0 && nested > NESTED_SHARE * lines
  }

  /** The lines of the outermost functions inside a node, and the number of loops outside of them. */
  #contentsOf(node) {
    const sum = { nested: 0, loops: LOOPS.has(node.type) ? 1 : 0 }
    for (const child of childrenOf(node)) {
      if (FUNCTIONS.has(child.type)) sum.nested += this.lineAt(child.end) - this.lineAt(child.start) + 1
      else {
        const { nested, loops } = this.#contentsOf(child)
        sum.nested += nested
        sum.loops += loops
      }
    }
    return sum
  }

  /** Whether a comment directly above the function, or on its first lines, gives the reason. */
  #hasException(node, parents) {
    const lines = this.text.split('\n')
    const declaration = declarationOf(node, parents)
    let first = this.lineAt(declaration.start) - 1
    while (first > 0 && /^\s*(?:\/\/|\/?\*)/.test(lines[first - 1])) first -= 1
    const last = this.lineAt((node.body ?? node).start)
    return lines.slice(first, last).some((line) => EXCEPTION.test(line))
  }
}

function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => value !== null && typeof value === 'object' && typeof value.type === 'string')
}

function parametersOf({ params }) {
  return params.filter(({ type, name }) => !(type === 'Identifier' && name === 'this'))
}

/** The method, variable or export statement that a function belongs to: comments stand above it. */
function declarationOf(node, parents) {
  const around = parents.toReversed()
  const other = around.findIndex(
    ({ type }) =>
      !/^(?:MethodDefinition|Property|PropertyDefinition|VariableDeclarat(?:or|ion)|Export\w+)$/.test(type),
  )
  return around[other - 1] ?? node
}

function nameOf(node, parents) {
  const parent = parents.at(-1)
  const named = node.id ?? node.key ?? parent?.key ?? (parent?.type === 'VariableDeclarator' && parent.id)
  if (named?.type === 'PrivateIdentifier') return `#${named.name}`
  return named?.name ?? 'a function'
}

function isGroupOfTests(node, parents) {
  const parent = parents.at(-1)
  if (parent?.type !== 'CallExpression' || parent.callee === node) return false
  let { callee } = parent
  while (callee.type === 'MemberExpression' || callee.type === 'CallExpression')
    callee = callee.object ?? callee.callee
  return callee.name === 'describe'
}

function fileProblems({ median, p95 }, code) {
  return [
    ...(median > MEDIAN ? [`src: the median file has ${median} lines (at most ${MEDIAN})`] : []),
    ...(p95 > P95 ? [`src: the 95th percentile is ${p95} lines (at most ${P95})`] : []),
    ...tooLong(code, LONGEST_FILE),
  ]
}

function tooLong(files, most) {
  return files
    .filter(({ lines }) => lines > most)
    .map(({ path, lines }) => `${path}: ${lines} lines (at most ${most})`)
}

function ratioProblems({ codeLines, testLines, ratio }) {
  if (ratio >= TEST_RATIO) return []
  const missing = Math.ceil(TEST_RATIO * codeLines) - testLines
  return [`test/code is ${ratio.toFixed(3)} (at least ${TEST_RATIO}): ${missing} lines of tests are missing`]
}

/** The figures of a tree, and its problems: with sizes, and with the ratio of tests to code. */
export function shapeOf(root) {
  const read = (folder) =>
    sourceFiles(join(root, folder)).map(
      (file) => new SourceFile(relative(root, file), readFileSync(file, 'utf8')),
    )
  const files = ['src', 'test'].flatMap(read)
  const page = existsSync(join(root, 'web')) ? read('web') : []
  const code = files.filter(({ isTest }) => !isTest)
  const lengths = code.map(({ lines }) => lines)
  const sum = (some) => some.reduce((total, { lines }) => total + lines, 0)
  const codeLines = sum(code)
  const testLines = sum(files) - codeLines
  const figures = {
    files: code.length,
    median: quantile(lengths, 0.5),
    p95: quantile(lengths, 0.95),
    longest: Math.max(0, ...lengths),
    codeLines,
    testLines,
    ratio: testLines / codeLines,
  }
  const sizes = [
    ...fileProblems(figures, code),
    ...tooLong(page, LONGEST_PAGE_FILE),
    ...[...files, ...page].flatMap((file) => file.problems()),
  ]
  return { figures, sizes, ratio: ratioProblems(figures) }
}

function printShape(words) {
  const root = words.find((word) => !word.startsWith('--')) ?? fileURLToPath(new URL('..', import.meta.url))
  const { figures, sizes, ratio } = shapeOf(root)
  const { files, median, p95, longest, codeLines, testLines } = figures
  console.log(
    `files      ${files} in src: median ${median}, 95th percentile ${p95}, longest ${longest} lines`,
  )
  console.log(
    `test/code  ${testLines} / ${codeLines} lines = ${figures.ratio.toFixed(3)} (at least ${TEST_RATIO})`,
  )
  const problems = words.includes('--sizes') ? sizes : [...sizes, ...ratio]
  for (const problem of problems) console.log(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printShape(process.argv.slice(2))
