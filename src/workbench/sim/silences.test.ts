import { expect, it } from 'vitest'
import { Silences } from './silences.ts'

it('has no silence at first', () => {
  const silences = new Silences(3)
  expect(silences.isAny).toBe(false)
  expect(silences.since(0, 1)).toBeNull()
})

it('starts a silence when messages stop arriving, and keeps its start', () => {
  const silences = new Silences(3)
  silences.update(10, (from) => from !== 0)
  silences.update(20, (from) => from !== 0)
  expect(silences.isAny).toBe(true)
  expect(silences.since(0, 1)).toBe(10)
  expect(silences.since(1, 0)).toBeNull()
  expect(silences.since(0, 0)).toBeNull()
})

it('ends a silence when messages can arrive again', () => {
  const silences = new Silences(3)
  silences.update(10, () => false)
  silences.update(20, () => true)
  expect(silences.isAny).toBe(false)
  expect(silences.since(0, 1)).toBeNull()
})

it('restarts a silence at a message that was still sent', () => {
  const silences = new Silences(3)
  silences.update(10, (from) => from !== 0)
  silences.noteSent(0, 15, (to) => to === 1)
  expect(silences.since(0, 1)).toBe(15)
  expect(silences.since(0, 2)).toBe(10)
})
