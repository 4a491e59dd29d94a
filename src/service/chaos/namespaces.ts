/**
 * Network namespaces: each node has a network of its own, joined by a bridge, and is cut off for real by moving its
 * cable to another bridge. It takes root and the `ip` command.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

export class Namespaces {
  readonly #name: string
  readonly #net: string
  readonly #count: number

  private constructor(count: number) {
    this.#name = `cv${randomInt(0x10000).toString(16)}`
    this.#net = `10.${randomInt(200, 250)}.${randomInt(256)}`
    this.#count = count
  }

  /** Why there cannot be any here; null when there can. */
  static problem(): string | null {
    if (process.getuid?.() !== 0) return 'network namespaces need root'
    const name = `cv${randomInt(0x10000).toString(16)}t`
    const tried = ip('link', 'add', name, 'type', 'bridge') ?? ip('netns', 'add', name)
    ip('link', 'del', name)
    ip('netns', 'del', name)
    return tried === null ? null : `network namespaces cannot be made here: ${tried}`
  }

  static make(count: number): Namespaces {
    const made = new Namespaces(count)
    try {
      made.#build()
    } catch (error) {
      made.close()
      throw error
    }
    return made
  }

  hostOf(index: number): string {
    return `${this.#net}.${index + 1}`
  }

  /** What to put before a command so that it runs there. */
  inside(index: number): readonly string[] {
    return ['ip', 'netns', 'exec', this.#space(index)]
  }

  /** These on one side, all others on the other. */
  split(indexes: readonly number[]): void {
    const moves = Array.from(
      { length: this.#count },
      (_, index) =>
        `link set ${this.#cable(index)} master ${this.#bridge(indexes.includes(index) ? 1 : 0)}\n`,
    )
    // All at once, or nearly so.
    const { status, stderr } = spawnSync('ip', ['-batch', '-'], { input: moves.join(''), encoding: 'utf8' })
    if (status !== 0) throw new Error(`ip -batch: ${stderr.trim()}`)
  }

  heal(): void {
    this.split([])
  }

  close(): void {
    for (let index = 0; index < this.#count; index++) {
      ip('link', 'del', this.#cable(index))
      ip('netns', 'del', this.#space(index))
    }
    for (const side of [0, 1]) ip('link', 'del', this.#bridge(side))
  }

  #build(): void {
    for (const side of [0, 1]) {
      must('link', 'add', this.#bridge(side), 'type', 'bridge', 'forward_delay', '0')
      must('link', 'set', this.#bridge(side), 'up')
    }
    for (let index = 0; index < this.#count; index++) {
      const [space, cable] = [this.#space(index), this.#cable(index)]
      must('netns', 'add', space)
      must('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
      must('-n', space, 'address', 'add', `${this.hostOf(index)}/24`, 'dev', 'eth0')
      must('-n', space, 'link', 'set', 'eth0', 'up')
      must('-n', space, 'link', 'set', 'lo', 'up')
      must('link', 'set', cable, 'master', this.#bridge(0), 'up')
    }
  }

  #space(index: number): string {
    return `${this.#name}-${index}`
  }

  #cable(index: number): string {
    return `${this.#name}v${index}`
  }

  #bridge(side: number): string {
    return `${this.#name}b${side}`
  }
}

/** What went wrong; null when nothing did. */
function ip(...words: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync('ip', words, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}

function must(...words: readonly string[]): void {
  const problem = ip(...words)
  if (problem !== null) throw new Error(`ip ${words.join(' ')}: ${problem}`)
}
