/** How a hand-over waits for the next leader, and what it says when another node leads, or none. */
import { describe, expect, it } from 'vitest'
import type { NodeView } from '../election/election.ts'
import { awaitSuccessor, type HandOver, heldTerm, SUCCESSOR_TIMEOUT_MS } from './hand-over.ts'
import { Notifier } from './notifier.ts'

const viewWith = (leader: NodeView['leader']): NodeView => ({ role: 'follower', leader, members: null })

/** A node whose view, clock and timers the test decides. It has just released the term with the token 4. */
function lab(signal?: AbortSignal) {
  const changes = new Notifier<NodeView>()
  const state = { isClosed: false, view: viewWith({ id: 'a', token: 4 }), nowMs: 100, pending: 0 }
  let expire: () => void = () => {}
  const node = {
    changes,
    elections: new Notifier<void>(),
    isClosed: () => state.isClosed,
    view: () => state.view,
  }
  const timers = {
    after(ms: number, run: () => void) {
      expect(ms).toBe(SUCCESSOR_TIMEOUT_MS)
      state.pending += 1
      expire = run
      return () => void (state.pending -= 1)
    },
  }
  const waiting = awaitSuccessor(node, { to: 'b', former: 4, timers, signal, now: () => state.nowMs })
  return {
    state,
    waiting,
    expire: () => expire(),
    change(leader: NodeView['leader'], nowMs = state.nowMs) {
      state.nowMs = nowMs
      state.view = viewWith(leader)
      changes.notify(state.view)
    },
  }
}

const NO_LEADER: Omit<HandOver, 'problem'> = { to: 'b', released: true, leader: null, afterMs: null }

describe('a hand-over', () => {
  it('waits until the chosen node leads with another token', async () => {
    const { change, waiting, state } = lab()
    change(null, 103)
    change({ id: 'b', token: 5 }, 112.4)
    expect(await waiting).toEqual({
      to: 'b',
      released: true,
      leader: { id: 'b', token: 5 },
      afterMs: 12,
      problem: null,
    })
    expect(state.pending).toBe(0)
  })

  it('says that another node leads, also this one again', async () => {
    for (const id of ['c', 'a']) {
      const { change, waiting } = lab()
      change({ id, token: 6 })
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await waiting).toMatchObject({ leader: { id, token: 6 }, problem: `${id} leads next, not b` })
    }
  })

  it('says after its timeout that no leader is known', async () => {
    const { change, waiting, expire } = lab()
    change(null)
    expire()
    const problem = 'this node knows no leader 5 s after it released its lease'
    expect(await waiting).toEqual({ ...NO_LEADER, problem })
  })

  it('ends with its signal, and with the node', async () => {
    const stop = new AbortController()
    const aborted = lab(stop.signal)
    stop.abort()
    const problem = 'the wait was aborted before this node knew the next leader'
    expect(await aborted.waiting).toEqual({ ...NO_LEADER, problem })
    const closed = lab()
    closed.state.isClosed = true
    closed.change(null)
    expect((await closed.waiting).problem).toBe('this node was closed before it knew the next leader')
  })

  it('of a term whose work has not ended names no leader', () => {
    expect(heldTerm('b')).toMatchObject({ released: false, leader: null, afterMs: null })
  })
})
