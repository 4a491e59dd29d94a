import { expect, it } from 'vitest'
import { drawn } from '../engine/fixture.ts'
import { cursorAt } from '../model/playback.ts'
import type { Selection } from '../model/store.ts'
import { WELCOME } from '../welcome.ts'
import { choicesFor, readCommand, usualMs } from './actions.ts'
import { describeNode, headlineAt } from './node-words.ts'

const events = [
  { atMs: 100, crash: 4 },
  { atMs: 400, suspend: 1, forMs: 300 },
  { atMs: 900, cut: [[2, 3]] },
]
const picture = drawn({ ...WELCOME, events })
const idsFor = (selection: Selection | null, atMs: number): readonly string[] =>
  choicesFor(selection, { picture, cursor: cursorAt(picture, atMs * 1000), defaultMs: 200 }).map(
    ({ id }) => id,
  )

it('offers what is possible for a node', () => {
  expect(idsFor({ type: 'node', node: 1 }, 300)).toEqual([
    'crash',
    'pause',
    'suspend',
    'skew',
    'drift',
    'load',
    'isolate',
  ])
  expect(idsFor({ type: 'node', node: 4 }, 300)).toEqual(['restart'])
  expect(idsFor(null, 300)).toEqual([])
})

it('offers to end the load on a node, and says that it is under load', () => {
  const loaded = drawn({ ...WELCOME, events: [{ atMs: 300, load: [2], lateMs: [0, 5], forMs: 200 }] })
  const [, lane] = loaded.lanes
  if (lane === undefined) throw new Error('no second lane')
  expect(lane.loads).toEqual([{ from: 300_000, to: 500_000 }])
  const seen = [200, 400, 600].map((atMs) => {
    const cursor = cursorAt(loaded, atMs * 1000)
    const choices = choicesFor({ type: 'node', node: 2 }, { picture: loaded, cursor, defaultMs: 200 })
    const choice = choices.find(({ id }) => id === 'load')
    return [choice?.title, choice?.event(60), describeNode(lane, cursor).includes('under load')]
  })
  expect(seen).toEqual([
    ['Load', { load: [2], lateMs: [0, 60] }, false],
    ['End load', { load: [2], lateMs: 0 }, true],
    ['Load', { load: [2], lateMs: [0, 60] }, false],
  ])
})

it('offers the same for a node that has not started, or that counts as dead for others', () => {
  expect(
    choicesFor({ type: 'node', node: 1 }, { picture, cursor: { at: 0, moment: -1 }, defaultMs: 200 })[0]?.id,
  ).toBe('crash')
  const isolated = drawn({
    protocol: 'phi',
    nodes: [1, 2],
    events: [{ atMs: 10, cut: [[1, 2]] }],
    untilMs: 99,
  })
  const cursor = cursorAt(isolated, 90_000)
  const [lane] = isolated.lanes
  expect(lane?.roles.at(-1)?.role).toBe('dead')
  expect(lane === undefined ? '' : describeNode(lane, cursor)).toBe('Node 1: counts as dead')
  const [first] = choicesFor({ type: 'node', node: 1 }, { picture: isolated, cursor, defaultMs: 200 })
  expect(first?.id).toBe('crash')
})

it('offers to heal a link only where it is cut', () => {
  expect(idsFor({ type: 'link', from: 3, to: 2 }, 300)).not.toContain('heal')
  expect(idsFor({ type: 'link', from: 3, to: 2 }, 950)).toContain('heal')
})

it('offers to change a message only while it is in flight', () => {
  const flight = picture.flights.find(({ endedAt, sentAt }) => endedAt !== null && endedAt - sentAt > 1000)
  if (flight === undefined) throw new Error('no message takes a millisecond')
  const chosen: Selection = { type: 'message', message: flight.message, copy: flight.copy }
  expect(idsFor(chosen, (flight.sentAt + 500) / 1000)).toEqual(['drop', 'delay', 'copy'])
  expect(idsFor(chosen, 1999)).toEqual([])
})

it('gives each possibility of one thing its own key', () => {
  for (const selection of [
    { type: 'node', node: 1 },
    { type: 'link', from: 2, to: 3 },
  ] as const) {
    const choices = choicesFor(selection, { picture, cursor: cursorAt(picture, 950_000), defaultMs: 200 })
    expect(new Set(choices.map(({ key }) => key)).size).toBe(choices.length)
  }
})

it('proposes a duration that is somewhat longer than a lease', () => {
  expect(usualMs(picture)).toBeGreaterThan(100)
  expect(usualMs(picture)).toBeLessThan(1000)
})

it('reads the fields of a command, or says what is wrong with them', () => {
  const form = {
    name: 'setPriority',
    title: '',
    fields: [
      { name: 'priority', type: 'number' },
      { name: 'of', type: 'node' },
      { name: 'voters', type: 'nodes' },
    ],
  } as const
  const nodes = [1, 2, 'c']
  expect(readCommand(form, 1, { priority: '3', of: 'c', voters: '1, 2' }, nodes)).toEqual({
    command: { do: 'setPriority', node: 1, priority: 3, of: 'c', voters: [1, 2] },
  })
  expect(readCommand(form, 1, { priority: 'x', of: 'c', voters: '1' }, nodes)).toBe(
    'priority must be a number',
  )
  expect(readCommand(form, 1, { priority: '3', of: '9', voters: '1' }, nodes)).toBe(
    'of must name nodes of the group',
  )
})

it('says in a headline who leads, and who only believes it', () => {
  const at = (ms: number) => headlineAt(picture, cursorAt(picture, ms * 1000))
  expect(at(0)).toMatchObject({ level: 'no-leader' })
  expect(at(560)).toMatchObject({
    level: 'at-risk',
    word: 'Node 2 leads',
    rest: 'node 1 believes that it still leads, but its lease has ended',
  })
  expect(at(1990).word).toMatch(/^Node \d leads$/)
})
