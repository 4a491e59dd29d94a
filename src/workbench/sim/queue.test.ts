import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventQueue } from './queue.ts'

it('gives things back by time, and things of the same time in the order they were put in', () => {
  const pushOrPop = fc.oneof(fc.nat({ max: 20 }), fc.constant(null))
  fc.assert(
    fc.property(fc.array(pushOrPop, { maxLength: 300 }), (script) => {
      const queue = new EventQueue()
      const expected: { time: number; order: number; slot: number }[] = []
      let order = 0
      for (const time of script) {
        if (time !== null) {
          const slot = queue.push(time)
          expect(expected.some((entry) => entry.slot === slot)).toBe(false)
          expected.push({ time, order: order++, slot })
        } else if (queue.size > 0) {
          expected.sort((a, b) => a.time - b.time || a.order - b.order)
          expect(queue.nextTime).toBe(expected[0]?.time)
          expect(queue.pop()).toBe(expected.shift()?.slot)
        }
        expect(queue.size).toBe(expected.length)
      }
    }),
  )
})

it('grows', () => {
  const queue = new EventQueue()
  for (let time = 5000; time > 0; time--) queue.push(time)
  const times: number[] = []
  while (queue.size > 0) {
    times.push(queue.nextTime)
    queue.pop()
  }
  expect(times).toEqual(Array.from({ length: 5000 }, (_, index) => index + 1))
})
