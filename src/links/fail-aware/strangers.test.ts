import { describe, expect, it } from 'vitest'
import { hashPlain, type Message, type PlainObject } from '../../core/index.ts'
import { heardSettings, isSettings, metStranger, type Stranger, settingsFault } from './strangers.ts'

const SECOND = 1_000_000
const stranger = (peer: number, config: number, notifiedAt: number, isReported = false): Stranger => ({
  peer,
  config,
  notifiedAt,
  isReported,
})

describe('a message under another configuration', () => {
  it('notifies its sender at most once a second', () => {
    const first = metStranger([], 2, 7, 0)
    expect(first).toEqual([stranger(2, 7, 0)])
    expect(metStranger(first ?? [], 2, 7, SECOND - 1)).toBeNull()
    expect(metStranger(first ?? [], 2, 7, SECOND)).toEqual([stranger(2, 7, SECOND)])
  })

  it('notifies at once, and reports again, if the peer has changed its configuration', () => {
    expect(metStranger([stranger(2, 7, 0, true)], 2, 8, 1)).toEqual([stranger(2, 8, 1)])
    expect(metStranger([stranger(2, 7, 0, true)], 2, 7, SECOND)).toEqual([stranger(2, 7, SECOND, true)])
  })

  it('leaves the notifications of other peers alone', () => {
    const others = [stranger(3, 7, 0)]
    expect(metStranger(others, 2, 7, 1)).toEqual([stranger(3, 7, 0), stranger(2, 7, 1)])
  })
})

describe('the settings of a peer', () => {
  const mismatch = (ours: PlainObject, theirs: PlainObject) => {
    const { type: _, ...rest } = heardSettings([], 2, ours, theirs, 5 * SECOND)?.mismatch ?? { type: '' }
    return rest
  }

  it.each<[string, PlainObject, PlainObject, PlainObject]>([
    [
      'the first that differs',
      { a: 1, b: 2, c: 3 },
      { a: 1, b: 5, c: 6 },
      { field: 'b', ours: 2, theirs: 5 },
    ],
    ['a setting that is missing there', { a: 1, b: 2 }, { a: 1 }, { field: 'b', ours: 2, theirs: null }],
    ['a setting that is missing here', { a: 1 }, { a: 1, b: 2 }, { field: 'b', ours: null, theirs: 2 }],
    [
      'the protocol before any other',
      { a: 1, protocol: 'x' },
      { a: 2, protocol: 'y' },
      { field: 'protocol', ours: 'x', theirs: 'y' },
    ],
    [
      'a list by its content',
      { nodes: [1, 2] },
      { nodes: [1, 3] },
      { field: 'nodes', ours: [1, 2], theirs: [1, 3] },
    ],
    [
      'no property that objects inherit',
      { a: 1 },
      { a: 1, constructor: 2 },
      { field: 'constructor', ours: null, theirs: 2 },
    ],
  ])('report %s', (_what, ours, theirs, reported) => {
    expect(mismatch(ours, theirs)).toEqual({ peer: 2, ...reported })
  })

  it('report nothing if they are equal', () => {
    expect(heardSettings([], 2, { a: 1 }, { a: 1 }, 0)).toBeNull()
  })

  it('are reported once for each configuration of the peer', () => {
    const first = heardSettings([], 2, { a: 1 }, { a: 2 }, 5 * SECOND)
    expect(first?.strangers).toEqual([stranger(2, hashPlain({ a: 2 }), 4 * SECOND, true)])
    expect(heardSettings(first?.strangers ?? [], 2, { a: 1 }, { a: 2 }, 6 * SECOND)).toBeNull()
    const changed = heardSettings(first?.strangers ?? [], 2, { a: 1 }, { a: 3 }, 6 * SECOND)
    expect(changed?.strangers).toEqual([stranger(2, hashPlain({ a: 3 }), 5 * SECOND, true)])
  })

  it('keep the time of the last notification', () => {
    const known = [stranger(2, hashPlain({ a: 2 }), 123)]
    expect(heardSettings(known, 2, { a: 1 }, { a: 2 }, SECOND)?.strangers[0]?.notifiedAt).toBe(123)
  })
})

describe('settings from the network', () => {
  const settings = (agreed: unknown): Message => ({ kind: 'Settings', agreed }) as Message
  const many = (count: number): PlainObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, index]))

  it.each([
    [{ kind: 'word' }],
    [settings({})],
    [settings({ a: 1, b: 'text', c: true, d: null })],
    [settings({ nodes: [1, 'b'], options: { deltaMs: 5 } })],
    [settings(many(64))],
    [settings({ text: 'x'.repeat(1024) })],
  ])('are accepted: %.60j', (body) => {
    expect(settingsFault(body)).toBeNull()
  })

  it.each<[string, Message, string]>([
    ['no settings', { kind: 'Settings' }, 'Settings: must have settings only'],
    ['null', settings(null), 'Settings: must have settings only'],
    ['more fields', { kind: 'Settings', agreed: {}, more: 1 }, 'Settings: must have settings only'],
    ['a list', settings([1]), 'Settings.agreed: must be an object'],
    ['a number', settings(5), 'Settings.agreed: must be an object'],
    ['too many', settings(many(65)), 'Settings.agreed: must have at most 64 entries'],
    ['a list of lists', settings({ a: [[1]] }), 'Settings.agreed.a: is nested too deeply'],
    ['an object of objects', settings({ a: { b: {} } }), 'Settings.agreed.a: is nested too deeply'],
    [
      'a long text',
      settings({ a: 'x'.repeat(1025) }),
      'Settings.agreed: has a text of more than 1024 characters',
    ],
    [
      'a long name',
      settings({ ['x'.repeat(1025)]: 1 }),
      'Settings.agreed: has a text of more than 1024 characters',
    ],
    [
      'a long name inside',
      settings({ a: { ['x'.repeat(1025)]: 1 } }),
      'Settings.agreed: has a text of more than 1024 characters',
    ],
  ])('are refused: %s', (_what, body, fault) => {
    expect(settingsFault(body)).toBe(fault)
  })

  it.each([
    [{ kind: 'Settings', agreed: {} }, true],
    [{ kind: 'Settings' }, false],
    [{ kind: 'Settings', agreed: null }, false],
    [{ kind: 'Settings', agreed: [] }, false],
    [{ kind: 'word', agreed: {} }, false],
  ])('are recognized in %j: %j', (body, isOne) => {
    expect(isSettings(body)).toBe(isOne)
  })
})
