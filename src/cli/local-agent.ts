/** An agent on this machine: a process of its own, started, watched and ended from here. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type StatusAnswer, statusOf, stepDown } from '../client/index.ts'

export type AgentStanding = 'up' | 'paused' | 'down'

/** An agent that says nothing for so long is shown as silent. */
const ANSWER_MS = 500
/** How long an agent may take to hand over and end. */
const FAREWELL_MS = 3000

export class LocalAgent {
  readonly id: string
  readonly url: string
  readonly #adminToken: string
  readonly #words: readonly string[]
  #process: ChildProcess | null = null
  #isPaused = false
  /** The last lines that it said. */
  readonly said: string[] = []
  seen: StatusAnswer | null = null

  constructor(id: string, url: string, adminToken: string, words: readonly string[]) {
    this.id = id
    this.url = url
    this.#adminToken = adminToken
    this.#words = words
  }

  get standing(): AgentStanding {
    if (this.#process === null) return 'down'
    return this.#isPaused ? 'paused' : 'up'
  }

  start(): void {
    if (this.#process !== null) return
    const conclave = fileURLToPath(new URL('./main.js', import.meta.url))
    // It ends when this process does, however that ends: the descriptor is closed then.
    const child = spawn(process.execPath, [conclave, 'agent', ...this.#words], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, CONCLAVE_SUPERVISOR_FD: '3' },
    })
    this.#process = child
    this.#isPaused = false
    child.stderr?.on('data', (data: Buffer) => {
      this.said.push(...data.toString().split('\n').filter(Boolean))
      this.said.splice(0, this.said.length - 20)
    })
    child.once('exit', () => {
      if (this.#process === child) this.#process = null
      this.seen = null
    })
  }

  kill(): void {
    this.#process?.kill('SIGKILL')
  }

  /** Stops it where it stands, or lets it go on. */
  pause(): void {
    if (this.#process === null) return
    this.#isPaused = !this.#isPaused
    this.#process.kill(this.#isPaused ? 'SIGSTOP' : 'SIGCONT')
  }

  /** Asks it to hand the lead over. */
  async handOver(): Promise<void> {
    try {
      await stepDown({
        agent: this.url,
        adminToken: this.#adminToken,
        signal: AbortSignal.timeout(ANSWER_MS),
      })
    } catch {
      // Whoever watches sees that nothing has changed.
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
      this.seen = await statusOf({ agent: this.url, signal: AbortSignal.timeout(ANSWER_MS) })
    } catch {
      this.seen = null
    }
  }
}
