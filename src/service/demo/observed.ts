/** Collects what the nodes report into the state that is shown, and is the sink of the tiles. */
import type { JobState } from '../recovery/cluster/handle.ts'
import { type Acceptance, openMemorySink, type Sink, type SinkEntry } from '../recovery/sink/index.ts'
import type { FromNode, NodeView } from './messages.ts'
import type { Picture, Tile } from './picture/mandelbrot.ts'
import { Canvas } from './picture/tiles.ts'
import type { DemoCounts, DemoEvent, DemoState, NodeState, TileState } from './state.ts'
import { parseStart } from './tile-job.ts'

const MAX_EVENTS = 100

export type NamedTile = Tile & { readonly name: string }

/** A node, as far as its state is shown. */
export type ObservedNode = { readonly id: string; readonly isUp: boolean; readonly view: NodeView | null }

type View = NonNullable<DemoState['view']>

export class Observed {
  readonly canvas: Canvas
  readonly tiles: readonly NamedTile[]
  readonly tolerated: number
  readonly #startedAt = performance.now()
  readonly #byName: ReadonlyMap<string, NamedTile>
  readonly #sink: Sink
  /** Numbers of the rows that the sink has, by tile. */
  readonly #rows: ReadonlyMap<string, Set<number>>
  readonly #runs = new Map<string, number>()
  readonly #events: DemoEvent[] = []
  readonly #counts: { -readonly [name in keyof DemoCounts]: number } = {
    kills: 0,
    revivals: 0,
    resumed: 0,
    checkpoints: 0,
    duplicates: 0,
    fenced: 0,
    views: 0,
  }
  #jobs: ReadonlyMap<string, JobState> = new Map()
  #jobsToken = -1
  #view: View | null = null
  #step: DemoState['step'] = null
  phase: DemoState['phase'] = 'starting'
  identical: boolean | null = null
  /** Why the picture cannot be completed. */
  problem: string | null = null
  onEvent: (event: DemoEvent) => void = () => {}

  constructor(picture: Picture, tiles: readonly NamedTile[], tolerated: number) {
    this.canvas = new Canvas(picture)
    this.tiles = tiles
    this.tolerated = tolerated
    this.#byName = new Map(tiles.map((tile) => [tile.name, tile]))
    this.#rows = new Map(tiles.map(({ name }) => [name, new Set()]))
    this.#sink = openMemorySink((entry) => this.#draw(entry))
  }

  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  get counts(): DemoCounts {
    return this.#counts
  }

  get view(): View | null {
    return this.#view
  }

  /** The view whose fault manager reported the jobs last; -1 before the first report. */
  get jobsToken(): number {
    return this.#jobsToken
  }

  /** The share of the picture that the sink has, from 0 to 1. */
  get done(): number {
    const total = this.tiles.reduce((sum, { height }) => sum + height, 0)
    const has = [...this.#rows.values()].reduce((sum, { size }) => sum + size, 0)
    return has / total
  }

  get isComplete(): boolean {
    return this.tiles.every(({ name, height }) => this.#rows.get(name)?.size === height)
  }

  /** As the fault manager reported the job of the tile last. */
  jobOf(name: string): JobState | null {
    return this.#jobs.get(name) ?? null
  }

  /** Rows of a tile that have arrived without a gap, from the top. */
  rowsOf(name: string): number {
    const rows = this.#rows.get(name)
    let count = 0
    while (rows?.has(count) === true) count += 1
    return count
  }

  report(text: string): void {
    const event = { seconds: this.seconds, text }
    this.#events.push(event)
    this.#events.splice(0, this.#events.length - MAX_EVENTS)
    this.onEvent(event)
  }

  count(what: 'kills' | 'revivals'): void {
    this.#counts[what] += 1
  }

  async accept(entry: SinkEntry): Promise<Acceptance> {
    const acceptance = await this.#sink.accept(entry)
    if (acceptance === 'duplicate') this.#counts.duplicates += 1
    if (acceptance === 'fenced') this.#counts.fenced += 1
    return acceptance
  }

  receive(node: string, message: Exclude<FromNode, { type: 'offer' | 'submitted' }>): void {
    switch (message.type) {
      case 'view':
        this.#learnView(message.view)
        break
      case 'step':
        if (node === this.#view?.leader) this.#step = { step: message.step, token: message.token }
        break
      case 'jobs':
        this.#learnJobs(message.token, message.jobs)
        break
      case 'log':
        this.#learnLog(node, message.job, message.text)
        break
      case 'warning':
        this.report(`${node}: ${message.text}`)
        break
      case 'failed':
        this.#fail(`${node} failed: ${message.message}`)
        break
      case 'ready':
        break
      default:
        message satisfies never
    }
  }

  state(nodes: readonly ObservedNode[]): DemoState {
    const { phase, seconds, tolerated, counts, identical } = this
    return {
      phase,
      picture: this.canvas.picture,
      seconds,
      tolerated,
      nodes: nodes.map((node) => this.nodeState(node, nodes)),
      view: this.#view,
      step: this.#step,
      tiles: this.tiles.map((tile) => this.#tileState(tile)),
      counts,
      identical,
      events: this.#events,
    }
  }

  nodeState(node: ObservedNode, nodes: readonly ObservedNode[]): NodeState {
    const status = this.#statusOf(node)
    return { id: node.id, status, keepReason: status === 'down' ? null : this.#keepReason(node, nodes) }
  }

  #statusOf({ id, isUp }: ObservedNode): NodeState['status'] {
    if (!isUp) return 'down'
    return this.#view?.members.includes(id) === true ? 'up' : 'joining'
  }

  /** A node that has not joined again counts as lost. */
  #keepReason(node: ObservedNode, nodes: readonly ObservedNode[]): string | null {
    if (this.#view === null) return 'the nodes have not formed a view yet'
    const others = nodes.filter((each) => each !== node && this.#statusOf(each) !== 'up')
    if (others.length < this.tolerated) return null
    return this.tolerated === 0
      ? `a group of ${nodes.length} nodes tolerates no loss`
      : `${others.map(({ id }) => id).join(' and ')} must return first`
  }

  #tileState(tile: NamedTile): TileState {
    const { name, left, top, width, height } = tile
    const { status = 'unknown', node = null, epoch = null, holders = [] } = this.#jobs.get(name) ?? {}
    const rows = this.rowsOf(name)
    return { name, left, top, width, height, rows, status, node, epoch, holders }
  }

  #draw({ job, seq, output }: SinkEntry): void {
    const tile = this.#byName.get(job)
    if (tile === undefined || !(output instanceof Uint8Array) || seq >= tile.height) return
    this.canvas.drawRow(tile, seq, output)
    this.#rows.get(job)?.add(seq)
  }

  #learnView({ token, leader, members }: NodeView): void {
    if (token === null || leader === null || token <= (this.#view?.token ?? -1)) return
    this.#view = { token, leader, members }
    this.#step = null
    this.#counts.views += 1
    this.report(`view ${token}: ${members.join(', ')}; ${leader} is the fault manager`)
  }

  #learnJobs(token: number, jobs: readonly JobState[]): void {
    if (token < this.#jobsToken) return
    this.#jobsToken = token
    for (const { name, status, reason, epoch } of jobs) {
      const before = this.#jobs.get(name)
      if (status === 'failed') this.#fail(`${name} failed: ${reason}`)
      if (status === 'lost' && before?.status !== 'lost') this.report(`${name} is lost: ${reason}`)
      this.#counts.checkpoints += Math.max(0, (epoch ?? 0) - (before?.epoch ?? 0))
    }
    this.#jobs = new Map(jobs.map((job) => [job.name, job]))
  }

  #fail(problem: string): void {
    if (this.problem === null) this.report(problem)
    this.problem ??= problem
  }

  #learnLog(node: string, job: string, text: string): void {
    const row = parseStart(text)
    if (row === null) {
      this.report(`${job} at ${node}: ${text}`)
      return
    }
    const runs = (this.#runs.get(job) ?? 0) + 1
    this.#runs.set(job, runs)
    if (runs === 1) return
    this.#counts.resumed += 1
    this.report(`${node} resumes ${job} at row ${row}`)
  }
}
