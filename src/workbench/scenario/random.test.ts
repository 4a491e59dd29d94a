import { expect, it } from 'vitest'
import { Random } from './random.ts'

const draws = (seed: number): readonly number[] => {
  const random = new Random(seed)
  return Array.from({ length: 20 }, () => random.integer(0, 1_000_000))
}

it('repeats a sequence for the same seed, and differs for neighbouring seeds', () => {
  expect(draws(7)).toEqual(draws(7))
  expect(draws(7)).not.toEqual(draws(8))
  expect(draws(7).filter((value, index) => value === draws(8)[index])).toEqual([])
})

it('draws integers uniformly, including both ends', () => {
  const random = new Random(1)
  const counts = [0, 0, 0]
  for (let each = 0; each < 3000; each++) {
    const value = random.integer(5, 7) - 5
    counts[value] = (counts[value] ?? 0) + 1
  }
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150)
})

it('draws fractions below 1, and picks each value', () => {
  const random = new Random(2)
  for (let each = 0; each < 1000; each++) {
    const fraction = random.fraction()
    expect(fraction >= 0 && fraction < 1).toBe(true)
  }
  expect(new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c']))).size).toBe(3)
})

it('consumes no randomness if there is no choice', () => {
  const [random, other] = [new Random(3), new Random(3)]
  expect([random.integer(4, 4), random.chance(0), random.chance(1)]).toEqual([4, false, true])
  expect(random.fraction()).toBe(other.fraction())
})
