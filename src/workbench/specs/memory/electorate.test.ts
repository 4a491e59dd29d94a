import { describe, expect, it } from 'vitest'
import { commandedAt, downAt, memoryAfter, upAt, viewAt } from '../../../../test/support/traces.ts'
import type { Observation } from '../../trace/index.ts'
import type { RunFacts } from '../spec.ts'
import { configOf, contradicts, couldLead, electorate } from './electorate.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { kappaBI: 100_000 } }

describe('the electorate', () => {
  const shows = (node: number, id: readonly [number, number], ...sets: readonly (readonly number[])[]) =>
    viewAt(0, node, 'follower', { detail: { config: { id, sets } } }) as Observation & {
      readonly type: 'view'
    }
  const ALL = [1, 2, 3]
  const together = [shows(1, [1, 0], ALL), shows(2, [1, 0], ALL), shows(3, [1, 0], ALL)]

  it('lets a node lead with a majority of its voters that includes itself', () => {
    const memory = memoryAfter(electorate, RUN, together)
    expect(couldLead(memory, 1, [1, 2])).toBe(true)
    expect(couldLead(memory, 1, [1])).toBe(false)
    expect(couldLead(memory, 1, [2, 3])).toBe(false)
    expect(couldLead(memory, 9, [1, 2, 3])).toBe(false)
  })

  it('lets no node lead that has shown no configuration', () => {
    const memory = memoryAfter(electorate, RUN, together.slice(1))
    expect([couldLead(memory, 1, ALL), couldLead(memory, 2, ALL)]).toEqual([false, true])
  })

  it('requires a majority of each set during a change of voters', () => {
    const joint = [1, 2, 3, 4, 5].map((node) => shows(node, [1, 1], [1, 2, 3], [3, 4, 5]))
    const run = { ...RUN, nodes: [1, 2, 3, 4, 5] }
    const memory = memoryAfter(electorate, run, joint)
    expect(couldLead(memory, 1, [1, 2, 3])).toBe(false)
    expect(couldLead(memory, 1, [1, 2, 4, 5])).toBe(true)
  })

  it('uses the newest configuration among the votes', () => {
    const memory = memoryAfter(electorate, RUN, [...together.slice(0, 2), shows(3, [2, 0], [2, 3])])
    expect(couldLead(memory, 1, [1, 2])).toBe(true)
    expect(couldLead(memory, 1, [1, 2, 3])).toBe(false)
    expect(couldLead(memory, 2, [2, 3])).toBe(true)
  })

  it('ignores votes with other voters under the same id', () => {
    const memory = memoryAfter(electorate, RUN, [
      together[0],
      together[1],
      shows(3, [1, 0], [1, 3]),
    ] as Observation[])
    expect(couldLead(memory, 1, [1, 3])).toBe(false)
    const config = { id: [1, 0], sets: [ALL] } as const
    expect(contradicts({ id: [1, 0], sets: [[1, 3]] }, config)).toBe(true)
    expect(contradicts({ id: [1, 1], sets: [[1, 3]] }, config)).toBe(false)
    expect(contradicts(null, config)).toBe(false)
  })

  it('excludes nodes that never lead, and nodes that are unwilling until they restart', () => {
    const never = memoryAfter(electorate, { ...RUN, neverLead: [1] }, together)
    expect(couldLead(never, 1, ALL)).toBe(false)
    const unwilling = commandedAt(1, 1, { do: 'campaign', willing: false })
    const memory = memoryAfter(electorate, RUN, [...together, unwilling])
    expect(couldLead(memory, 1, ALL)).toBe(false)
    expect(couldLead(electorate.next(memory, upAt(2, 1)), 1, ALL)).toBe(true)
    const again = commandedAt(2, 1, { do: 'campaign', willing: true })
    expect(couldLead(electorate.next(memory, again), 1, ALL)).toBe(true)
  })

  it('keeps a configuration through a crash, and stays the same object for other commands', () => {
    const memory = memoryAfter(electorate, RUN, together)
    expect(electorate.next(memory, downAt(1, 1))).toBe(memory)
    expect(electorate.next(memory, commandedAt(1, 1, { do: 'resign' }))).toBe(memory)
    expect(electorate.next(memory, viewAt(1, 1, 'follower'))).toBe(memory)
  })

  it('reads no configuration from a view without details', () => {
    expect(configOf(viewAt(0, 1, 'follower') as Observation & { readonly type: 'view' })).toBeNull()
  })
})
