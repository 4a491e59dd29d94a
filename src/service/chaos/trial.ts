/** A group under test: its nodes, and the witness of their commands. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isAlive } from '../supervise/processes.ts'
import { findFreePorts } from './free-ports.ts'
import { countTerms, judge } from './judge.ts'
import type { Namespaces } from './namespaces.ts'
import { Reaper } from './reaper.ts'
import type { Relays } from './relay.ts'
import { RunNode } from './run-node.ts'
import { COMMAND, Witness, type WitnessLine } from './witness.ts'

/** Bounds that follow from the configuration, in milliseconds of real time. */
export type ChaosBounds = {
  readonly failoverMs: number
  readonly leaseMs: number
  readonly lockMs: number
}

export type ChaosSettings = {
  readonly nodes: number
  /** How often each fault is injected. */
  readonly times: number
  /** Flags for every node: profile, options and so on. */
  readonly flags: readonly string[]
  readonly killBeforeMs: number
  readonly bounds: ChaosBounds
  /** Number of hostile datagrams. */
  readonly datagrams: number
  readonly onProgress: (text: string) => void
}

export type TrialOptions = {
  readonly stubborn?: boolean
  readonly namespaces?: Namespaces
  /** Relays between the nodes. */
  readonly relays?: Relays
  /** The nodes elect through this store, and do not listen. */
  readonly store?: string
  /** Called with the data directory of each node before it starts. */
  readonly prepare?: (folder: string) => void
}

/** Limit for everything that the trial waits for. */
const TIMEOUT_MS = 60_000

const CONCLAVE = fileURLToPath(new URL('../../../bin/conclave', import.meta.url))

export class Trial {
  readonly settings: ChaosSettings
  readonly folder: string
  readonly nodes: readonly RunNode[]
  readonly witness: Witness
  readonly ports: readonly number[]
  readonly #reaper: Reaper

  private constructor(
    settings: ChaosSettings,
    parts: { folder: string; nodes: readonly RunNode[]; reaper: Reaper; ports: readonly number[] },
  ) {
    this.settings = settings
    this.folder = parts.folder
    this.nodes = parts.nodes
    this.ports = parts.ports
    this.#reaper = parts.reaper
    this.witness = new Witness(join(parts.folder, 'log'))
  }

  /** Starts the nodes and waits for a leader. */
  static async start(settings: ChaosSettings, options: TrialOptions = {}): Promise<Trial> {
    const { nodes: count } = settings
    const { namespaces, relays, prepare } = options
    const folder = mkdtempSync(join(tmpdir(), 'conclave-chaos-'))
    const reaper = new Reaper(folder)
    writeFileSync(join(folder, 'key'), randomBytes(32), { mode: 0o600 })
    const ports =
      namespaces === undefined ? await findFreePorts(count, 'udp') : Array.from({ length: count }, () => 7400)
    // One relay per receiver is enough: nodes identify a sender by its messages, not by its port.
    const targets =
      relays === undefined ? ports : await Promise.all(ports.map((port) => relays.forwardTo(port)))
    const host = (index: number): string => namespaces?.hostOf(index) ?? '127.0.0.1'
    const nodes = Array.from(
      { length: count },
      (_, index) =>
        new RunNode({
          id: idOf(index),
          command: runCommand(settings, options, {
            index,
            folder,
            listen: `${host(index)}:${ports[index]}`,
            addresses: targets.map((port, peer) => `${host(peer)}:${port}`),
          }),
          onStart: (child) => reaper.watch(child),
        }),
    )
    const trial = new Trial(settings, { folder, nodes, reaper, ports })
    for (const { id } of nodes) prepare?.(join(folder, id))
    for (const node of nodes) node.start()
    await Promise.all(nodes.map(({ joined }) => joined))
    await trial.waitUntilStable()
    return trial
  }

  node(id: string): RunNode {
    const found = this.nodes.find((node) => node.id === id)
    if (found === undefined) throw new Error(`unknown node ${id}`)
    return found
  }

  /** The latest line of the witness: its writer leads. */
  get latest(): WitnessLine {
    const { latest } = this.witness
    if (latest === undefined) throw new Error('no leader yet')
    return latest
  }

  /** Waits until all nodes have joined, all old locks have expired, and a command is running. */
  async waitUntilStable(): Promise<WitnessLine> {
    await Promise.all(this.nodes.map(({ joined }) => joined))
    await setTimeout(3 * this.settings.bounds.lockMs)
    return this.waitForLine(this.witness.lines.length, () => true, 'no leader')
  }

  /** Resolves to the first line with a larger token. */
  waitForNextTerm({ token }: WitnessLine): Promise<WitnessLine> {
    return this.waitForLine(0, (line) => line.token > token, `no leader after token ${token}`)
  }

  async waitForLine(
    from: number,
    matches: (line: WitnessLine) => boolean,
    problem: string,
  ): Promise<WitnessLine> {
    const line = await this.witness.waitForLine(matches, from, TIMEOUT_MS)
    if (line !== null) return line
    const logs = this.nodes.map(({ id, log }) => `  ${id}: ${log.at(-1) ?? 'no log'}`)
    throw new Error(`${problem} within ${TIMEOUT_MS / 1000} s; last log lines:\n${logs.join('\n')}`)
  }

  /** The last line of a term so far. */
  lastLineOf({ token }: WitnessLine): WitnessLine {
    return this.witness.lines.findLast((line) => line.token === token) as WitnessLine
  }

  /** The verdict of the judge, and a violation if fewer than `minTerms` terms happened: then nothing was tested. */
  problems(minTerms: number): readonly string[] {
    this.witness.readNewLines()
    const { lines } = this.witness
    const terms = countTerms(lines)
    const tooFew =
      terms < minTerms ? [`only ${terms} of ${minTerms} expected terms: the case did not test anything`] : []
    return [...judge(lines), ...tooFew]
  }

  async stop(): Promise<void> {
    const running = this.nodes.filter(({ pid }) => pid !== null)
    for (const node of running) {
      node.signal('SIGCONT')
      node.signal('SIGKILL')
    }
    await Promise.all(running.map(({ exited }) => exited))
    // The guardians kill the remaining commands.
    const commands = [...new Set(this.witness.lines.map(({ pid }) => pid))]
    const deadline = performance.now() + TIMEOUT_MS
    // oxlint-disable-next-line no-await-in-loop -- poll until they are gone
    while (commands.some(isAlive) && performance.now() < deadline) await setTimeout(10)
    this.witness.close()
    await this.#reaper.close()
  }
}

const idOf = (index: number): string => `n${index + 1}`

type NodePlace = {
  readonly index: number
  readonly folder: string
  readonly listen: string
  /** Where each node is reached, by index. */
  readonly addresses: readonly string[]
}

/** The command line of a node: `conclave run`, with the witness command at the end. */
function runCommand(
  { flags, killBeforeMs }: ChaosSettings,
  { namespaces, store, stubborn = false }: TrialOptions,
  { index, folder, listen, addresses }: NodePlace,
): readonly string[] {
  const id = idOf(index)
  const peers = addresses.flatMap((address, peer) =>
    peer === index ? [] : ['--peer', `${idOf(peer)}=${address}`],
  )
  const networkFlags =
    store === undefined
      ? ['--listen', listen, ...peers, '--key-file', join(folder, 'key'), '--data', join(folder, id)]
      : ['--store', store]
  return [
    ...(namespaces?.enterCommand(index) ?? []),
    process.execPath,
    CONCLAVE,
    'run',
    '--group',
    'chaos',
    '--id',
    id,
    ...networkFlags,
    ...flags,
    '--kill-before-ms',
    String(killBeforeMs),
    '--',
    'sh',
    '-c',
    COMMAND,
    'witness',
    join(folder, 'log'),
    stubborn ? 'stubborn' : 'cooperative',
  ]
}
