import { describe, expect, it } from 'vitest'
import { statusWith } from './fixture.ts'
import type { Cell } from './matrix.ts'
import { cellNumber, matrixOf } from './matrix.ts'

const heard = { heardMsAgo: 5, rttMs: 0.4 }
const silent = { heardMsAgo: 4000, rttMs: 0.4 }
const node = (id: string, more: object = {}): object => ({
  id,
  voter: true,
  reachable: true,
  ...heard,
  ...more,
})

const cellOf = (nodes: readonly object[], hearer: string, sender: string): Cell => {
  const cell = matrixOf(statusWith({ nodes }))
    .rows.flat()
    .find((each) => each.hearer === hearer && each.sender === sender)
  if (cell === undefined) throw new Error('there is no such cell')
  return cell
}

describe('who hears whom', () => {
  it('has a row per listener and a column per sender', () => {
    const { ids, rows } = matrixOf(statusWith())
    expect(ids).toEqual(['a', 'b', 'c'])
    expect(rows.map((row) => row.map(({ state }) => state))).toEqual([
      ['self', 'heard', 'heard'],
      ['heard', 'self', 'heard'],
      ['heard', 'heard', 'self'],
    ])
    expect(rows[0]?.map(cellNumber)).toEqual(['', '0.5', '12'])
  })

  it('takes the row of the agent from its own observations', () => {
    const nodes = [node('a', { reachable: false, ...silent }), node('b', { hears: {} })]
    expect(cellOf(nodes, 'b', 'a')).toMatchObject({
      state: 'silent',
      text: 'b does not hear a: last heard 4.0 s ago',
    })
  })

  it('gives an observer more time, which tells every second that it is there', () => {
    const rare = { heardMsAgo: 1800, rttMs: null }
    const of = (role: string): readonly object[] => [
      node('a', { hears: { b: heard, c: rare } }),
      node('b'),
      node('c', { role, heardMsAgo: 1800, hears: { a: heard, b: heard } }),
    ]
    expect(cellOf(of('observer'), 'a', 'c')).toMatchObject({ state: 'heard', isOneWay: false })
    expect(cellOf(of('voter'), 'a', 'c')).toMatchObject({ state: 'silent', isOneWay: true })
  })

  it('marks a link that works in one direction only', () => {
    const nodes = [
      node('a', { hears: { b: heard, c: silent } }),
      node('b'),
      node('c', { hears: { a: heard } }),
    ]
    expect(cellOf(nodes, 'a', 'c')).toMatchObject({ state: 'silent', isOneWay: true })
    expect(cellOf(nodes, 'c', 'a')).toMatchObject({ state: 'heard', isOneWay: true })
    expect(cellOf(nodes, 'c', 'a').text).toBe('c hears a, round trip 0.4 ms. One way only')
  })

  it('claims nothing about nodes that said nothing, or that cannot be asked', () => {
    const nodes = [node('a'), node('b'), node('c', { reachable: false, hears: { a: heard } })]
    expect(cellOf(nodes, 'a', 'c').state).toBe('unknown')
    expect(cellOf(nodes, 'c', 'a').state).toBe('old')
    expect(cellOf(nodes, 'c', 'a').isOneWay).toBe(false)
  })

  it('judges the row of another node by the time of its report', () => {
    const row = (x: number, y: number): object => ({
      hears: { b: { heardMsAgo: x, rttMs: 1 }, c: { heardMsAgo: y, rttMs: 1 } },
    })
    const statesOf = (x: number, y: number): readonly string[] => {
      const nodes = [node('a', row(x, y)), node('b'), node('c')]
      return [cellOf(nodes, 'a', 'b').state, cellOf(nodes, 'a', 'c').state]
    }
    expect(statesOf(4800, 4850)).toEqual(['heard', 'heard'])
    expect(statesOf(4800, 6300)).toEqual(['heard', 'silent'])
    expect(statesOf(9000, 9100)).toEqual(['silent', 'silent'])
  })

  it('knows the links that conclave up cut', () => {
    const local = { url: 'http://127.0.0.1:1/', nodes: {}, cut: [['a', 'b']] as const }
    const cut = matrixOf(statusWith(), local)
      .rows.flat()
      .filter(({ isCut }) => isCut)
    expect(cut.map(({ hearer, sender }) => `${hearer}<${sender}`)).toEqual(['a<b'])
  })
})
