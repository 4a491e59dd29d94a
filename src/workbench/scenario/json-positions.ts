/**
 * The positions of fields and of syntax errors in a JSON text, as line and column from 1.
 *
 * `JSON.parse` reads the value. This reader runs only for an error message: after `JSON.parse` has failed, or after the
 * value turned out to be wrong.
 */
import { pathText } from './problems.ts'

export type TextPosition = { readonly line: number; readonly column: number }

export type JsonSyntaxProblem = TextPosition & { readonly message: string }

/** The first syntax error; null for valid JSON. */
export function findSyntaxProblem(text: string): JsonSyntaxProblem | null {
  const { problem } = scan(text)
  return problem === null ? null : { ...positionAt(text, problem.offset), message: problem.message }
}

/**
 * Finds values by field, such as `events[1].crash`. For a field that is missing: the position of the nearest object or
 * list around it.
 */
export function fieldPositions(text: string): (field: string) => TextPosition {
  const { offsets } = scan(text)
  return (field) => {
    let known = field
    while (known !== '' && !offsets.has(known)) {
      known = known.slice(0, Math.max(0, known.lastIndexOf('.'), known.lastIndexOf('[')))
    }
    return positionAt(text, offsets.get(known) ?? 0)
  }
}

function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

type Scan = {
  /** By field: where its value starts. Of a field that occurs twice, the last counts, as for `JSON.parse`. */
  readonly offsets: ReadonlyMap<string, number>
  readonly problem: { readonly offset: number; readonly message: string } | null
}

function scan(text: string): Scan {
  const scanner = new Scanner(text)
  try {
    scanner.readDocument()
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    return { offsets: scanner.offsets, problem: { offset: error.offset, message: error.message } }
  }
  return { offsets: scanner.offsets, problem: null }
}

class SyntaxProblem extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

/** Deeper values are not searched, so that a hostile text cannot exhaust the stack. */
const DEEPEST = 500

const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /[a-zA-Z]+/y
const ESCAPE = /["\\/bfnrt]|u[\dA-Fa-f]{4}/y

/** Recursive descent over the grammar of RFC 8259. */
class Scanner {
  readonly offsets = new Map<string, number>()
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  readDocument(): void {
    if (this.#text.startsWith('\uFEFF')) this.#fail('starts with a byte order mark; save the file without it')
    this.#skipSpace()
    this.#readValue('', 0)
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#fail('unexpected text after the value')
  }

  #readValue(field: string, depth: number): void {
    if (depth > DEEPEST) this.#fail(`nested more than ${DEEPEST} levels deep`)
    this.offsets.set(field, this.#at)
    const first = this.#text[this.#at]
    if (first === '{') this.#readObject(field, depth)
    else if (first === '[') this.#readList(field, depth)
    else if (first === '"') this.#readString()
    else if (this.#match(NUMBER) === null) this.#readWord()
  }

  #readObject(field: string, depth: number): void {
    this.#at += 1
    this.#skipSpace()
    if (this.#take('}')) return
    do {
      this.#skipSpace()
      if (this.#text[this.#at] !== '"') this.#fail('expected a field name in double quotes')
      const name = this.#readString()
      this.#skipSpace()
      if (!this.#take(':')) this.#fail(`expected ":" after the field name "${name}"`)
      this.#skipSpace()
      this.#readValue(pathText(field, [name]), depth + 1)
      this.#skipSpace()
    } while (this.#take(','))
    if (!this.#take('}')) this.#fail('expected "," or "}"')
  }

  #readList(field: string, depth: number): void {
    this.#at += 1
    this.#skipSpace()
    if (this.#take(']')) return
    let index = 0
    do {
      this.#skipSpace()
      this.#readValue(pathText(field, [index]), depth + 1)
      this.#skipSpace()
      index += 1
    } while (this.#take(','))
    if (!this.#take(']')) this.#fail('expected "," or "]"')
  }

  #readString(): string {
    const start = this.#at
    this.#at += 1
    while (!this.#take('"')) {
      const next = this.#text.charCodeAt(this.#at)
      if (Number.isNaN(next)) this.#failAt(start, 'this string does not end')
      if (next < 0x20) this.#fail('a string must not contain a line break or control character; escape it')
      this.#at += 1
      if (next === 0x5c && this.#match(ESCAPE) === null) this.#failAt(this.#at - 1, 'unknown escape sequence')
    }
    return JSON.parse(this.#text.slice(start, this.#at)) as string
  }

  #readWord(): void {
    const start = this.#at
    const word = this.#match(WORD)
    if (word === 'true' || word === 'false' || word === 'null') return
    if (start === this.#text.length) this.#fail('expected a value, but the text ends here')
    this.#failAt(
      start,
      word === null ? 'expected a value' : `expected a value; "${word}" needs double quotes`,
    )
  }

  #skipSpace(): void {
    this.#match(SPACE)
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? null
    this.#at += found?.length ?? 0
    return found
  }

  #fail(message: string): never {
    return this.#failAt(this.#at, message)
  }

  #failAt(offset: number, message: string): never {
    throw new SyntaxProblem(offset, message)
  }
}
