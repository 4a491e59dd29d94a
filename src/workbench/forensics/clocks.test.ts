import { describe, expect, it } from 'vitest'
import { fires, type Handmade, hears, runOf, sends, startAt, stepAt } from '../../../test/support/handmade.ts'
import type { NodeId } from '../../core/index.ts'
import { type Scale, type ScaleOptions, scaleOf } from './clocks.ts'
import { matchMessages } from './message-matching.ts'
import type { Run, StepRecord } from './runs.ts'

const EXACT: ScaleOptions = { rho: 0, wallError: null }
/** A message: from and to, and the true times of sending and receipt. */
type Sent = readonly [from: NodeId, to: NodeId, at: number, arrives: number]

/** Runs whose clocks are ahead of true time by an offset, and drift from there. */
function runsWith(
  clocks: { readonly [node: string]: (at: number) => number },
  messages: readonly Sent[],
  made: (node: string) => Handmade = () => ({}),
): readonly Run[] {
  return Object.entries(clocks).map(([node, clock]) => {
    const steps: (readonly [number, StepRecord])[] = messages.flatMap(([from, to, at, arrives], number) => {
      const body = { kind: 'ping', number }
      const sent = stepAt(clock(at), fires('t'), [sends(to, body)])
      const heard = stepAt(clock(arrives), hears(from, body))
      return [
        ...(from === node ? [[at, sent] as const] : []),
        ...(to === node ? [[arrives, heard] as const] : []),
      ]
    })
    const ordered = steps.toSorted(([a], [b]) => a - b).map(([, step]) => step)
    return runOf(node, [startAt(clock(0)), ...ordered], made(node))
  })
}
const ahead = (by: number) => (at: number) => at + by
const scale = (runs: readonly Run[], options: ScaleOptions = EXACT): Scale =>
  scaleOf(runs, matchMessages(runs).records, options)

describe('one clock', () => {
  it('is its own scale, exactly', () => {
    const both = runsWith({ a: ahead(0), b: ahead(0) }, [], () => ({ clock: 'host' }))
    const expected = { ahead: [0, 0], error: 0, by: 'one clock', drift: [] }
    expect(scale(both)).toEqual(expected)
    expect(scale(runsWith({ a: ahead(5) }, []))).toEqual({ ...expected, ahead: [0] })
  })

  it('is not assumed where the clock is unknown', () => {
    const both = runsWith({ a: ahead(0), b: ahead(0) }, [], () => ({ clock: null }))
    expect(scale(both).by).toBe('nothing')
  })
})

describe('messages in both directions', () => {
  it('bound the offset by half of a round trip', () => {
    const runs = runsWith({ a: ahead(0), b: ahead(1000) }, [
      ['a', 'b', 100, 110],
      ['b', 'a', 200, 230],
    ])
    expect(scale(runs)).toEqual({ ahead: [0, -990], error: 20, by: 'messages', drift: [] })
  })

  it('give the exact offset if they take no time', () => {
    const runs = runsWith({ a: ahead(0), b: ahead(1000) }, [
      ['a', 'b', 100, 100],
      ['b', 'a', 200, 200],
    ])
    expect(scale(runs)).toMatchObject({ ahead: [0, -1000], error: 0 })
  })

  it('relate nodes that never talked to each other over a third', () => {
    const runs = runsWith({ a: ahead(0), b: ahead(1000), c: ahead(-500) }, [
      ['a', 'b', 100, 102],
      ['b', 'a', 200, 202],
      ['b', 'c', 300, 302],
      ['c', 'b', 400, 402],
    ])
    expect(scale(runs)).toMatchObject({ ahead: [0, -1000, 500], by: 'messages', error: 4 })
  })

  it('leave more error to clocks that may drift', () => {
    const runs = runsWith({ a: ahead(0), b: ahead(1000) }, [
      ['a', 'b', 100, 110],
      ['b', 'a', 10_000, 10_010],
    ])
    const { error } = scale(runs, { rho: 0.001, wallError: null })
    // Ten for the messages, and twice the drift of both clocks over the length of the trace.
    expect(error).toBe(10 + 21)
  })
})

describe('messages in one direction', () => {
  const runs = runsWith({ a: ahead(0), b: ahead(1000) }, [['a', 'b', 100, 110]], (node) => ({
    wallAhead: node === 'a' ? 0 : -1003,
  }))

  it('leave the offset open', () => {
    expect(scale(runs)).toEqual({ ahead: [0, -1003], error: null, by: 'nothing', drift: [] })
  })

  it('are completed by wall clocks that the operator vouches for', () => {
    const { by, ahead: offsets, error } = scale(runs, { rho: 0, wallError: 20 })
    expect(by).toBe('wall clocks')
    expect(Math.abs((offsets[1] ?? 0) + 1000)).toBeLessThanOrEqual(error ?? 0)
  })

  it('are enough on one host', () => {
    const [a, b] = runsWith({ a: ahead(0), b: ahead(0) }, [['a', 'b', 100, 110]], () => ({ clock: 'host' }))
    const [c] = runsWith({ c: ahead(50) }, [])
    expect(scale([a, b, c] as Run[]).by).toBe('nothing')
    expect(scale([a, b] as Run[]).by).toBe('one clock')
  })
})

describe('wall clocks', () => {
  it('do not replace messages that contradict them', () => {
    const runs = runsWith({ a: ahead(0), b: ahead(1000) }, [['a', 'b', 100, 110]], () => ({ wallAhead: 0 }))
    expect(scale(runs, { rho: 0, wallError: 5 })).toMatchObject({ by: 'wall clocks' })
    const wrong = runsWith({ a: ahead(0), b: ahead(-1000) }, [['a', 'b', 100, 110]], () => ({ wallAhead: 0 }))
    expect(scale(wrong, { rho: 0, wallError: 5 })).toMatchObject({ by: 'nothing', error: null })
  })
})

describe('drift', () => {
  const often: readonly Sent[] = Array.from({ length: 31 }, (_, index) => {
    const at = index * 10_000
    return index % 2 === 0 ? (['a', 'b', at, at + 10] as const) : (['b', 'a', at, at + 10] as const)
  })

  it('is not reported while clocks keep their offset', () => {
    expect(
      scale(runsWith({ a: ahead(0), b: ahead(1000) }, often), { rho: 1e-4, wallError: null }).drift,
    ).toEqual([])
  })

  it('is reported with the least rate that explains the messages', () => {
    const fast = (at: number): number => Math.round(at * 1.01)
    const { drift } = scale(runsWith({ a: ahead(0), b: fast }, often), { rho: 1e-4, wallError: null })
    expect(drift).toMatchObject([{ a: 0, b: 1 }])
    expect(drift[0]?.ppm).toBeGreaterThan(200)
    expect(drift[0]?.ppm).toBeLessThanOrEqual(10_000)
  })

  it('is accepted up to the bound of both clocks together', () => {
    const fast = (at: number): number => Math.round(at * 1.01)
    expect(scale(runsWith({ a: ahead(0), b: fast }, often), { rho: 0.01, wallError: null }).drift).toEqual([])
  })
})
