/** An agent on this machine: a process of its own, started, watched, teased and ended from here. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { getStatus, type StatusResponse, stepDown } from '../../service/client/index.ts'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import { linesOf } from '../../service/supervise/lines.ts'
import type { SupervisorOrder } from '../run/supervisor-link.ts'

export type AgentStanding = 'up' | 'paused' | 'down'

export type LocalAgentOptions = {
  readonly id: string
  readonly url: string
  readonly adminToken: string
  /** The words after `conclave agent`. */
  readonly words: readonly string[]
  /** For each process that is started, and for each line that it says. */
  readonly onStart: (child: ChildProcess) => void
  readonly onSaid: (line: string) => void
}

/** An agent that says nothing for so long is shown as silent. */
const ANSWER_MS = 500
/** How long an agent may take to hand over and end. */
const FAREWELL_MS = 3000

export class LocalAgent {
  readonly #options: LocalAgentOptions
  #process: ChildProcess | null = null
  #isPaused = false
  #faults: NetworkFaults = {}
  seen: StatusResponse | null = null

  constructor(options: LocalAgentOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  get url(): string {
    return this.#options.url
  }

  get standing(): AgentStanding {
    if (this.#process === null) return 'down'
    return this.#isPaused ? 'paused' : 'up'
  }

  get leads(): boolean {
    return this.standing === 'up' && this.seen?.self.role === 'leader'
  }

  /** False when it runs already. */
  start(): boolean {
    if (this.#process !== null) return false
    const conclave = fileURLToPath(new URL('../../../bin/conclave', import.meta.url))
    // It ends when this process does, however that ends: the descriptor is closed then.
    const child = spawn(process.execPath, [conclave, 'agent', ...this.#options.words], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...withoutOurs(process.env), CONCLAVE_SUPERVISOR_FD: '3' },
    })
    this.#process = child
    this.#isPaused = false
    if (child.stderr !== null) linesOf(child.stderr, this.#options.onSaid)
    this.#line?.on('error', () => {})
    child.once('exit', () => {
      if (this.#process === child) this.#process = null
      this.seen = null
    })
    this.#options.onStart(child)
    this.spoil(this.#faults)
    return true
  }

  /** Resolves when it is dead; false when there was nothing to kill. */
  async kill(): Promise<boolean> {
    const child = this.#process
    if (child === null) return false
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await gone
    return true
  }

  /** Stops it where it stands, or lets it go on; false when it was so already. */
  pause(isPaused: boolean): boolean {
    if (this.#process === null || this.#isPaused === isPaused) return false
    this.#isPaused = isPaused
    return this.#process.kill(isPaused ? 'SIGSTOP' : 'SIGCONT')
  }

  /** Spoils what it hears; kept when it is started again. */
  spoil(faults: NetworkFaults): void {
    this.#faults = faults
    this.#line?.write(`${JSON.stringify({ faults } satisfies SupervisorOrder)}\n`)
  }

  /** Asks it to hand the lead over; why not, when it does not. */
  async handOver(): Promise<string | null> {
    try {
      const { url: agent, adminToken } = this.#options
      await stepDown({ agent, adminToken, signal: AbortSignal.timeout(ANSWER_MS) })
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (child === null) return
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    if (this.#isPaused) child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), FAREWELL_MS)
    await gone
    clearTimeout(timer)
  }

  async look(): Promise<void> {
    if (this.standing !== 'up') {
      this.seen = null
      return
    }
    try {
      this.seen = await getStatus({ agent: this.url, signal: AbortSignal.timeout(ANSWER_MS) })
    } catch {
      this.seen = null
    }
  }

  get #line(): Duplex | null {
    return (this.#process?.stdio[3] as Duplex | undefined) ?? null
  }
}

/** What it is told it is told by flags: variables are for an agent that somebody runs by hand. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CONCLAVE_')))
}
