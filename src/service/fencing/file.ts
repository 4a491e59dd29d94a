/**
 * Fencing for a file to which leaders append. There is no server that could refuse, so the rule is in the file: each
 * line has the token under which it was written, and a line after one with a greater token is void. The system puts
 * the lines of all processes of a host in one order (O_APPEND), so all who read agree which count. A writer looks after
 * it has written; a void line throws `StaleTokenError`. A line whose token is too far above those before it is void as well. No lock that a paused process could hold.
 */
import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { checkToken, ImplausibleTokenError, MOST_AHEAD, StaleTokenError } from './tokens.ts'

export { ImplausibleTokenError, StaleTokenError } from './tokens.ts'

export type FencedLine = { readonly token: number; readonly data: string }

export type FencedFile = {
  /** On the disk when the promise resolves. */
  append(token: number, data: string): Promise<void>
  close(): Promise<void>
}

const CHUNK = 65_536

export async function openFenced(path: string): Promise<FencedFile> {
  const { O_APPEND, O_CREAT, O_RDWR, O_DSYNC } = constants
  const file = await open(path, O_APPEND | O_CREAT | O_RDWR | O_DSYNC, 0o660)
  const reader = linesOf(file)
  let greatest = 0
  let last: Promise<unknown> = Promise.resolve()

  /** Reads on to the end; whether the line with that mark is among those that count. */
  async function catchUp(mark: string | null): Promise<'counts' | 'void' | 'absent'> {
    let found: 'counts' | 'void' | 'absent' = 'absent'
    for await (const line of reader.next()) {
      const isCounted = counts(line.token, greatest)
      if (line.mark === mark) found = isCounted ? 'counts' : 'void'
      if (isCounted) greatest = line.token
    }
    return found
  }

  async function append(token: number, data: string): Promise<void> {
    await catchUp(null)
    for (;;) {
      if (greatest > token) throw new StaleTokenError(path, token, greatest)
      if (!counts(token, greatest)) throw new ImplausibleTokenError(path, token, greatest)
      const mark = randomUUID().slice(0, 8)
      // What a crash cut short ends here, too.
      const start = reader.isAtLineStart() ? '' : '\n'
      // oxlint-disable-next-line no-await-in-loop -- again only where the line was spoilt
      await file.write(`${start}${encode(token, mark, data)}\n`)
      // oxlint-disable-next-line no-await-in-loop -- again only where the line was spoilt
      const found = await catchUp(mark)
      if (found === 'counts') return
      if (found === 'void') throw new StaleTokenError(path, token, greatest)
    }
  }

  return {
    append(token, data) {
      checkToken(token)
      const mine = last.then(
        () => append(token, data),
        () => append(token, data),
      )
      last = mine
      return mine
    },
    async close() {
      await last.catch(() => {})
      await file.close()
    },
  }
}

/** The lines that count, in order. */
export async function* readFenced(path: string): AsyncGenerator<FencedLine> {
  const file = await open(path, 'r')
  try {
    let greatest = 0
    for await (const { token, data } of linesOf(file).next()) {
      if (!counts(token, greatest)) continue
      greatest = token
      yield { token, data }
    }
  } finally {
    await file.close()
  }
}

/** Whether a line with this token counts after lines of which the greatest token is that. */
function counts(token: number, greatest: number): boolean {
  return token >= greatest && token - greatest <= MOST_AHEAD
}

/** `TOKEN MARK CHECKSUM "DATA"`, the data as a JSON text. */
function encode(token: number, mark: string, data: string): string {
  const rest = JSON.stringify(data)
  return `${token} ${mark} ${digest(token, mark, rest)} ${rest}`
}

function digest(token: number, mark: string, rest: string): string {
  return createHash('sha256').update(`${token} ${mark} ${rest}`).digest('hex').slice(0, 8)
}

type Line = FencedLine & { readonly mark: string }

/** Null for what nobody wrote, or not to its end. */
function decode(text: string): Line | null {
  const [number, mark = '', sum, ...rest] = text.split(' ')
  const token = Number(number)
  const json = rest.join(' ')
  if (digest(token, mark, json) !== sum) return null
  return { token, mark, data: JSON.parse(json) as string }
}

/** Reads a file on from where it stopped, whole lines only. */
function linesOf(file: FileHandle): { next(): AsyncGenerator<Line>; isAtLineStart(): boolean } {
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
