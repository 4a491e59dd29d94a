/**
 * The witness: what the commands of all leaders write into one file, each line appended as a whole. The order of the
 * lines is the machine's own, so the judgement does not rest on anything that the nodes say of themselves.
 *
 * Every command also takes a lock that the kernel frees when the process is gone: one that begins while another still
 * lives says so.
 */
import { closeSync, openSync, readSync } from 'node:fs'

export type Line = {
  readonly id: string
  readonly token: number
  readonly pid: number
  readonly did: 'begin' | 'on' | 'end' | 'overlap' | 'alone'
  /** When the reader saw it, on the reader's own clock. */
  readonly atMs: number
}

/** `$1`: the file; `$2`: `stubborn` for a command that only SIGKILL ends. */
export const COMMAND = `log=$1
say() { echo "$CONCLAVE_ID $CONCLAVE_TOKEN $$ $1" >> "$log"; }
say begin
if [ "$2" = stubborn ]; then trap '' TERM; else trap 'say end; exit 0' TERM; fi
exec 9>> "$log.lock"
flock -n 9 || { say overlap; flock 9; say alone; }
while :; do sleep 0.01 9>&-; say on; done`

/** How often the file is looked at. */
const LOOK_MS = 2

export class Witness {
  readonly #file: number
  readonly #timer: NodeJS.Timeout
  readonly #buffer = Buffer.alloc(1 << 16)
  readonly #waiting = new Set<() => void>()
  #place = 0
  #rest = ''
  readonly lines: Line[] = []

  constructor(file: string) {
    this.#file = openSync(file, 'a+')
    this.#timer = setInterval(() => this.look(), LOOK_MS)
  }

  get last(): Line | undefined {
    return this.lines.at(-1)
  }

  close(): void {
    clearInterval(this.#timer)
    this.look()
    closeSync(this.#file)
  }

  look(): void {
    const before = this.lines.length
    for (;;) {
      const count = readSync(this.#file, this.#buffer, 0, this.#buffer.length, this.#place)
      if (count === 0) break
      this.#place += count
      const texts = (this.#rest + this.#buffer.toString('utf8', 0, count)).split('\n')
      this.#rest = texts.pop() ?? ''
      for (const text of texts) this.lines.push(read(text, performance.now()))
    }
    if (this.lines.length > before) for (const wake of this.#waiting) wake()
  }

  /** The first line that is so, from the given place on; null when none comes in time. */
  async first(isSo: (line: Line) => boolean, from: number, withinMs: number): Promise<Line | null> {
    const until = performance.now() + withinMs
    let place = from
    for (;;) {
      for (; place < this.lines.length; place++) {
        const line = this.lines[place]
        if (line !== undefined && isSo(line)) return line
      }
      if (performance.now() >= until) return null
      // oxlint-disable-next-line no-await-in-loop -- until there are more lines
      await this.#more(until - performance.now())
    }
  }

  #more(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, withinMs)
      this.#waiting.add(done)
    })
  }
}

function read(text: string, atMs: number): Line {
  const [id = '', token = '', pid = '', did = ''] = text.split(' ')
  return { id, token: Number(token), pid: Number(pid), did: did as Line['did'], atMs }
}
