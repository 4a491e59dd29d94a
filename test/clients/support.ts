/** Two agents and a witness, and client programs in Python or Go that ask them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { findFreePorts } from '../../src/service/chaos/free-ports.ts'
import { type AgentProcess, Workplace } from '../support/agents.ts'
import { describeWithTool } from '../support/servers.ts'
import { until } from '../support/wait.ts'

export const ADMIN = 'an admin token of some length'
const ROOT = join(import.meta.dirname, '../..')

/** A line that worker.py and worker/main.go print. */
export type Line = {
  readonly event?: string
  readonly token?: number
  readonly at?: number
  readonly reason?: string
  readonly held?: boolean
  readonly id?: string | null
  readonly [field: string]: unknown
}

/** A client program; `command` builds it if needed. */
export type Language = { readonly name: string; readonly command: () => readonly string[] }

function output(program: string, words: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd,
    encoding: 'utf8',
    env: goEnvironment(),
  })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

/** A version manager's wrapper takes longer to start than Python itself, so the tests start Python itself. */
function python(program: string): Language {
  let found: string | null = null
  return {
    name: 'Python',
    command() {
      found ??= output(program, ['-c', 'import sys; print(sys.executable)'], ROOT)
      return [found, join(import.meta.dirname, 'worker.py')]
    },
  }
}

function go(program: string, folder: string): Language {
  const binary = join(folder, 'worker')
  return {
    name: 'Go',
    command() {
      if (!existsSync(binary))
        output(program, ['build', '-o', binary, '.'], join(import.meta.dirname, 'worker'))
      return [binary]
    },
  }
}

/** `describe` for each client; skipped with the reason if its language is missing. `folder`: for its program. */
export async function describeClients(folder: string, tests: (language: Language) => void): Promise<void> {
  await describeWithTool('python3', 'the Python client', (program) => tests(python(program)))
  await describeWithTool('go', 'the Go client', (program) => tests(go(program, folder)))
}

/** Without network and without a C compiler. */
export const goEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  CGO_ENABLED: '0',
  GOFLAGS: '-mod=mod',
  GOPROXY: 'off',
  GOTOOLCHAIN: 'local',
})

export const pythonEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: join(ROOT, 'clients/python/src'),
  PYTHONDONTWRITEBYTECODE: '1',
})

export class Worker {
  readonly #process: ChildProcess
  readonly ended: Promise<number | null>
  #text = ''
  #errors = ''

  constructor({ command }: Language, words: readonly string[]) {
    const [program = '', ...first] = command()
    this.#process = spawn(program, [...first, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: pythonEnvironment(),
    })
    this.#process.stdout?.on('data', (data: Buffer) => (this.#text += data.toString()))
    this.#process.stderr?.on('data', (data: Buffer) => (this.#errors += data.toString()))
    this.ended = new Promise((resolve) => this.#process.once('close', (code) => resolve(code)))
  }

  get lines(): readonly Line[] {
    return this.#text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  }

  /** What it wrote to standard error: nothing, if all is well. */
  get errors(): string {
    return this.#errors
  }

  /** The token of its latest action. */
  get token(): number {
    return this.lines.findLast(({ event }) => event === 'acted')?.token ?? 0
  }

  /** Waits for a line; fails if the program ends without it. */
  async said(which: (line: Line) => boolean): Promise<Line> {
    const find = (): Line | undefined => this.lines.find(which)
    await until(() => find() !== undefined || this.#process.exitCode !== null)
    const line = find()
    if (line === undefined) throw new Error(`it ended without that line: ${this.#text}${this.#errors}`)
    return line
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async end(): Promise<void> {
    this.#process.kill('SIGCONT')
    this.#process.kill('SIGKILL')
    await this.ended
  }
}

/** Agents a and b may lead; w only votes. */
export class Group {
  readonly place = new Workplace()
  readonly #words = new Map<string, readonly string[]>()
  readonly #agents = new Map<string, AgentProcess>()
  readonly #urls = new Map<string, string>()

  async start(): Promise<void> {
    const ids = ['a', 'b', 'w']
    const [udp, http] = await Promise.all([findFreePorts(3, 'udp'), findFreePorts(3, 'tcp')])
    const peer = (index: number): string => `${ids[index]}=127.0.0.1:${udp[index]}`
    for (const [index, id] of ids.entries()) {
      const peers = ids.flatMap((_, other) => (other === index ? [] : [other]))
      // A file, because only there a peer can be a witness.
      const config = {
        group: 'g',
        id,
        witness: id === 'w',
        listen: `127.0.0.1:${udp[index]}`,
        http: `127.0.0.1:${http[index]}`,
        peers: peers.map((other) => ({
          id: ids[other],
          address: peer(other).split('=')[1],
          witness: ids[other] === 'w',
        })),
        keyFile: this.place.path('key'),
        adminTokenFile: this.place.path('admin'),
        data: this.place.path(`data-${id}`),
        // Large, because the machine that runs the tests is busy.
        options: { sigmaMs: 300, deltaMs: 100, fastMs: 201 },
      }
      this.#words.set(id, ['--config', this.place.write(`${id}.yaml`, JSON.stringify(config))])
      this.#urls.set(id, `http://127.0.0.1:${http[index]}`)
      this.startAgent(id)
    }
    await until(() =>
      [...this.#agents.values()].some(({ log }) => log.some(({ event }) => event === 'elected')),
    )
  }

  startAgent(id: string): void {
    this.#agents.set(id, this.place.start(this.#words.get(id) ?? []))
  }

  agent(id: string): AgentProcess {
    const agent = this.#agents.get(id)
    if (agent === undefined) throw new Error(`there is no agent ${id}`)
    return agent
  }

  url(id: string): string {
    return this.#urls.get(id) ?? ''
  }

  close(): Promise<void> {
    return this.place.close()
  }
}

/** Serves this test until it ends. Returns the URL. */
export async function serve(respond: RequestListener): Promise<string> {
  const server = createServer(respond)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Ends with this test. */
export function startWorker(language: Language, ...words: readonly string[]): Worker {
  const worker = new Worker(language, words)
  onTestFinished(() => worker.end())
  return worker
}
