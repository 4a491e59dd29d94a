/**
 * The witness: an append-only file to which the commands of all leaders write. The kernel orders the appended lines, so
 * the verdict does not depend on what nodes report about themselves.
 *
 * Every command also takes a file lock that the kernel releases when the process exits. A command that starts while
 * another is still running reports the overlap.
 */
import { closeSync, openSync, readSync } from 'node:fs'

export type WitnessLine = {
  readonly id: string
  readonly token: number
  readonly pid: number
  readonly action: 'begin' | 'on' | 'end' | 'overlap' | 'alone'
  /** When the reader read the line, on the reader's clock. */
  readonly atMs: number
}

/**
 * `$1`: the file; `$2`: `stubborn` for a command that ignores SIGTERM. Each line costs a process: tests, which do not judge
 * times, set WITNESS_SECONDS to write fewer. The lock reports an overlap of any length.
 */
export const COMMAND = `log=$1
say() { echo "$CONCLAVE_ID $CONCLAVE_TOKEN $$ $1" >> "$log"; }
say begin
if [ "$2" = stubborn ]; then trap '' TERM; else trap 'say end; exit 0' TERM; fi
exec 9>> "$log.lock"
flock -n 9 || { say overlap; flock 9; say alone; }
while :; do sleep "\${WITNESS_SECONDS:-0.01}" 9>&-; say on; done`

const POLL_MS = 2

export class Witness {
  readonly #file: number
  readonly #timer: NodeJS.Timeout
  readonly #buffer = Buffer.alloc(1 << 16)
  readonly #waiting = new Set<() => void>()
  #offset = 0
  #partial = ''
  readonly lines: WitnessLine[] = []

  constructor(file: string) {
    this.#file = openSync(file, 'a+')
    this.#timer = setInterval(() => this.readNewLines(), POLL_MS)
  }

  get latest(): WitnessLine | undefined {
    return this.lines.at(-1)
  }

  close(): void {
    clearInterval(this.#timer)
    this.readNewLines()
    closeSync(this.#file)
  }

  readNewLines(): void {
    const before = this.lines.length
    for (;;) {
      const count = readSync(this.#file, this.#buffer, 0, this.#buffer.length, this.#offset)
      if (count === 0) break
      this.#offset += count
      const texts = (this.#partial + this.#buffer.toString('utf8', 0, count)).split('\n')
      this.#partial = texts.pop() ?? ''
      for (const text of texts) this.lines.push(parseLine(text, performance.now()))
    }
    if (this.lines.length > before) for (const wake of this.#waiting) wake()
  }

  /** Resolves to the first line from `from` on that matches; null after `timeoutMs`. */
  async waitForLine(
    matches: (line: WitnessLine) => boolean,
    from: number,
    timeoutMs: number,
  ): Promise<WitnessLine | null> {
    const until = performance.now() + timeoutMs
    let index = from
    for (;;) {
      for (; index < this.lines.length; index++) {
        const line = this.lines[index]
        if (line !== undefined && matches(line)) return line
      }
      if (performance.now() >= until) return null
      // oxlint-disable-next-line no-await-in-loop -- wait for more lines
      await this.#waitForMore(until - performance.now())
    }
  }

  #waitForMore(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
    })
  }
}

function parseLine(text: string, atMs: number): WitnessLine {
  const [id = '', token = '', pid = '', did = ''] = text.split(' ')
  return { id, token: Number(token), pid: Number(pid), action: did as WitnessLine['action'], atMs }
}
