/** What happened to each node over time: its roles, its leases, its timers and its stalls. */
import {
  isList,
  type Micros,
  microsOf,
  type NodeId,
  type PlainObject,
} from '../../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../../src/workbench/trace/index.ts'
import type { Lane } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'
import { type ClockLine, clockLines } from './clock-line.ts'
import { LeaseLine } from './lease-line.ts'
import { RoleLine } from './role-line.ts'
import { TimerLine } from './timer-line.ts'

type Load = { from: Micros; to: Micros }
type Stall = { from: Micros; to: Micros; kind: 'paused' | 'suspended' }

export function lanesOf(run: RecordedRun): readonly Lane[] {
  const { header, records, endsAt } = run
  const clocks = clockLines(run)
  const builders = new Map(
    header.nodes.map((node) => [node, new LaneBuilder(node, clocks.get(node) as ClockLine, run)]),
  )
  for (const [moment, record] of records.entries()) {
    if (record.type === 'world') applyEvent(builders, record.event, record.at, moment)
    else if (record.type === 'tick') {
      for (const { node, view } of record.views) builders.get(node)?.roles.see(record.at, moment, view)
    } else if (record.type !== 'lost') builders.get(record.node)?.take(record, moment)
  }
  return [...builders.values()].map((builder) => builder.build(endsAt))
}

function applyEvent(
  builders: ReadonlyMap<NodeId, LaneBuilder>,
  event: PlainObject,
  at: Micros,
  moment: number,
): void {
  const crashed = crashOf(event)
  if (crashed !== null) builders.get(crashed)?.crash(at, moment)
  const { pause, suspend, forMs, load, lateMs, delayMs, ignored } = event
  if (load !== undefined && ignored === undefined) {
    const isLoaded = (lateMs ?? 0) !== 0 || (delayMs ?? 0) !== 0
    for (const [node, builder] of builders)
      if (load === 'all' || (isList(load) && load.includes(node))) builder.load(at, isLoaded)
  }
  if (typeof forMs !== 'number') return
  builders.get(pause as NodeId)?.stall(at, microsOf(forMs), 'paused')
  builders.get(suspend as NodeId)?.stall(at, microsOf(forMs), 'suspended')
}

/** The node that an event takes down. A crash in the middle of a step shows in that step instead. */
export function crashOf(event: PlainObject): NodeId | null {
  const node = event['do'] === 'crash' ? event['node'] : event['crash']
  if ('afterEffects' in event) return null
  return typeof node === 'number' || typeof node === 'string' ? node : null
}

class LaneBuilder {
  readonly roles = new RoleLine()
  readonly #node: NodeId
  readonly #clock: ClockLine
  readonly #leases: LeaseLine
  readonly #timers: TimerLine
  readonly #stalls: Stall[] = []
  readonly #loads: Load[] = []
  readonly #isUntimed: boolean
  readonly #views: RecordedRun['views']

  constructor(node: NodeId, clock: ClockLine, { isUntimed, views, measured }: RecordedRun) {
    this.#node = node
    this.#clock = clock
    this.#leases = new LeaseLine(clock)
    this.#timers = new TimerLine(isUntimed ? null : clock, (moment, name) =>
      measured === null ? null : measured.dueIn(moment, node, name),
    )
    this.#isUntimed = isUntimed
    this.#views = views
  }

  take(record: TraceRecord & { readonly type: 'start' | 'step' | 'resume' }, moment: number): void {
    const { at, now } = record
    if (record.type === 'step' && record.failed !== undefined) {
      if (record.failed.isFatal) this.crash(at, moment)
      return
    }
    const view = this.#views.get(moment) ?? (record.type === 'resume' ? null : record.view)
    if (record.type !== 'resume') this.#timers.take(record, moment)
    if (record.type !== 'resume' && record.cutAfter !== null) {
      this.crash(at, moment)
      return
    }
    if (view === null) {
      if (record.type === 'resume') this.roles.resume(at, moment)
      return
    }
    this.roles.see(at, moment, view)
    if (!this.#isUntimed) this.#leases.see(at, now, view)
  }

  crash(at: Micros, moment: number): void {
    if (!this.roles.isUp) return
    this.roles.crash(at, moment)
    this.#leases.end(at)
    this.#timers.stopAll(at)
    for (const stall of this.#stalls) stall.to = Math.min(stall.to, at)
  }

  stall(at: Micros, length: Micros, kind: Stall['kind']): void {
    if (this.roles.isUp) this.#stalls.push({ from: at, to: at + length, kind })
  }

  /** A load lasts until another takes its place, or none. */
  load(at: Micros, isLoaded: boolean): void {
    const last = this.#loads.at(-1)
    if (last !== undefined) last.to = Math.min(last.to, at)
    if (isLoaded) this.#loads.push({ from: at, to: Number.POSITIVE_INFINITY })
  }

  build(endsAt: Micros): Lane {
    return {
      node: this.#node,
      roles: this.roles.build(endsAt),
      leases: this.#leases.build(),
      stalls: this.#stalls
        .map((stall) => ({ ...stall, to: Math.min(stall.to, endsAt) }))
        .filter(({ from, to }) => to > from),
      loads: this.#loads
        .map(({ from, to }) => ({ from, to: Math.min(to, endsAt) }))
        .filter(({ from, to }) => to > from),
      clock: this.#clock.pieces.filter(({ from }) => from <= endsAt),
      timers: this.#timers.build(endsAt),
    }
  }
}
