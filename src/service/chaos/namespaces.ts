/**
 * Network namespaces: each node has its own network stack, connected by a bridge. Moving its veth to another bridge
 * partitions it. Needs root and the `ip` command.
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

  /** Why namespaces cannot be created here; null if they can. */
  static unavailableReason(): string | null {
    if (process.getuid?.() !== 0) return 'network namespaces need root'
    const name = `cv${randomInt(0x10000).toString(16)}t`
    const tried = tryIp('link', 'add', name, 'type', 'bridge') ?? tryIp('netns', 'add', name)
    tryIp('link', 'del', name)
    tryIp('netns', 'del', name)
    return tried === null ? null : `cannot create network namespaces: ${tried}`
  }

  static create(count: number): Namespaces {
    const created = new Namespaces(count)
    try {
      created.#build()
    } catch (error) {
      created.close()
      throw error
    }
    return created
  }

  hostOf(index: number): string {
    return `${this.#net}.${index + 1}`
  }

  /** Prefix for a command that runs inside the namespace. */
  enterCommand(index: number): readonly string[] {
    return ['ip', 'netns', 'exec', this.#namespace(index)]
  }

  /** Separates these nodes from all others. */
  split(indexes: readonly number[]): void {
    const moves = Array.from(
      { length: this.#count },
      (_, index) => `link set ${this.#veth(index)} master ${this.#bridge(indexes.includes(index) ? 1 : 0)}\n`,
    )
    // One batch, so that all moves take effect at nearly the same time.
    const { status, stderr } = spawnSync('ip', ['-batch', '-'], { input: moves.join(''), encoding: 'utf8' })
    if (status !== 0) throw new Error(`ip -batch: ${stderr.trim()}`)
  }

  heal(): void {
    this.split([])
  }

  close(): void {
    for (let index = 0; index < this.#count; index++) {
      tryIp('link', 'del', this.#veth(index))
      tryIp('netns', 'del', this.#namespace(index))
    }
    for (const side of [0, 1]) tryIp('link', 'del', this.#bridge(side))
  }

  #build(): void {
    for (const side of [0, 1]) {
      runIp('link', 'add', this.#bridge(side), 'type', 'bridge', 'forward_delay', '0')
      runIp('link', 'set', this.#bridge(side), 'up')
    }
    for (let index = 0; index < this.#count; index++) {
      const [namespace, veth] = [this.#namespace(index), this.#veth(index)]
      runIp('netns', 'add', namespace)
      runIp('link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
      runIp('-n', namespace, 'address', 'add', `${this.hostOf(index)}/24`, 'dev', 'eth0')
      runIp('-n', namespace, 'link', 'set', 'eth0', 'up')
      runIp('-n', namespace, 'link', 'set', 'lo', 'up')
      runIp('link', 'set', veth, 'master', this.#bridge(0), 'up')
    }
  }

  #namespace(index: number): string {
    return `${this.#name}-${index}`
  }

  #veth(index: number): string {
    return `${this.#name}v${index}`
  }

  #bridge(side: number): string {
    return `${this.#name}b${side}`
  }
}

/** Runs `ip`. Returns the error message, or null on success. */
function tryIp(...args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}

function runIp(...args: readonly string[]): void {
  const problem = tryIp(...args)
  if (problem !== null) throw new Error(`ip ${args.join(' ')}: ${problem}`)
}
