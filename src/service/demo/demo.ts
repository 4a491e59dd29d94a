/** Renders a fractal on a cluster of real processes: starts them, submits the tiles, injects faults, and compares. */
import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../chaos/free-ports.ts'
import { toleranceOf } from '../recovery/cluster/options.ts'
import { Watch } from '../recovery/cluster/watch.ts'
import { Killer, planKills } from './kills.ts'
import { DemoNode } from './node.ts'
import { Observed } from './observed.ts'
import type { Picture } from './picture/mandelbrot.ts'
import { cutIntoTiles } from './picture/tiles.ts'
import { renderReference } from './reference.ts'
import type { DemoCounts, DemoState } from './state.ts'

export type DemoOptions = {
  readonly nodes: number
  readonly picture: Picture
  readonly tiles: number
  /** How many nodes are killed while it renders. */
  readonly kill: number
  readonly seed: number
  /** How long the job of a tile rests after each checkpoint, so that the picture grows slowly enough to watch. */
  readonly pauseMs: number
  /** Silence after which a node counts as lost. */
  readonly timeoutMs: number
  /** For the data directories of the nodes. */
  readonly folder: string
  /** Called for each process that is started. */
  onStart(child: ChildProcess): void
}

export type DemoResult = DemoCounts & {
  readonly identical: boolean
  /** SHA-256 of the pixels. */
  readonly digest: string
  /** From the start of the processes to the last row. */
  readonly seconds: number
}

/** The node cannot be killed or revived now. */
export class DemoRefusedError extends Error {
  override readonly name = 'DemoRefusedError'
}

/** A node or a tile cannot continue. */
export class DemoFailedError extends Error {
  override readonly name = 'DemoFailedError'
}

/** Jobs that a node runs at a time. */
const SLOTS = 2
/** Checkpoints per tile, as far as its rows suffice. */
const CHECKPOINTS = 12
/** Submissions at a time. */
const MAX_SUBMITTING = 4
const RETRY_MS = 200
/** Pings that must be missed in a row before a node counts as lost. */
const PINGS = 5

export class FractalDemo {
  readonly observed: Observed
  readonly #options: DemoOptions
  readonly #nodes: readonly DemoNode[]
  readonly #watch = new Watch()
  readonly #listeners = new Set<() => void>()
  readonly #submitting = new Set<string>()
  /** The view in which the group accepted the job of a tile. */
  readonly #accepted = new Map<string, number>()
  #isClosed = false

  private constructor(options: DemoOptions, ports: readonly number[]) {
    const { picture, tiles, nodes, folder, timeoutMs } = options
    const pingMs = timeoutMs / PINGS
    const times = { pingMs, alphaMs: timeoutMs - pingMs, timeoutMs: timeoutMs + 2 * pingMs }
    this.#options = options
    const digits = String(tiles).length
    const named = cutIntoTiles(picture, tiles).map((tile, index) => ({
      ...tile,
      name: `tile-${String(index + 1).padStart(digits, '0')}`,
    }))
    this.observed = new Observed(picture, named, toleranceOf(nodes))
    const key = randomBytes(32)
    const addresses = ports.map((port, index) => ({ id: `n${index + 1}`, at: `127.0.0.1:${port}` }))
    this.#nodes = addresses.map(({ id, at }) => {
      const peers = addresses.filter((peer) => peer.id !== id).map((peer) => `${peer.id}=${peer.at}`)
      const start = { id, listen: at, peers, key, data: join(folder, id), slots: SLOTS, options: times }
      return new DemoNode(start, {
        started: options.onStart,
        ended: () => {
          if (!this.#isClosed) this.observed.report(`${id} has ended`)
          this.#changed()
        },
        received: (message) => {
          this.observed.receive(id, message)
          this.#changed()
        },
        offered: async (entry) => {
          const acceptance = await this.observed.accept(entry)
          this.#changed()
          return acceptance
        },
      })
    })
  }

  static async open(options: DemoOptions): Promise<FractalDemo> {
    return new FractalDemo(options, await findFreePorts(options.nodes, 'both'))
  }

  get nodes(): readonly DemoNode[] {
    return this.#nodes
  }

  state(): DemoState {
    return this.observed.state(this.#nodes)
  }

  /** Calls the listener after every change. Returns the function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Rejects when aborted, and when the demonstration is closed before. */
  async until(isSo: () => boolean, signal?: AbortSignal): Promise<void> {
    const holds = await this.#watch.until(isSo, signal)
    if (!holds) throw new DemoFailedError('the demonstration is closed')
  }

  /** `kill -9`. Rejects with DemoRefusedError if the group would not survive it. */
  async kill(id: string): Promise<void> {
    const node = this.#find(id)
    if (!node.isUp) throw new DemoRefusedError(`${id} is down`)
    const { keepReason } = this.observed.nodeState(node, this.#nodes)
    if (keepReason !== null) throw new DemoRefusedError(`${id} must not be killed now: ${keepReason}`)
    this.observed.count('kills')
    this.observed.report(`kill -9 ${id}`)
    await node.kill()
  }

  revive(id: string): void {
    const node = this.#find(id)
    if (node.isUp) throw new DemoRefusedError(`${id} is up`)
    this.observed.count('revivals')
    this.observed.report(`${id} is started again`)
    node.start()
    this.#changed()
  }

  /** Renders the picture, and then compares it. Rejects when aborted, and when a tile fails. */
  async run(signal: AbortSignal): Promise<DemoResult> {
    for (const node of this.#nodes) node.start()
    await this.until(() => this.#isFormed() || this.observed.problem !== null, signal)
    this.observed.phase = 'rendering'
    await this.#render(signal)
    const { seconds } = this.observed
    this.observed.phase = 'checking'
    this.observed.report('the picture is complete; computing it again without failures')
    this.#changed()
    return { ...(await this.#compare(signal)), ...this.observed.counts, seconds }
  }

  /** Ends all node processes. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#watch.close()
    await Promise.all(this.#nodes.map((node) => node.kill()))
  }

  #find(id: string): DemoNode {
    const node = this.#nodes.find((each) => each.id === id)
    if (node === undefined) throw new DemoRefusedError(`no node is called ${JSON.stringify(id)}`)
    return node
  }

  #changed(): void {
    this.#watch.notify()
    for (const listener of this.#listeners) listener()
  }

  /** All nodes that are up are in one view. */
  #isFormed(): boolean {
    const members = this.observed.view?.members ?? []
    return members.length > 0 && this.#nodes.every(({ id, isUp }) => !isUp || members.includes(id))
  }

  async #render(signal: AbortSignal): Promise<void> {
    const { kill, seed } = this.#options
    const killer = new Killer(planKills(kill, seed))
    const advance = (): boolean => {
      this.#submitMissing(signal)
      this.#injectFault(killer)
      return this.observed.problem !== null || this.#isRendered()
    }
    await this.until(advance, signal)
    if (this.observed.problem !== null) throw new DemoFailedError(this.observed.problem)
  }

  #isRendered(): boolean {
    const { tiles, isComplete } = this.observed
    return isComplete && tiles.every(({ name }) => this.observed.jobOf(name)?.status === 'done')
  }

  #injectFault(killer: Killer): void {
    const fault = killer.next(this.observed.done, this.state())
    if (fault === null) return
    if ('revive' in fault) {
      // A person may have revived it on the page.
      if (!this.#find(fault.revive).isUp) this.revive(fault.revive)
    } else void this.kill(fault.kill)
  }

  #submitMissing(signal: AbortSignal): void {
    const { tiles, view } = this.observed
    const able = this.#nodes.filter(({ id, isUp }) => isUp && view?.members.includes(id) === true)
    if (able.length === 0 || view === null) return
    const missing = tiles.filter(({ name }) => this.#isMissing(name) && !this.#submitting.has(name))
    for (const tile of missing.slice(0, MAX_SUBMITTING - this.#submitting.size)) {
      this.#submitting.add(tile.name)
      const node = able[this.#accepted.size % able.length] as DemoNode
      void this.#submit(node, tile.name, view.token, signal)
    }
  }

  async #submit(node: DemoNode, name: string, token: number, signal: AbortSignal): Promise<void> {
    const { picture, pauseMs } = this.#options
    const tile = this.observed.tiles.find((each) => each.name === name)
    if (tile === undefined) return
    const { left, top, width, height } = tile
    const checkpointRows = Math.max(1, Math.ceil(height / CHECKPOINTS))
    const input = { picture, tile: { left, top, width, height }, checkpointRows, pauseMs }
    const problem = await node.submit(name, input)
    if (problem === null) this.#accepted.set(name, token)
    else await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    this.#submitting.delete(name)
    if (!this.#isClosed && !signal.aborted) this.#changed()
  }

  /** A job whose node is lost before its definition is stored was never submitted. */
  #isMissing(name: string): boolean {
    const job = this.observed.jobOf(name)
    if (job?.status === 'cancelled') return true
    if (job !== null) return false
    const accepted = this.#accepted.get(name)
    return accepted === undefined || accepted < this.observed.jobsToken
  }

  async #compare(signal: AbortSignal): Promise<Pick<DemoResult, 'identical' | 'digest'>> {
    const { canvas, tiles } = this.observed
    const reference = await renderReference(canvas.picture, tiles, signal)
    const identical = Buffer.compare(reference, canvas.pixels) === 0
    this.observed.identical = identical
    this.observed.phase = 'done'
    this.observed.report(
      identical ? 'identical to the picture without failures' : 'DIFFERENT from the picture without failures',
    )
    this.#changed()
    return { identical, digest: createHash('sha256').update(canvas.pixels).digest('hex') }
  }
}
