import { describe, expect, it } from 'vitest'
import { measured, statusWith } from '../view/fixture.ts'
import { httpUrl, parseEvent, parseHistory, parseLocal, parseStatus, parseTerm } from './parse.ts'

const JUNK = [
  undefined,
  null,
  0,
  'text',
  [],
  {},
  { level: 'splendid' },
  { terms: 'many' },
  { url: 'file:///x' },
]

describe('a status', () => {
  it('is read as it is', () => {
    expect(statusWith({ measured })).toMatchObject({ group: 'g', level: 'healthy', measured })
  })

  it('of an older agent has the missing fields empty', () => {
    const { version: _v, measured: _m, warnings: _w, leaderSince: _l, ...old } = statusWith()
    const nodes = [{ id: 'a', voter: false, leader: true, reachable: true, evidenceMsAgo: 1, heardMsAgo: 1 }]
    const read = parseStatus({ ...old, nodes })
    expect(read).toMatchObject({ version: '', measured: null, warnings: [], leaderSince: null })
    expect(read?.nodes[0]).toMatchObject({ role: 'observer', address: null, hears: null, measured: null })
  })

  it('drops entries that cannot be read, and keeps the others', () => {
    const read = statusWith({
      nodes: [null, { id: {} }, { id: 7, hears: { x: 'loud' } }],
      warnings: ['late', { at: 'now', what: 'x' }, { at: '2030-01-01T00:00:00Z', what: 'clock' }],
      measured: { sigmaMs: 'a lot' },
    })
    expect(read.nodes.map(({ id, hears }) => [id, hears])).toEqual([
      ['7', { x: { heardMsAgo: null, rttMs: null } }],
    ])
    expect(read.warnings).toEqual([{ at: '2030-01-01T00:00:00Z', what: 'clock', detail: '', count: 1 }])
    expect(read.measured).toBeNull()
  })
})

describe('junk', () => {
  it.each(JUNK)('%j is not an answer of an agent', (value) => {
    expect(parseStatus(value)).toBeNull()
    expect(parseHistory(value)).toBeNull()
    expect(parseTerm(value)).toBeNull()
    expect(parseEvent(value)).toBeNull()
    expect(parseLocal(value)).toBeNull()
  })
})

it('reads events with their cause and view', () => {
  const event = { at: '2030-01-01T00:00:00Z', group: 'g', self: 1, event: 'view', leader: null }
  expect(
    parseEvent({
      ...event,
      cause: { kind: 'late', node: 'a', text: 'a was late' },
      view: { id: [4, 'a'], members: ['a'], joined: ['a'], left: 'none' },
    }),
  ).toMatchObject({
    self: '1',
    cause: { text: 'a was late' },
    view: { id: [4, 'a'], members: ['a'], joined: ['a'], left: [] },
  })
  expect(parseEvent({ ...event, event: 'dance' })).toBeNull()
})

it('reads terms, gaps and samples', () => {
  const history = parseHistory({
    terms: [
      { number: 1, leader: null, from: '2030-01-01T00:00:00Z', until: null, cause: { text: 'why' } },
      7,
    ],
    samples: [{ at: '2030-01-01T00:00:00Z', rttMs: 1 }, {}],
  })
  expect(history?.terms).toMatchObject([{ leader: null, cause: { kind: 'unknown', text: 'why' } }])
  expect(history?.samples).toMatchObject([{ rttMs: 1, latenessMs: null }])
})

it('reads the supervisor of conclave up', () => {
  expect(
    parseLocal({ url: 'http://127.0.0.1:1', nodes: { a: 'up', b: 'on fire' }, cut: [['a', 'b'], ['c']] }),
  ).toEqual({ url: 'http://127.0.0.1:1', nodes: { a: 'up' }, cut: [['a', 'b']] })
})

it('takes links only to pages', () => {
  expect(httpUrl('https://a.example/')).toBe('https://a.example/')
  expect(['javascript:alert(1)', 'data:text/html,x', '//', 5].map(httpUrl)).toEqual([null, null, null, null])
})
