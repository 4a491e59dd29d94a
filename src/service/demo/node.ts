/** A node process of the demonstration, as its parent sees it: started, killed with `kill -9`, and started again. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Acceptance, SinkEntry } from '../recovery/sink/index.ts'
import { readLines } from '../supervise/lines.ts'
import type { FromNode, NodeStart, NodeView, ToNode } from './messages.ts'
import type { TileInput } from './tile-job.ts'

/** The sources are not run as they are: their tests use the bundled process. */
const SCRIPT = fileURLToPath(new URL('../../../dist/bundle/service/demo/node-process.js', import.meta.url))

export type NodeEvents = {
  /** Called for each process that is started. */
  started(child: ChildProcess): void
  /** The process has ended. */
  ended(): void
  received(message: Exclude<FromNode, { type: 'offer' | 'submitted' }>): void
  /** An output for the sink. */
  offered(entry: SinkEntry): Promise<Acceptance>
}

export class DemoNode {
  readonly #start: Omit<NodeStart, 'killAtStep'>
  readonly #events: NodeEvents
  readonly #submissions = new Map<number, (problem: string | null) => void>()
  #process: ChildProcess | null = null
  #calls = 0
  /** As the node reported it last; null while the process is down. */
  view: NodeView | null = null
  #killAtStep: number | null = null

  constructor(start: Omit<NodeStart, 'killAtStep'>, events: NodeEvents) {
    this.#start = start
    this.#events = events
  }

  get id(): string {
    return this.#start.id
  }

  get isUp(): boolean {
    return this.#process !== null
  }

  /** Does nothing if the process runs. */
  start(): void {
    if (this.#process !== null) return
    const child = fork(SCRIPT, {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process = child
    child.on('message', (message: FromNode) => this.#receive(child, message))
    child.on('error', () => {})
    if (child.stderr !== null)
      readLines(child.stderr, (text) => this.#events.received({ type: 'warning', text }))
    child.once('exit', () => this.#end(child))
    this.#events.started(child)
    this.#send({ type: 'start', start: { ...this.#start, killAtStep: this.#killAtStep } })
  }

  /** `kill -9`. Resolves when the process is gone. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === null) return
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await gone
  }

  /** The process kills itself when it begins this step of recovery, also after it is started again; null: never. */
  set killAtStep(step: number | null) {
    this.#killAtStep = step
    this.#send({ type: 'killAtStep', step })
  }

  /** Resolves to null when the group has the job; otherwise to the problem. */
  submit(job: string, input: TileInput): Promise<string | null> {
    if (this.#process === null) return Promise.resolve(`${this.id} is down`)
    this.#calls += 1
    const call = this.#calls
    return new Promise((resolve) => {
      this.#submissions.set(call, resolve)
      this.#send({ type: 'submit', call, job, input })
    })
  }

  #send(message: ToNode): void {
    // A process that has just been killed cannot receive it.
    this.#process?.send(message, () => {})
  }

  #receive(child: ChildProcess, message: FromNode): void {
    if (this.#process !== child) return
    switch (message.type) {
      case 'offer':
        void this.#events.offered(message.entry).then((acceptance) => {
          if (this.#process === child) this.#send({ type: 'accepted', call: message.call, acceptance })
        })
        return
      case 'submitted':
        this.#submissions.get(message.call)?.(message.problem)
        this.#submissions.delete(message.call)
        return
      case 'view':
        this.view = message.view
        break
      default:
    }
    this.#events.received(message)
  }

  #end(child: ChildProcess): void {
    if (this.#process !== child) return
    this.#process = null
    this.view = null
    for (const resolve of this.#submissions.values()) resolve(`${this.id} ended`)
    this.#submissions.clear()
    this.#events.ended()
  }
}
