import { describe, expect, it } from 'vitest'
import type { Local } from '../data/types.ts'
import { measured, statusWith } from './fixture.ts'
import { colourOf, handOverFor, type NodeRow, nodeRows, toleranceOf } from './nodes.ts'

const rowOf = (node: object, local: Local | null = null): NodeRow => {
  const base = { id: 'a', voter: true, leader: false, reachable: true, heardMsAgo: 12, rttMs: 0.5 }
  const [row] = nodeRows(statusWith({ nodes: [{ ...base, ...node }] }), local)
  if (row === undefined) throw new Error('there is no row')
  return row
}

const localWith = (state: Local['nodes'][string]): Local => ({
  url: 'http://127.0.0.1:1/',
  nodes: { a: state },
  cut: [],
})

describe('a row of the nodes table', () => {
  it.each([
    ['the leader', { leader: true }, 'leads'],
    ['a reachable node', {}, 'reachable'],
    ['a node that cannot store its votes', { canStore: false }, 'cannot vote'],
    ['a lost node', { reachable: false, canStore: false }, 'unreachable'],
  ])('says the state of %s', (_which, node, word) => {
    expect(rowOf(node).stateWord).toBe(word)
  })

  it('prefers what conclave up did to the process', () => {
    expect(rowOf({ leader: true }, localWith('paused')).stateWord).toBe('paused')
    expect(rowOf({}, localWith('down')).stateWord).toBe('killed')
    expect(rowOf({}, localWith('up')).stateWord).toBe('reachable')
  })

  it('marks lateness beyond σ, and another version', () => {
    expect(rowOf({ measured, version: '1.0.0' })).toMatchObject({
      lateness: '4.0 ms',
      isLate: false,
      isOtherVersion: false,
    })
    const late = { ...measured, latenessMs: { p50: 1, p99: 20, max: 31 } }
    expect(rowOf({ measured: late, version: '0.9.0' })).toMatchObject({ isLate: true, isOtherVersion: true })
    expect(rowOf({ measured: late }).latenessDetail).toContain('σ is 30 ms')
  })

  it('shows a dash for what a node did not say', () => {
    const { address, version, priority, lateness } = rowOf({})
    expect([address, version, priority, lateness]).toEqual(['–', '–', '–', '–'])
  })

  it('links to the page of another agent, but only to a page', () => {
    expect(rowOf({ page: 'http://10.0.0.2:7480/' }).page).toBe('http://10.0.0.2:7480/')
    expect(rowOf({ page: 'javascript:alert(1)' }).page).toBeNull()
    expect(rowOf({ id: 'b', page: 'http://10.0.0.2:7480/' }).page).toBeNull()
  })
})

it('offers to end the term where that is possible', () => {
  const own = { leader: { id: 'b', token: 1, expiresInMs: 5 } }
  expect(handOverFor(statusWith(own), null)).toBe('step-down')
  expect(handOverFor(statusWith(), null)).toBeNull()
  expect(handOverFor(statusWith(), localWith('up'))).toBe('yield')
  expect(handOverFor(statusWith({ leader: null }), localWith('up'))).toBeNull()
})

it('gives each of eight nodes a colour, and none to unknown nodes', () => {
  const ids = Array.from({ length: 9 }, (_, index) => `n${index}`)
  expect(ids.map((id) => colourOf(ids, id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 1])
  expect([colourOf(ids, null), colourOf(ids, 'x')]).toEqual([0, 0])
})

describe('how many more nodes may fail', () => {
  it('is what the agent says', () => {
    expect(toleranceOf(statusWith())).toMatchObject({
      count: 1,
      sentence: '3 of 3 voters reachable, 2 needed',
    })
  })

  it('counts registers in a store', () => {
    expect(toleranceOf(statusWith({ mode: 'store' })).sentence).toBe(
      '3 nodes have a register in the store, 1 needed',
    )
  })

  it('is 0 without a leader, and counts the unreachable voters', () => {
    const nodes = [
      { id: 'a', voter: true, reachable: false },
      { id: 'b', voter: true, reachable: true },
    ]
    const { count, sentence, voters } = toleranceOf(statusWith({ leader: null, failureTolerance: 1, nodes }))
    expect([count, sentence]).toEqual([0, '1 of 3 voters reachable, 2 needed'])
    expect(voters.map(({ canVote }) => canVote)).toEqual([false, true, false])
  })

  it('counts no voter that cannot store its votes', () => {
    const nodes = ['a', 'b', 'c'].map((id) => ({ id, voter: true, reachable: true, canStore: id !== 'c' }))
    const { sentence, voters } = toleranceOf(statusWith({ nodes }))
    expect(sentence).toBe('2 of 3 voters can vote, 2 needed')
    expect(voters.map(({ canVote }) => canVote)).toEqual([true, true, false])
  })
})
