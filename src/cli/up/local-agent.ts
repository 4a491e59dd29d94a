/** A `conclave agent` process on this machine: starts it, reads its status, injects faults and ends it. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { getStatus, type LocalResponse, type StatusResponse, stepDown } from '../../service/client/index.ts'
import type { NetworkFaults } from '../../service/runtime/index.ts'
import { readLines } from '../../service/supervise/lines.ts'
import type { SupervisorOrder } from '../run/supervisor-link.ts'

export type AgentState = 'up' | 'paused' | 'down'

export type LocalAgentOptions = {
  readonly id: string
  readonly url: string
  readonly adminToken: string
  /** The arguments of `conclave agent`. */
  readonly words: readonly string[]
  /** Called for each process that is started. */
  readonly onStart: (child: ChildProcess) => void
  /** Called for each line that the process writes to its log. */
  readonly onLogLine: (line: string) => void
}

/** An agent that takes longer to answer is shown as silent. */
const REQUEST_TIMEOUT_MS = 500
/** How long an agent may take to hand leadership over and exit. */
const STOP_TIMEOUT_MS = 3000

export class LocalAgent {
  readonly #options: LocalAgentOptions
  #process: ChildProcess | null = null
  #isPaused = false
  #starts = 0
  #faults: NetworkFaults = {}
  /** The last response; null if the agent is not up or did not answer. */
  status: StatusResponse | null = null

  constructor(options: LocalAgentOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  get url(): string {
    return this.#options.url
  }

  /** How often the process was started. */
  get starts(): number {
    return this.#starts
  }

  get state(): AgentState {
    if (this.#process === null) return 'down'
    return this.#isPaused ? 'paused' : 'up'
  }

  get isLeader(): boolean {
    return this.state === 'up' && this.status?.self.role === 'leader'
  }

  /** Returns false if the process is already running. */
  start(): boolean {
    if (this.#process !== null) return false
    const conclave = fileURLToPath(new URL('../../../bin/conclave', import.meta.url))
    // The agent exits when descriptor 3 is closed, that is, when this process ends in any way.
    const child = spawn(process.execPath, [conclave, 'agent', ...this.#options.words], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...withoutOwnVariables(process.env), CONCLAVE_SUPERVISOR_FD: '3' },
    })
    this.#process = child
    this.#starts += 1
    this.#isPaused = false
    if (child.stderr !== null) readLines(child.stderr, this.#options.onLogLine)
    this.#supervisorLink?.on('error', () => {})
    child.once('exit', () => {
      if (this.#process === child) this.#process = null
      this.status = null
    })
    this.#options.onStart(child)
    this.injectFaults(this.#faults)
    return true
  }

  /** Resolves when the process is dead; to false if none was running. */
  async kill(): Promise<boolean> {
    const child = this.#process
    if (child === null) return false
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await exited
    return true
  }

  /** Stops or continues the process. Returns false if nothing changed. */
  pause(isPaused: boolean): boolean {
    if (this.#process === null || this.#isPaused === isPaused) return false
    this.#isPaused = isPaused
    return this.#process.kill(isPaused ? 'SIGSTOP' : 'SIGCONT')
  }

  /** Replaces the faults on the messages that the agent receives. They outlast a restart. */
  injectFaults(faults: NetworkFaults): void {
    this.#faults = faults
    this.#supervisorLink?.write(`${JSON.stringify({ faults } satisfies SupervisorOrder)}\n`)
  }

  /** Tells the agent what was done to the processes and links of the group. */
  announce(local: LocalResponse): void {
    this.#supervisorLink?.write(`${JSON.stringify({ local } satisfies SupervisorOrder)}\n`)
  }

  /** Asks the agent to hand leadership over, to any node or to a chosen one. Returns the reason if it did not. */
  async stepDown(to: string | null = null): Promise<string | null> {
    try {
      const { url: agent, adminToken } = this.#options
      const signal = AbortSignal.timeout(to === null ? REQUEST_TIMEOUT_MS : STOP_TIMEOUT_MS)
      await stepDown({ agent, adminToken, to, signal })
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (child === null) return
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    if (this.#isPaused) child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await exited
    clearTimeout(timer)
  }

  /** Requests the status. */
  async refresh(): Promise<void> {
    if (this.state !== 'up') {
      this.status = null
      return
    }
    try {
      this.status = await getStatus({ agent: this.url, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    } catch {
      this.status = null
    }
  }

  get #supervisorLink(): Duplex | null {
    return (this.#process?.stdio[3] as Duplex | undefined) ?? null
  }
}

/** The agents are configured by flags only; CONCLAVE_* variables are meant for an agent that is run by hand. */
function withoutOwnVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CONCLAVE_')))
}
