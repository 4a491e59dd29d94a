/**
 * The verdict of the specifications on a real run.
 *
 * Leases of different nodes are compared on one time scale with a known error. They are judged for the time that they
 * certainly lasted: each begins later and ends earlier by half of the error. So every reported violation is real. An
 * overlap shorter than the error may be missed, and the report states that error.
 */
import type { Definition, Micros, NodeId, Output, PlainObject, View } from '../../core/index.ts'
import { hostingOf } from '../../protocols/index.ts'
import { factsOf, promisedSpecs, type TermRecord, TermRecorder } from '../scenario/index.ts'
import { monitor, type SpecVerdict, Watch } from '../specs/index.ts'
import { type Observation, observationsOf } from '../trace/index.ts'
import { type Event, type Run, type Scale } from './index.ts'
import type { Replayed } from './replay.ts'

export type Judged = { readonly specs: readonly SpecVerdict[]; readonly leaderships: readonly TermRecord[] }

/** Specifications of a single node or a single epoch, which need no common time scale. */
const WITHOUT_CLOCKS: readonly string[] = ['told-in-pairs', 'LS', 'one-leader-an-epoch', 'epoch-agreement']

const NO_SCALE = 'not judged: no message relates the clocks of these hosts'

export function judge(
  definition: Definition,
  options: PlainObject,
  runs: readonly Run[],
  events: readonly Event[],
  scale: Scale,
  { views }: Replayed,
): Judged {
  const nodes = runs[0]?.header.nodes ?? []
  const promised = promisedSpecs(definition, options)
  const forensics = hostingOf(definition.name)?.forensics ?? null
  const unjudged = forensics?.unjudged(runs) ?? {}
  const judgeable = promised.filter(
    ({ name }) => unjudged[name] === undefined && (scale.error !== null || WITHOUT_CLOCKS.includes(name)),
  )
  const watch = new Watch(monitor(judgeable, [], factsOf(definition, nodes, options)))
  const leaderships = new TermRecorder()
  const all = observe(runs, events, scale, views)
  for (const seen of all) leaderships.observe(seen)
  const known = forensics?.complete<Observation>(all, runs, outputOf) ?? all
  for (const seen of known) watch.observe(seen)
  const verdicts = new Map(watch.verdicts().map((verdict) => [verdict.name, verdict]))
  const specs = promised.map(({ name }): SpecVerdict => {
    return verdicts.get(name) ?? { name, verdict: 'vacuous', why: unjudged[name] ?? NO_SCALE }
  })
  return { specs, leaderships: leaderships.list() }
}

function outputOf(at: Micros, node: NodeId, event: Output): Observation {
  return { type: 'output', at, node, event }
}

/** All observations in order, starting at time 0. */
function observe(
  runs: readonly Run[],
  events: readonly Event[],
  scale: Scale,
  views: ReadonlyMap<Event['step'], View>,
): readonly Observation[] {
  const begin = events[0]?.at ?? 0
  const half = Math.ceil((scale.error ?? 0) / 2)
  const times = surely(runs, events, half, views)
  const all: { readonly at: Micros; readonly seen: Observation }[] = []
  const running = new Map<Run['node'], number>()
  for (const event of events) {
    const { run, step } = event
    const { record } = step
    const { node } = record
    const at = (times.get(step) ?? event.at) - begin
    const earlier = running.get(node)
    if (earlier !== undefined && earlier !== run) all.push({ at, seen: { type: 'down', at, node } })
    // A gap in the recording of a run is not a restart.
    const isGap = record.type === 'resume' && earlier === run
    running.set(node, run)
    if (!isGap) {
      for (const seen of observationsOf({ ...record, at })) {
        if (!isOfAnother(seen, runs[run])) all.push({ at, seen })
      }
    }
    const view = views.get(step)
    if (view === undefined) continue
    const until = view.until === null ? null : view.until + (scale.ahead[run] ?? 0) - half - begin
    all.push({ at, seen: { type: 'view', at, node, view, until } })
  }
  const ordered = all.toSorted((a, b) => a.at - b.at).map(({ seen }) => seen)
  return [...ordered, { type: 'ended', at: ordered.at(-1)?.at ?? 0 }]
}

/** Whether the output belongs to another group of the process. */
function isOfAnother(seen: Observation, run: Run | undefined): boolean {
  const group = seen.type === 'output' ? seen.event['group'] : undefined
  return group !== undefined && group !== run?.recording.group
}

/**
 * The latest possible time of each step that made a leader, and the earliest of every other step, in the order of each
 * run.
 */
function surely(
  runs: readonly Run[],
  events: readonly Event[],
  half: Micros,
  views: ReadonlyMap<Event['step'], View>,
): ReadonlyMap<Event['step'], Micros> {
  const times = new Map<Event['step'], Micros>()
  const next = runs.map(() => Number.POSITIVE_INFINITY)
  for (const { run, step, at } of events.toReversed()) {
    const isLead = views.get(step)?.role === 'leader'
    const shifted = Math.min(isLead ? at + half : at - half, next[run] ?? at)
    next[run] = shifted
    times.set(step, shifted)
  }
  return times
}
