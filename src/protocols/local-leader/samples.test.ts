import { describe, expect, it } from 'vitest'
import {
  type Losses,
  levelOf,
  lossOf,
  NO_LOSSES,
  NO_SAMPLES,
  peakOf,
  rotated,
  type Samples,
  withRequest,
  withSample,
} from './samples.ts'

const of = (...levels: readonly number[]): Samples =>
  levels.reduce((samples, level) => withSample(samples, level), NO_SAMPLES)
const repeated = (level: number, times: number): readonly number[] =>
  Array.from({ length: times }, () => level)

describe('samples', () => {
  it('give the highest level among few of them', () => {
    expect(levelOf(NO_SAMPLES)).toBe(0)
    expect(levelOf(of(0, 1, 3))).toBe(3)
    expect(levelOf(of(5, 9, 4, 9, 7))).toBe(9)
  })

  it('ignore one in a thousand', () => {
    expect(levelOf(of(20, ...repeated(5, 998)))).toBe(20)
    expect(levelOf(of(20, ...repeated(5, 999)))).toBe(5)
    expect(levelOf(of(20, 19, ...repeated(5, 1998)))).toBe(5)
    expect(levelOf(of(20, 20, ...repeated(5, 998)))).toBe(20)
  })

  it('count for two windows', () => {
    const first = rotated(of(9, 5), true)
    expect(levelOf(withSample(first, 6))).toBe(9)
    const second = rotated(withSample(first, 6), true)
    expect(levelOf(second)).toBe(6)
    expect(levelOf(rotated(of(9), false))).toBe(0)
  })

  it('keep a peak for two windows', () => {
    expect(peakOf({ recent: -1, former: 7, count: 0 })).toBe(7)
    expect(peakOf({ recent: 8, former: 7, count: 1 })).toBe(8)
  })
})

describe('lost requests', () => {
  const after = (losses: readonly number[]): Losses =>
    losses.reduce((known, missing) => withRequest(known, missing), NO_LOSSES)

  it('are no rate until the second', () => {
    expect(lossOf(after([0, 0, 1]), 15)).toBe(15)
    expect(lossOf(after([0, 1, 1]), 15)).toBe(9)
  })

  it('are a power of two of the requests', () => {
    const many = after(Array.from({ length: 4000 }, (_, index) => (index % 100 === 0 ? 1 : 0)))
    expect(lossOf(many, 15)).toBe(6)
    const all = after(Array.from({ length: 4000 }, () => 8))
    expect(lossOf(all, 15)).toBe(0)
  })

  it('are forgotten slowly', () => {
    const bad = after(Array.from({ length: 3000 }, () => 1))
    let losses = bad
    for (let request = 0; request < 100_000; request++) losses = withRequest(losses, 0)
    expect(lossOf(losses, 15)).toBe(15)
  })
})
