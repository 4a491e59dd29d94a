import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inTimeSlices } from './time-slices.ts'

const REQUEST = new Request('http://localhost/')

it('handles requests at once until a slice is used up, and the others in later slices, in their order', async () => {
  let now = 0
  const handled: number[] = []
  const fetch = inTimeSlices(
    () => {
      handled.push(handled.length)
      now += 8
      return new Response(String(handled.length))
    },
    20,
    () => now,
  )
  const responses = Array.from({ length: 7 }, () => fetch(REQUEST))
  expect(handled).toHaveLength(3)
  await setImmediate()
  expect(handled).toHaveLength(6)
  const texts = await Promise.all(responses.map(async (each) => (await each).text()))
  expect(texts).toEqual(['1', '2', '3', '4', '5', '6', '7'])
})

it('passes on what a late request throws', async () => {
  let now = 0
  const fetch = inTimeSlices(
    () => {
      now += 50
      if (now > 50) throw new Error('no answer')
      return new Response('')
    },
    20,
    () => now,
  )
  await fetch(REQUEST)
  await expect(fetch(REQUEST)).rejects.toThrow('no answer')
})
