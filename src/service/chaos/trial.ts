/** A group under trial: its nodes, the witness of their commands, and what is found. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isAlive } from '../supervise/processes.ts'
import { freePorts } from './free-ports.ts'
import { judge, leaderships } from './judge.ts'
import type { Namespaces } from './namespaces.ts'
import { Warden } from './reaper.ts'
import type { Relays } from './relay.ts'
import { RunNode } from './run-node.ts'
import { COMMAND, type Line, Witness } from './witness.ts'

/** What the configuration promises, in milliseconds of true time. */
export type Bounds = {
  readonly failOverMs: number
  readonly leaseMs: number
  readonly lockMs: number
}

export type Settings = {
  readonly nodes: number
  /** How often each thing is done. */
  readonly times: number
  /** Words for every node: profile, options and the like. */
  readonly words: readonly string[]
  readonly killBeforeMs: number
  readonly bounds: Bounds
  /** How many hostile datagrams. */
  readonly datagrams: number
  /** For whoever waits for it. */
  readonly say: (text: string) => void
}

export type TrialOptions = {
  readonly stubborn?: boolean
  readonly namespaces?: Namespaces
  /** Everything that the nodes send goes through these. */
  readonly relays?: Relays
  /** The nodes meet in this store (protocol epochs), and do not listen. */
  readonly store?: string
  /** Called with the data folder of each node before it starts. */
  readonly prepare?: (folder: string) => void
}

/** Something that does not happen within this is taken never to happen. */
const PATIENCE_MS = 60_000

const CONCLAVE = fileURLToPath(new URL('../../../bin/conclave', import.meta.url))

export class Trial {
  readonly settings: Settings
  readonly folder: string
  readonly nodes: readonly RunNode[]
  readonly witness: Witness
  readonly ports: readonly number[]
  readonly #warden: Warden

  private constructor(
    settings: Settings,
    parts: { folder: string; nodes: readonly RunNode[]; warden: Warden; ports: readonly number[] },
  ) {
    this.settings = settings
    this.folder = parts.folder
    this.nodes = parts.nodes
    this.ports = parts.ports
    this.#warden = parts.warden
    this.witness = new Witness(join(parts.folder, 'log'))
  }

  /** Started, and somebody leads. */
  static async begin(settings: Settings, options: TrialOptions = {}): Promise<Trial> {
    const { nodes: count, words, killBeforeMs } = settings
    const { namespaces, relays, prepare, store, stubborn = false } = options
    const folder = mkdtempSync(join(tmpdir(), 'conclave-chaos-'))
    const warden = new Warden(folder)
    writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
    const ports =
      namespaces === undefined ? await freePorts(count, 'udp') : Array.from({ length: count }, () => 7400)
    const host = (index: number): string => namespaces?.hostOf(index) ?? '127.0.0.1'
    // What is for one goes through one port, whoever it is from: the sender is known by what it says.
    const reached = relays === undefined ? ports : await Promise.all(ports.map((port) => relays.to(port)))
    const ids = Array.from({ length: count }, (_, index) => `n${index + 1}`)
    const nodes = ids.map((id, index) => {
      const peers = ids.flatMap((peer, place) =>
        place === index ? [] : ['--peer', `${peer}=${host(place)}:${reached[place]}`],
      )
      const named = ['--group', 'chaos', '--id', id]
      const described =
        store === undefined
          ? [...named, '--listen', `${host(index)}:${ports[index]}`, ...peers]
          : [...named, '--protocol', 'epochs', '--store', store]
      const kept = store === undefined ? ['--key-file', join(folder, 'key'), '--data', join(folder, id)] : []
      const command = ['sh', '-c', COMMAND, 'witness', join(folder, 'log'), stubborn ? 'stubborn' : 'kind']
      return new RunNode({
        id,
        command: [
          ...(namespaces?.inside(index) ?? []),
          process.execPath,
          CONCLAVE,
          'run',
          ...described,
          ...kept,
          ...words,
          '--kill-before-ms',
          String(killBeforeMs),
          '--',
          ...command,
        ],
        onStart: (child) => warden.watch(child),
      })
    })
    const trial = new Trial(settings, { folder, nodes, warden, ports })
    for (const { id } of nodes) prepare?.(join(folder, id))
    for (const node of nodes) node.start()
    await Promise.all(nodes.map(({ takesPart }) => takesPart))
    await trial.settle()
    return trial
  }

  node(id: string): RunNode {
    const found = this.nodes.find((node) => node.id === id)
    if (found === undefined) throw new Error(`there is no node ${id}`)
    return found
  }

  /** Whoever's command wrote last. */
  get leading(): Line {
    const { last } = this.witness
    if (last === undefined) throw new Error('nobody has led yet')
    return last
  }

  /** All take part, whoever was bound is free, and a command is at work. */
  async settle(): Promise<Line> {
    await Promise.all(this.nodes.map(({ takesPart }) => takesPart))
    await setTimeout(3 * this.settings.bounds.lockMs)
    return this.after(this.witness.lines.length, () => true, 'nobody leads')
  }

  /** The first line of a leadership with a larger token. */
  next({ token }: Line): Promise<Line> {
    return this.after(0, (line) => line.token > token, `nobody leads after token ${token}`)
  }

  async after(from: number, isSo: (line: Line) => boolean, otherwise: string): Promise<Line> {
    const line = await this.witness.first(isSo, from, PATIENCE_MS)
    if (line !== null) return line
    const said = this.nodes.map(({ id, said: words }) => `  ${id}: ${words.at(-1) ?? 'said nothing'}`)
    throw new Error(`${otherwise}, ${PATIENCE_MS / 1000} s long; last said:\n${said.join('\n')}`)
  }

  /** The last line of a leadership so far. */
  lastOf({ token }: Line): Line {
    return this.witness.lines.findLast((line) => line.token === token) as Line
  }

  /** The verdict of the witness, and too few leaderships to mean anything. */
  problems(least: number): readonly string[] {
    this.witness.look()
    const { lines } = this.witness
    const seen = leaderships(lines)
    const few =
      seen < least ? [`only ${seen} leaderships were seen, ${least} were expected: nothing was tried`] : []
    return [...judge(lines), ...few]
  }

  async end(): Promise<void> {
    const running = this.nodes.filter(({ pid }) => pid !== null)
    for (const node of running) {
      node.signal('SIGCONT')
      node.signal('SIGKILL')
    }
    await Promise.all(running.map(({ ended }) => ended))
    // The guardians end what is left.
    const commands = [...new Set(this.witness.lines.map(({ pid }) => pid))]
    const until = performance.now() + PATIENCE_MS
    // oxlint-disable-next-line no-await-in-loop -- until they are gone
    while (commands.some(isAlive) && performance.now() < until) await setTimeout(10)
    this.witness.close()
    await this.#warden.close()
  }
}
