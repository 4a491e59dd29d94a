/** Real processes that run jobs: one program, started once per node. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { freePorts } from './ports.ts'
import { Program } from './program.ts'

/**
 * Opens a node, and prints what happens. `jobs` is code: it sees `cluster`, `say`, `has(NAME)` (whether the test has
 * created that file) and `wait(ms)`. The node kills itself at the step in the file `die-NODE` or `die`.
 */
const PROGRAM = (jobs: string): string => `
import { existsSync, readFileSync } from 'node:fs'
import { openCluster, openDiskStore } from 'conclave/recovery'
const { id, ports, folder, options } = JSON.parse(process.argv[2])
const say = (...words) => console.log(words.join(' '))
const has = (name) => existsSync(folder + '/' + name)
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** A disk that fails as a full one does, while a file says so, or from a number of bytes on. */
const limited = (most) => {
  let used = 0
  const fail = () => { throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }) }
  return {
    async write(file, chunks) {
      const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
      if (has('full-' + id) || bytes > most) fail()
      return (await file.writev(chunks)).bytesWritten
    },
    sync: (file) => file.datasync(),
  }
}
const store = await openDiskStore({ folder: folder + '/' + id + '-columns', calls: limited(options.disk ?? Infinity) })
const cluster = await openCluster({
  id, store, key: new Uint8Array(32).fill(7), data: folder + '/' + id,
  listen: '127.0.0.1:' + ports[id],
  peers: Object.keys(ports).filter((other) => other !== id).map((other) => other + '=127.0.0.1:' + ports[other]),
  slots: options.slots ?? 4, stallMs: options.stallMs ?? 5000, maxCheckpointBytes: 16 * 2 ** 20,
  scrubIntervalMs: options.scrubIntervalMs ?? 0,
  // Nothing here depends on how fast a failure is noticed, and the machine may be busy.
  options: { pingMs: 400, alphaMs: 1600, timeoutMs: 3000 },
})
cluster.on('view', ({ token, leader, members }) => say('view', token ?? 0, leader ?? '-', members.join()))
cluster.on('warning', ({ what, detail }) => say('warning', what, detail))
cluster.on('log', ({ job, text }) => say('log', job, text))
cluster.on('step', ({ step }) => {
  for (const name of ['die', 'die-' + id]) {
    if (has(name) && Number(readFileSync(folder + '/' + name)) === step) process.kill(process.pid, 'SIGKILL')
  }
  say('step', step)
})
const follow = (handle) => handle.result().then(
  (value) => say('result', handle.name, JSON.stringify(value)),
  (error) => say('rejected', handle.name, error.code, error.message),
)
${jobs}
say('ready', id)
`

export type NodeOptions = {
  readonly slots?: number
  readonly stallMs?: number
  readonly scrubIntervalMs?: number
  /** Bytes that one write to the disk may have. */
  readonly disk?: number
}

export class JobNodes {
  readonly ids: readonly string[]
  readonly folder: string
  readonly #jobs: string
  readonly #ports: { readonly [id: string]: number }
  readonly #options: NodeOptions
  readonly #programs = new Map<string, Program>()

  private constructor(ids: readonly string[], jobs: string, ports: readonly number[], options: NodeOptions) {
    this.ids = ids
    this.folder = mkdtempSync(join(tmpdir(), 'conclave-jobs-'))
    this.#jobs = jobs
    this.#ports = Object.fromEntries(ids.map((id, at) => [id, ports[at] as number]))
    this.#options = options
  }

  /** Started, and ended when the test ends. */
  static async start(ids: string, jobs: string, options: NodeOptions = {}): Promise<JobNodes> {
    const nodes = new JobNodes(ids.split(''), jobs, await freePorts(ids.length), options)
    onTestFinished(async ({ task }) => {
      if (task.result?.state === 'fail') nodes.#print()
      await Promise.all(nodes.ids.map((id) => nodes.kill(id)))
      rmSync(nodes.folder, { recursive: true, force: true })
    })
    for (const id of nodes.ids) nodes.revive(id)
    return nodes
  }

  revive(id: string): void {
    const { folder } = this
    const start = { id, ports: this.#ports, folder, options: this.#options }
    this.#programs.set(id, new Program(PROGRAM(this.#jobs), [JSON.stringify(start)]))
  }

  at(id: string): Program {
    return this.#programs.get(id) as Program
  }

  /** SIGKILL. */
  async kill(id: string): Promise<void> {
    await this.at(id).kill()
  }

  isDead(id: string): boolean {
    const { exitCode, signalCode } = this.at(id).process
    return exitCode !== null || signalCode !== null
  }

  /** Creates a file that the programs look for. */
  tell(name: string, content = ''): void {
    writeFileSync(join(this.folder, name), content)
  }

  take(name: string): void {
    rmSync(join(this.folder, name), { force: true })
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name))
  }

  get living(): readonly string[] {
    return this.ids.filter((id) => !this.isDead(id))
  }

  /** Resolves to the first node of which a line begins with these words, with the rest of the line. */
  async first(words: string, among = this.living): Promise<readonly [id: string, rest: string]> {
    let found: readonly [string, string] | null = null
    await until(() => {
      found = this.find(words, among)
      return found !== null
    })
    return found as unknown as readonly [string, string]
  }

  find(words: string, among = this.living): readonly [string, string] | null {
    for (const id of among) {
      const [rest] = this.said(id, words)
      if (rest !== undefined) return [id, rest]
    }
    return null
  }

  /** The lines of a node that begin with these words, without the words. */
  said(id: string, words: string): readonly string[] {
    return this.at(id).lines.flatMap((line) =>
      line === words || line.startsWith(`${words} `) ? [line.slice(words.length + 1)] : [],
    )
  }

  /** Resolves when every living node has printed a line that begins with these words, to the rests of the lines. */
  async all(words: string): Promise<readonly string[]> {
    await until(() => this.living.every((id) => this.said(id, words).length > 0))
    return this.living.map((id) => this.said(id, words)[0] as string)
  }

  /** For a test that fails. */
  #print(): void {
    for (const [id, { lines, errors }] of this.#programs)
      console.error(`${id}:\n  ${[...lines.slice(-60), ...errors.slice(-20)].join('\n  ')}`)
  }
}

/** As `until`, for groups of processes, which take longer on a busy machine. */
export function until(isSo: () => boolean): Promise<unknown> {
  return vi.waitUntil(isSo, { timeout: 80_000, interval: 20 })
}

/** What `cluster.logs` printed: every number from 1 to `last`, once. */
export function expectOnce(text: string, last: number): void {
  expect(text.split(',').map(Number)).toEqual(Array.from({ length: last }, (_, at) => at + 1))
}
