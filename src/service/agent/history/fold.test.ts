import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Cause, Id } from '../../client/index.ts'
import {
  type Entry,
  foldHistory,
  type History,
  MAX_ENTRIES,
  type Observation,
  type ObservedNode,
  openQuestions,
  type Surroundings,
  startHistory,
} from './fold.ts'

const IDS = ['a', 'b', 'c']
const node = (id: Id, change: Partial<ObservedNode> = {}): ObservedNode => ({
  id,
  reachable: true,
  run: `run-${id}`,
  lastTerm: null,
  ...change,
})
const around = (change: Partial<Surroundings> = {}): Surroundings => ({
  voters: [IDS],
  nodes: IDS.map((id) => node(id)),
  supervised: null,
  ...change,
})
const nodesWith = (...changed: readonly ObservedNode[]): readonly ObservedNode[] =>
  IDS.map((id) => changed.find((each) => each.id === id) ?? node(id))
const leads = (
  at: number,
  id: Id,
  token: number | null,
  change: Partial<Surroundings> = {},
): Observation => ({
  type: 'leader',
  at,
  leader: { id, token },
  around: around(change),
})
const nobody = (at: number, change: Partial<Surroundings> = {}): Observation => ({
  type: 'leader',
  at,
  leader: null,
  around: around(change),
})

const foldAll = (...observations: readonly Observation[]): History =>
  observations.reduce((history, each) => foldHistory(history, each).history, startHistory('b', 0))
const shown = ({ entries }: History): readonly string[] =>
  entries.map(
    ({ leader, token, from, until, cause, ended }) =>
      `${leader ?? '-'}/${token ?? '-'} ${from}..${until ?? ''} ${(cause ?? ended)?.kind ?? ''}`,
  )
const textOf = ({ entries }: History): string | undefined =>
  entries.find(({ leader }) => leader === 'a')?.ended?.text

const LOST = nodesWith(node('a', { reachable: false }))

describe('terms and gaps', () => {
  it('begins with a gap until the first leader', () => {
    expect(shown(foldAll())).toEqual(['-/- 0.. started'])
    expect(shown(foldAll(leads(5, 'a', 1)))).toEqual(['-/- 0..5 started', 'a/1 5.. '])
  })

  it('has a gap between two terms, or none where one follows the other at once', () => {
    expect(shown(foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }), leads(12, 'c', 2)))).toEqual([
      '-/- 0..5 started',
      'a/1 5..9 unknown',
      '-/- 9..12 unknown',
      'c/2 12.. ',
    ])
    expect(shown(foldAll(leads(5, 'a', 1), leads(8, 'c', 2)))).toEqual([
      '-/- 0..5 started',
      'a/1 5..8 unknown',
      'c/2 8.. ',
    ])
  })

  it('changes nothing when the leader is the same', () => {
    const before = foldAll(leads(5, 'a', 1))
    const { history, changed } = foldHistory(before, leads(7, 'a', 1))
    expect([history === before, changed]).toEqual([true, []])
  })

  it('stays in order when the wall clock is set back', () => {
    expect(shown(foldAll(leads(50, 'a', 1), nobody(20), leads(30, 'c', 2)))).toEqual([
      '-/- 0..50 started',
      'a/1 50..50 unknown',
      '-/- 50..50 unknown',
      'c/2 50.. ',
    ])
  })
})

describe('causes', () => {
  it('follow what becomes unreachable while there is no leader', () => {
    const seen = (...gone: readonly Id[]): Observation => ({
      type: 'nodes',
      at: 10,
      around: around({ nodes: nodesWith(...gone.map((id) => node(id, { reachable: false }))) }),
    })
    const texts = (...observations: readonly Observation[]): readonly (string | undefined)[] =>
      foldAll(leads(5, 'a', 1), nobody(9), ...observations)
        .entries.slice(1)
        .map(({ ended, cause }) => (ended ?? cause)?.text)
    const silent = 'a is reachable, but b has no sign that it still leads'
    const gone = 'a is unreachable: its process or host stopped, or its links are cut'
    const cut = 'b reaches only 1 of 3 voters'
    expect(texts(seen())).toEqual([silent, silent])
    expect(texts(seen('a'))).toEqual([gone, gone])
    expect(texts(seen('a'), seen('a', 'c'))).toEqual([cut, cut])
    // What is reachable again, and what happens after the gap, explains nothing.
    expect(texts(seen('a'), seen())).toEqual([gone, gone])
    expect(texts(seen('a', 'c'), seen('a'))).toEqual([cut, cut])
    expect(texts(leads(12, 'c', 2), seen('a'))).toEqual([silent, silent, undefined])
  })

  it.each<[string, Partial<Surroundings>, string]>([
    [
      'an unreachable leader',
      { nodes: LOST },
      'a is unreachable: its process or host stopped, or its links are cut',
    ],
    ['a leader that is reachable', {}, 'a is reachable, but b has no sign that it still leads'],
    [
      'a node that is cut off itself',
      { nodes: nodesWith(node('a', { reachable: false }), node('c', { reachable: false })) },
      'b reaches only 1 of 3 voters',
    ],
    [
      'a killed process',
      { nodes: LOST, supervised: { nodes: { a: 'down' }, cut: [] } },
      'the process of a was killed',
    ],
    [
      'a paused process',
      { nodes: LOST, supervised: { nodes: { a: 'paused' }, cut: [] } },
      'the process of a is paused',
    ],
    [
      'cut links',
      {
        nodes: LOST,
        supervised: {
          nodes: { a: 'up' },
          cut: [
            ['a', 'b'],
            ['c', 'a'],
          ],
        },
      },
      'a is cut off from b, c',
    ],
  ])('names %s at once', (_what, change, text) => {
    expect(textOf(foldAll(leads(5, 'a', 1), nobody(9, change)))).toBe(text)
  })

  it('does not blame the supervisor for what it does later', () => {
    const supervised = { nodes: { a: 'down' as const }, cut: [] }
    const before = foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }))
    const later = (at: number): Observation => ({
      type: 'nodes',
      at,
      around: around({ nodes: LOST, supervised }),
    })
    expect(foldHistory(before, later(500)).changed).toHaveLength(2)
    expect(foldHistory(before, later(5000)).changed).toEqual([])
  })

  it('takes the report of a former leader that returns, for its term and for the gap', () => {
    const cause: Cause = { kind: 'late', node: 'a', text: 'a was late by 93 ms (σ is 30 ms)' }
    const lastTerm = { token: 1, cause, endedMsAgo: 3000 }
    const before = foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }), leads(12, 'c', 2))
    const { history, changed } = foldHistory(before, {
      type: 'nodes',
      at: 3009,
      around: around({ nodes: nodesWith(node('a', { lastTerm })) }),
    })
    expect(changed.map(({ number, ended, cause: of }) => [number, ended ?? of])).toEqual([
      [2, cause],
      [3, cause],
    ])
    expect(openQuestions(history)).toEqual([])
  })

  it('does not take the report about another term', () => {
    const cause: Cause = { kind: 'late', node: 'a', text: 'late' }
    const nodes = nodesWith(node('a', { lastTerm: { token: 7, cause, endedMsAgo: 0 } }))
    const before = foldAll(leads(5, 'a', 1), nobody(9))
    expect(foldHistory(before, { type: 'nodes', at: 20, around: around({ nodes }) }).changed).toEqual([])
  })

  it('tells terms without tokens apart by the time', () => {
    const cause: Cause = { kind: 'late', node: 'a', text: 'late' }
    const report = (endedMsAgo: number): Observation => ({
      type: 'nodes',
      at: 100_000,
      around: around({ nodes: nodesWith(node('a', { lastTerm: { token: null, cause, endedMsAgo } })) }),
    })
    const before = foldAll(leads(5, 'a', null), nobody(90_000))
    expect(foldHistory(before, report(50_000)).changed).toEqual([])
    expect(foldHistory(before, report(10_010)).changed).toHaveLength(2)
  })

  it('says crashed when the leader returns as another process', () => {
    const nodes = nodesWith(node('a', { run: 'another' }))
    const history = foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }), {
      type: 'nodes',
      at: 20,
      around: around({ nodes }),
    })
    expect(textOf(history)).toBe('the process of a ended, and was started again')
  })

  it('says crashed when the host refuses connections, until the leader itself reports', () => {
    const probed = foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }), { type: 'refused', at: 10, id: 'a' })
    expect(textOf(probed)).toBe('the process of a ended: its host refuses connections')
    const cause: Cause = { kind: 'stepped-down', node: 'a', text: 'a was stopped' }
    const nodes = nodesWith(node('a', { lastTerm: { token: 1, cause, endedMsAgo: 4 } }))
    expect(textOf(foldHistory(probed, { type: 'nodes', at: 13, around: around({ nodes }) }).history)).toBe(
      'a was stopped',
    )
  })

  it('takes the own report of this node, before or after the change of the leader', () => {
    const cause: Cause = { kind: 'slept', node: 'b', text: 'the host of b slept' }
    const revoked: Observation = { type: 'revoked', at: 9, token: 1, cause }
    const endedOf = (history: History): unknown =>
      history.entries.map(({ ended, cause: of }) => (ended ?? of)?.text)
    const expected = ['the agent of b started', 'the host of b slept', 'the host of b slept']
    expect(endedOf(foldAll(leads(5, 'b', 1), revoked, nobody(9)))).toEqual(expected)
    expect(endedOf(foldAll(leads(5, 'b', 1), nobody(9), revoked))).toEqual(expected)
  })

  it('knows that the leader kept its term when the same token returns', () => {
    const history = foldAll(leads(5, 'a', 1), nobody(9, { nodes: LOST }), leads(15, 'a', 1))
    const cause = { kind: 'partitioned', node: 'b', text: 'b did not hear a, which kept its term' }
    expect([history.entries[1]?.ended, history.entries[2]?.cause]).toEqual([cause, cause])
  })

  it('cuts a cause that is too long', () => {
    const cause: Cause = { kind: 'late', node: 'a', text: 'x'.repeat(10_000) }
    const nodes = nodesWith(node('a', { lastTerm: { token: 1, cause, endedMsAgo: 0 } }))
    expect(textOf(foldAll(leads(5, 'a', 1), nobody(9, { nodes })))).toHaveLength(300)
  })
})

const ids = fc.constantFrom(...IDS)
const causes = fc.record<Cause>({
  kind: fc.constantFrom('late', 'unknown', 'handed-over'),
  node: fc.option(ids, { nil: null }),
  text: fc.string({ maxLength: 20 }),
})
const tokens = fc.option(fc.integer({ min: 0, max: 5 }), { nil: null })
const observedNodes = fc.record<ObservedNode>({
  id: ids,
  reachable: fc.boolean(),
  run: fc.option(fc.constantFrom('one', 'two'), { nil: null }),
  lastTerm: fc.option(
    fc.record({ token: tokens, cause: causes, endedMsAgo: fc.integer({ min: 0, max: 9000 }) }),
    { nil: null },
  ),
})
const surroundings = fc.record<Surroundings>({
  voters: fc.constant([IDS]),
  nodes: fc.array(observedNodes, { maxLength: 3 }),
  supervised: fc.option(
    fc.record({
      nodes: fc.dictionary(ids, fc.constantFrom('up' as const, 'paused' as const, 'down' as const)),
      cut: fc.array(fc.tuple(ids, ids), { maxLength: 4 }),
    }),
    { nil: null },
  ),
})
const at = fc.integer({ min: -1000, max: 10_000 })
const observations = fc.oneof<fc.Arbitrary<Observation>[]>(
  fc.record({
    type: fc.constant('leader' as const),
    at,
    leader: fc.option(fc.record({ id: ids, token: tokens }), { nil: null }),
    around: surroundings,
  }),
  fc.record({ type: fc.constant('nodes' as const), at, around: surroundings }),
  fc.record({ type: fc.constant('revoked' as const), at, token: tokens, cause: causes }),
  fc.record({ type: fc.constant('refused' as const), at, id: ids }),
)

/** What is wrong with a history; empty if nothing is. */
function problemsOf({ entries, count }: History): readonly string[] {
  const problems: string[] = []
  for (const [index, entry] of entries.entries()) {
    const next = entries[index + 1]
    const { number, leader, from, until, cause, ended } = entry
    if (next === undefined ? until !== null : until !== next.from) problems.push(`${number} does not join`)
    if (until !== null && until < from) problems.push(`${number} ends before it begins`)
    if (leader === null && next?.leader === null) problems.push(`${number} and the next are gaps`)
    if (leader === null && (cause === null || ended !== null)) problems.push(`gap ${number} has no cause`)
    if (leader !== null && cause !== null) problems.push(`term ${number} has the cause of a gap`)
    if (leader !== null && until !== null && ended === null)
      problems.push(`term ${number} ended without a cause`)
    if (number !== count - entries.length + 1 + index) problems.push(`${number} is out of order`)
  }
  return problems
}

describe('every order of observations', () => {
  it('gives entries that join, alternate, and have a cause', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 40 }), (all) => {
        expect(problemsOf(foldAll(...all))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('reports exactly the entries that differ, and never makes a cause less certain', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 40 }), (all) => {
        let history = startHistory('b', 0)
        for (const each of all) {
          const folded = foldHistory(history, each)
          const known = new Map<number, Entry>(history.entries.map((entry) => [entry.number, entry]))
          const differing = folded.history.entries.filter((entry) => known.get(entry.number) !== entry)
          expect(folded.changed).toEqual(differing)
          for (const entry of folded.changed) {
            const before = known.get(entry.number)
            if (before?.until !== null && before !== undefined)
              expect(entry.certainty).toBeGreaterThan(before.certainty)
          }
          history = folded.history
        }
      }),
      { numRuns: 500 },
    )
  })

  it('keeps at most 500 entries over an hour of elections, and explains the newest', () => {
    let history = startHistory('b', 0)
    for (let second = 0; second < 3600; second++) {
      const nodes = LOST
      history = foldHistory(history, leads(second * 1000, 'a', second)).history
      history = foldHistory(history, nobody(second * 1000 + 500, { nodes })).history
    }
    expect([history.entries.length, history.count, problemsOf(history)]).toEqual([MAX_ENTRIES, 7201, []])
    expect(JSON.stringify(history).length).toBeLessThan(200_000)
  })
})
