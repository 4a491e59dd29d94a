import { expect, it } from 'vitest'
import type { Message } from '../../core/index.ts'
import { weightOf } from './weight.ts'

const weigh = (body: Message): number => weightOf({ group: 'g', config: 1, body })

it.each<[string, Message, number]>([
  ['no fields', { kind: 'a' }, 16],
  ['a number', { kind: 'a', n: 7 }, 24],
  ['a text', { kind: 'a', text: 'hello' }, 26],
  ['flags and nulls', { kind: 'a', yes: true, none: null }, 18],
  ['a list', { kind: 'a', list: [1, 2] }, 33],
  ['an object', { kind: 'a', inner: { x: 1, kind: 'long kind names cost nothing' } }, 25],
])('weighs a message with %s', (_what, body, bytes) => {
  expect(weigh(body)).toBe(bytes)
})

it('weighs settings by their text', () => {
  const body = { kind: 'Settings', agreed: { a: 1 } }
  expect(weigh(body)).toBe(15 + '{"agreed":{"a":1},"kind":"Settings"}'.length)
})

it('weighs a message object that goes to several processes once', () => {
  let reads = 0
  const body = {
    kind: 'a',
    get n() {
      reads += 1
      return 1
    },
  }
  expect([weigh(body), weigh(body)]).toEqual([24, 24])
  expect(reads).toBe(1)
})
