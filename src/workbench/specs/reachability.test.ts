/** What a node says about peers that it cannot hear: a trace that violates the bound, and near misses. */
import { describe, expect, it } from 'vitest'
import { judgement } from '../../../test/support/traces.ts'
import { microsOf, type NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { RunFacts } from './index.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { reachableWithin: 100_000 } }

const called = (ms: number, node: NodeId, peer: NodeId, sinceMs: number): Observation => ({
  type: 'called-reachable',
  at: microsOf(ms),
  node,
  peer,
  silentSince: microsOf(sinceMs),
})

describe('reachability', () => {
  it('lets a node call a peer reachable up to the bound after it can last have been heard', () => {
    expect(judgement('reachability', RUN, [called(600, 1, 2, 500)])).toBe('held')
    expect(judgement('reachability', RUN, [called(550, 1, 2, 500), called(900, 1, 3, 850)])).toBe('held')
  })

  it('rejects a node that does so any longer', () => {
    expect(judgement('reachability', RUN, [called(550, 1, 2, 500), called(600.001, 1, 2, 500)])).toEqual({
      violated:
        '1 called 2 reachable, from which no message can have arrived since 500 ms; the bound is 100 ms',
    })
  })

  it('is not concerned where the protocol states no bound, or of anything else', () => {
    const silent: RunFacts = { ...RUN, constants: {} }
    expect(judgement('reachability', silent, [called(9000, 1, 2, 500)])).toBe('not concerned')
    expect(judgement('reachability', RUN, [{ type: 'down', at: 0, node: 2 }])).toBe('not concerned')
  })
})
