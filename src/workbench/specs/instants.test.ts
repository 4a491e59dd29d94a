/**
 * Specifications about every instant are evaluated only when an observation arrives. Here they are compared
 * with a direct reading of the definition: walk through a generated trace instant by instant.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { connectivityAt, downAt, endedAt, judgement, leadsAt, viewAt } from '../../../test/support/traces.ts'
import { whyNotPlain } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { goals, monitor, type RunFacts, specs } from './index.ts'

const KAPPA = 6
const NODES = [1, 2, 3, 4]
const PAIRS = NODES.flatMap((a) => NODES.filter((b) => b > a).map((b) => [a, b] as const))
const RUN: RunFacts = {
  nodes: NODES,
  prefers: 'lowest',
  constants: { kappaT: KAPPA * 1000, kappaBI: KAPPA * 1000 },
}

/** The event at one instant, in whole milliseconds, at most one each. */
type Event =
  | { readonly do: 'lead'; readonly node: number; readonly for: number; readonly members: readonly number[] }
  | { readonly do: 'follow' | 'crash'; readonly node: number }
  | {
      readonly do: 'links'
      readonly running: readonly number[]
      readonly links: readonly (readonly number[])[]
    }
  | { readonly do: 'nothing' }

const node = fc.constantFrom(...NODES)
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('nothing' as const) }) },
  {
    weight: 3,
    arbitrary: fc
      .record({ node, length: fc.integer({ min: 1, max: 8 }), others: fc.subarray(NODES) })
      .map(({ node: self, length, others }) => ({
        do: 'lead' as const,
        node: self,
        for: length,
        members: NODES.filter((each) => each === self || others.includes(each)),
      })),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('follow' as const, 'crash' as const), node }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ running: fc.subarray(NODES, { minLength: 2 }), links: fc.subarray(PAIRS, { minLength: 3 }) })
      .map(({ running, links }) => ({
        do: 'links' as const,
        running,
        links: links.filter((pair) => pair.every((end) => running.includes(end))),
      })),
  },
)
const trace = fc.array(event, { minLength: 10, maxLength: 40 })

/** Sets of running nodes that are pairwise linked and linked with no other node. */
function stableOf(running: readonly number[], links: readonly (readonly number[])[]): readonly number[][] {
  const near = (a: number): number[] =>
    running.filter((b) => a === b || links.some((pair) => pair.includes(a) && pair.includes(b)))
  const sets = running.map(near).filter((set) => set.every((b) => String(near(b)) === String(set)))
  return [...new Map(sets.map((set) => [String(set), set])).values()]
}

function observe(each: Event, ms: number): readonly Observation[] {
  switch (each.do) {
    case 'lead':
      return [leadsAt(ms, each.node, ms + each.for, each.members, ms)]
    case 'follow':
      return [viewAt(ms, each.node, 'candidate')]
    case 'crash':
      return [downAt(ms, each.node)]
    case 'links': {
      const { running, links } = each
      const isFull = links.length === (running.length * (running.length - 1)) / 2
      const connected = isFull ? 'full' : (links as Connected)
      return [connectivityAt(ms, connected, stableOf(running, links))]
    }
    default:
      return []
  }
}

/** The state from one instant to the next. */
type Instant = {
  readonly leaders: ReadonlyMap<number, readonly number[]>
  readonly linked: ReadonlySet<string>
  readonly stable: readonly string[]
}

function instants(events: readonly Event[]): readonly Instant[] {
  const leases = new Map<number, { until: number; members: readonly number[] }>()
  let linked = new Set<string>()
  let stable: readonly string[] = []
  return events.map((each, ms) => {
    if (each.do === 'lead') leases.set(each.node, { until: ms + each.for, members: each.members })
    else if (each.do === 'links') {
      linked = new Set(each.links.map(String))
      stable = stableOf(each.running, each.links).map(String)
    } else if (each.do !== 'nothing') leases.delete(each.node)
    const current = [...leases].filter(([, { until }]) => until > ms)
    return { leaders: new Map(current.map(([leader, { members }]) => [leader, members])), linked, stable }
  })
}

/** Whether a condition holds at this instant and throughout the `KAPPA` before it. */
function lasted(all: readonly Instant[], at: number, what: (instant: Instant) => boolean): boolean {
  return at >= KAPPA && all.slice(at - KAPPA, at + 1).every(what)
}

const naive: { readonly [spec: string]: (all: readonly Instant[]) => boolean } = {
  'one-leader': (all) => all.every(({ leaders }) => leaders.size < 2),
  SO: (all) =>
    all.every(({ leaders }) => {
      const supporters = [...leaders.values()].flat()
      return new Set(supporters).size === supporters.length
    }),
  BI: (all) =>
    all.every(({ leaders }, at) =>
      [...leaders].every(([leader, members]) =>
        PAIRS.filter((pair) => pair.includes(leader)).every(
          (pair) =>
            !lasted(all, at, ({ linked }) => linked.has(String(pair))) ||
            pair.every((end) => members.includes(end)),
        ),
      ),
    ),
  'stable-inside-logical': (all) =>
    (naive['SO']?.(all) ?? false) &&
    all.every(({ leaders, stable }, at) =>
      [...leaders].every(([leader, members]) =>
        stable.every((part) => {
          const inside = part.split(',').map(Number)
          const applies = inside.includes(leader) && lasted(all, at, (each) => each.stable.includes(part))
          return !applies || inside.every((each) => members.includes(each))
        }),
      ),
    ),
  T: (all) =>
    all.every(({ stable }, at) =>
      stable.every((part) => {
        const inside = part.split(',').map(Number)
        const nobody = ({ leaders }: Instant): boolean => !inside.some((each) => leaders.has(each))
        return !lasted(all, at, (each) => each.stable.includes(part) && nobody(each))
      }),
    ),
}

const observationsOf = (events: readonly Event[]): readonly Observation[] => [
  ...events.flatMap(observe),
  endedAt(events.length),
]

describe('judged when something is seen, and at every instant', () => {
  it.each(Object.keys(naive))('%s comes out the same', (name) => {
    const seen = { held: 0, violated: 0 }
    fc.assert(
      fc.property(trace, (events) => {
        const expected = naive[name]?.(instants(events)) === true
        const isHeld = typeof judgement(name, RUN, observationsOf(events)) === 'string'
        seen[isHeld ? 'held' : 'violated'] += 1
        expect(isHeld).toBe(expected)
      }),
      { numRuns: 600 },
    )
    expect(Math.min(seen.held, seen.violated)).toBeGreaterThan(10)
  })
})

describe('memory', () => {
  it('is plain data, and the same object when an observation repeats', () => {
    const { begin, next } = monitor(specs, goals, RUN)
    fc.assert(
      fc.property(trace, (events) => {
        let memory = begin()
        for (const seen of observationsOf(events)) {
          memory = next(memory, seen)
          expect(whyNotPlain(memory)).toBe(null)
          if (seen.type === 'view') expect(next(memory, seen)).toBe(memory)
        }
      }),
      { numRuns: 100 },
    )
  })
})
