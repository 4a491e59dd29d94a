/**
 * Two nodes that should both follow node 1. The polite pair deadlocks: each waits for the other to speak
 * first. The eager pair livelocks: both ask for ever without deciding.
 */
import { type Definition, define, type NodeId, type Protocol, send, setTimer } from '../../src/core/index.ts'

type Manner = 'polite' | 'eager' | 'decided'

function waiter(self: NodeId, manner: Manner): Protocol {
  const other = self === 1 ? 2 : 1
  return {
    start: () => ({
      state: { follows: null },
      effects: manner === 'polite' ? [] : [setTimer('ask', 1)],
    }),
    step(state, input) {
      if (input.type === 'timer')
        return { state, effects: [send(other, { kind: 'ask' }), setTimer('ask', 1)] }
      if (input.type === 'message' && manner === 'decided') return { state: { follows: 1 }, effects: [] }
      return { state, effects: [] }
    },
    view(state) {
      const leader = (state as { follows: number | null }).follows
      const role = leader === null ? 'candidate' : leader === self ? 'leader' : 'follower'
      return { role, leader, token: null, until: null, members: null, detail: null }
    },
    shift: (state) => state,
  }
}

export function waiters(manner: Manner): Definition {
  return define({
    name: 'waiters',
    title: 'two that wait for each other',
    source: 'a canary',
    kinds: ['ask'],
    prefers: 'lowest',
    order: 'fifo',
    promises: ['live-leader'],
    create: ({ self }) => waiter(self, manner),
    settlesWithin: () => 0,
    exploration: { crashes: 0, recoveries: 0, timers: 'quiet', progress: true },
  })
}
