/**
 * The recent history of a group as a scenario for the playground: the same nodes, about the same delays, and for the end
 * of each term the fault that caused it. It is an approximation. The black boxes of the agents show the run itself.
 */
import type { Cause, ObservedNode, Status, Term } from '../data/types.ts'

type Id = ObservedNode['id']
type Event = { readonly atMs: number; readonly [field: string]: unknown }
export type Scenario = { readonly [field: string]: unknown }

/** The profiles of the package: δ and δmin, and how many times longer an election takes than with the first one. */
const PROFILES = [
  { profile: 'lan', deltaMs: 5, deltaMinMs: 0.1, times: 1 },
  { profile: 'region', deltaMs: 15, deltaMinMs: 0.2, times: 2 },
  { profile: 'wan', deltaMs: 150, deltaMinMs: 10, times: 6 },
] as const
type Profile = (typeof PROFILES)[number]

/** How many terms are shown. */
const MOST_TERMS = 12
/** Time for the first election. */
const BEFORE_MS = 1000
/** Long times in which nothing happens are shortened to this. */
const LONGEST_TERM_MS = 1500
const LONGEST_GAP_MS = 5000
/** A node returns this long after another one leads. */
const RETURN_MS = 500
const AFTER_MS = 2000

export function scenarioOf(status: Status, terms: readonly Term[]): Scenario {
  const nodes = status.nodes.map(({ id }) => id)
  const profile = profileOf(status)
  const { events, endsAtMs } = eventsOf(status, terms, profile)
  const protocol = protocolOf(status)
  return {
    protocol,
    nodes,
    ...optionsOf(status, protocol, profile),
    ...(status.mode === 'store' ? {} : { network: { delayMs: delayOf(status, profile) } }),
    clocks: { driftPpm: 50 },
    ...(events.length === 0 ? {} : { events }),
    untilMs: Math.ceil(endsAtMs + AFTER_MS * profile.times),
  }
}

function protocolOf({ mode, view }: Status): string {
  if (mode === 'store') return 'epochs'
  return view === undefined ? 'local-leader' : 'omega'
}

/** The fastest profile that assumes delays at least as long as the node does. */
function profileOf({ measured }: Status): Profile {
  const assumed = measured?.deltaMs ?? 0
  return PROFILES.find(({ deltaMs }) => deltaMs >= assumed) ?? PROFILES[2]
}

function optionsOf(
  { mode, nodes }: Status,
  protocol: string,
  { profile }: Profile,
): { readonly options?: object } {
  if (protocol === 'omega') return mode === 'local' ? { options: { quorum: 'none' } } : {}
  if (protocol !== 'local-leader') return {}
  const of = (role: string): readonly Id[] => nodes.flatMap((node) => (node.role === role ? [node.id] : []))
  const priorities = nodes.flatMap(({ id, priority }) =>
    priority === null || priority === 0 ? [] : [[id, priority] as const],
  )
  const options = {
    ...(mode === 'local' ? { mode } : {}),
    ...(profile === 'lan' ? {} : { profile }),
    ...(of('observer').length === 0 ? {} : { observers: of('observer') }),
    ...(of('witness').length === 0 ? {} : { witnesses: of('witness') }),
    ...(priorities.length === 0 ? {} : { priorities: Object.fromEntries(priorities) }),
  }
  return Object.keys(options).length === 0 ? {} : { options }
}

/** Half of the round trips that the agents measured, as far as they are timely. */
function delayOf({ nodes }: Status, { deltaMs, deltaMinMs }: Profile): readonly [number, number] {
  const trips = nodes.flatMap(({ rttMs, hears }) => [
    ...(rttMs === null ? [] : [rttMs]),
    ...Object.values(hears ?? {}).flatMap((each) => (each.rttMs === null ? [] : [each.rttMs])),
  ])
  if (trips.length === 0) return [deltaMinMs, deltaMs / 2]
  const half = (ms: number): number => Math.min(Math.max(deltaMinMs, Math.round(ms * 500) / 1000), deltaMs)
  return [half(Math.min(...trips)), half(Math.max(...trips))]
}

function eventsOf(
  status: Status,
  terms: readonly Term[],
  { times }: Profile,
): { readonly events: readonly Event[]; readonly endsAtMs: number } {
  const events: Event[] = []
  let atMs = BEFORE_MS * times
  const shown = terms.slice(-2 * MOST_TERMS)
  for (const [index, { leader, from, until, ended }] of shown.entries()) {
    if (until === null || leader === null) continue
    atMs += Math.min(Date.parse(until) - Date.parse(from), LONGEST_TERM_MS * times)
    const gapMs = gapAfter(shown[index + 1])
    if (ended !== null) events.push(...faultsOf(status, ended, leader, { atMs, gapMs }))
    atMs += gapMs
  }
  const endsAtMs = Math.max(atMs, ...events.map((event) => event.atMs))
  return { events: events.toSorted((a, b) => a.atMs - b.atMs), endsAtMs }
}

function gapAfter(next: Term | undefined): number {
  if (next === undefined || next.leader !== null || next.until === null) return 0
  return Math.min(Date.parse(next.until) - Date.parse(next.from), LONGEST_GAP_MS)
}

function faultsOf(
  { nodes, mode }: Status,
  { kind, node }: Cause,
  leader: Id,
  { atMs, gapMs }: { readonly atMs: number; readonly gapMs: number },
): readonly Event[] {
  const whom = node ?? leader
  const isBack = nodes.find(({ id }) => id === whom)?.reachable === true
  const lastsMs = Math.ceil(gapMs + RETURN_MS)
  const backAt = atMs + lastsMs
  const others = nodes.flatMap(({ id }) => (id === whom ? [] : [id]))
  const crash: readonly Event[] = [
    { atMs, crash: whom },
    ...(isBack ? [{ atMs: backAt, recover: whom }] : []),
  ]
  const cutOff: readonly Event[] = [
    { atMs, partition: [[whom], others] },
    ...(isBack ? [{ atMs: backAt, heal: 'all' }] : []),
  ]
  switch (kind) {
    case 'crashed':
      return crash
    case 'paused':
    case 'late':
      return [{ atMs, pause: whom, forMs: lastsMs }]
    case 'slept':
      return [{ atMs, suspend: whom, forMs: lastsMs }]
    case 'partitioned':
      return others.length === 0 || mode === 'store' ? crash : cutOff
    case 'slow-messages':
      return mode === 'store'
        ? []
        : [
            { atMs, slow: others.map((other) => [whom, other]), delayMs: 100 },
            { atMs: backAt, heal: 'all' },
          ]
    case 'handed-over':
    case 'stepped-down':
      return [{ atMs, command: { node: leader, do: 'stepDown' } }]
    case 'unknown':
      return isBack || others.length === 0 || mode === 'store' ? [] : crash
    case 'started':
    default:
      return []
  }
}
