/**
 * Fencing for a file to which leaders append. No server can refuse a write, so the rule is in the file: each line carries
 * its token, and a line after a line with a greater token is void. O_APPEND gives all lines of a host one order, so all
 * readers agree. A writer reads back its line, and a void line throws `StaleTokenError`. A line whose token is too far
 * above the previous ones is void as well. There is no lock that a paused process could hold.
 */
import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { checkToken, ImplausibleTokenError, MAX_TOKEN_GAP, StaleTokenError } from './tokens.ts'

export { ImplausibleTokenError, StaleTokenError } from './tokens.ts'

export type FencedLine = { readonly token: number; readonly data: string }

export type FencedFile = {
  /** Durable when the promise resolves. */
  append(token: number, data: string): Promise<void>
  close(): Promise<void>
}

const CHUNK = 65_536

export async function openFenced(path: string): Promise<FencedFile> {
  const { O_APPEND, O_CREAT, O_RDWR, O_DSYNC } = constants
  const file = await open(path, O_APPEND | O_CREAT | O_RDWR | O_DSYNC, 0o660)
  const reader = createLineReader(file)
  let greatest = 0
  let last: Promise<unknown> = Promise.resolve()

  /** Reads to the end of the file, and reports whether the line with this mark is valid. */
  async function catchUp(mark: string | null): Promise<'valid' | 'void' | 'absent'> {
    let found: 'valid' | 'void' | 'absent' = 'absent'
    for await (const line of reader.next()) {
      const isValid = isValidAfter(line.token, greatest)
      if (line.mark === mark) found = isValid ? 'valid' : 'void'
      if (isValid) greatest = line.token
    }
    return found
  }

  async function append(token: number, data: string): Promise<void> {
    await catchUp(null)
    for (;;) {
      if (greatest > token) throw new StaleTokenError(path, token, greatest)
      if (!isValidAfter(token, greatest)) throw new ImplausibleTokenError(path, token, greatest)
      const mark = randomUUID().slice(0, 8)
      // Terminates a line that a crash cut short.
      const start = reader.isAtLineStart() ? '' : '\n'
      // oxlint-disable-next-line no-await-in-loop -- again only if the line was damaged
      await file.write(`${start}${encode(token, mark, data)}\n`)
      // oxlint-disable-next-line no-await-in-loop -- again only if the line was damaged
      const found = await catchUp(mark)
      if (found === 'valid') return
      if (found === 'void') throw new StaleTokenError(path, token, greatest)
    }
  }

  return {
    append(token, data) {
      checkToken(token)
      const pending = last.then(
        () => append(token, data),
        () => append(token, data),
      )
      last = pending
      return pending
    },
    async close() {
      await last.catch(() => {})
      await file.close()
    },
  }
}

/** The valid lines, in order. */
export async function* readFenced(path: string): AsyncGenerator<FencedLine> {
  const file = await open(path, 'r')
  try {
    let greatest = 0
    for await (const { token, data } of createLineReader(file).next()) {
      if (!isValidAfter(token, greatest)) continue
      greatest = token
      yield { token, data }
    }
  } finally {
    await file.close()
  }
}

/** Whether a line with this token is valid after lines whose greatest token is `greatest`. */
function isValidAfter(token: number, greatest: number): boolean {
  return token >= greatest && token - greatest <= MAX_TOKEN_GAP
}

/** `TOKEN MARK CHECKSUM "DATA"`, with the data as a JSON string. */
function encode(token: number, mark: string, data: string): string {
  const rest = JSON.stringify(data)
  return `${token} ${mark} ${digest(token, mark, rest)} ${rest}`
}

function digest(token: number, mark: string, rest: string): string {
  return createHash('sha256').update(`${token} ${mark} ${rest}`).digest('hex').slice(0, 8)
}

type Line = FencedLine & { readonly mark: string }

/** Null for an incomplete or damaged line. */
function decode(text: string): Line | null {
  const [number, mark = '', sum, ...rest] = text.split(' ')
  const token = Number(number)
  const json = rest.join(' ')
  if (digest(token, mark, json) !== sum) return null
  return { token, mark, data: JSON.parse(json) as string }
}

/** Reads complete lines, and continues where it stopped. */
function createLineReader(file: FileHandle): { next(): AsyncGenerator<Line>; isAtLineStart(): boolean } {
  let at = 0
  let rest = Buffer.alloc(0)
  return {
    isAtLineStart: () => rest.length === 0,
    async *next() {
      for (;;) {
        const chunk = Buffer.alloc(CHUNK)
        // oxlint-disable-next-line no-await-in-loop -- up to the end
        const { bytesRead } = await file.read(chunk, 0, CHUNK, at)
        if (bytesRead === 0) return
        at += bytesRead
        rest = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
        for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
          const line = decode(rest.subarray(0, end).toString())
          rest = rest.subarray(end + 1)
          if (line !== null) yield line
        }
      }
    },
  }
}
