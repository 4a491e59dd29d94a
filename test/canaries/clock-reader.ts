/**
 * A lease that is announced in the sender's time and compared with the receiver's clock. It works only if all
 * clocks agree, which they never do.
 */
import {
  type Definition,
  define,
  type Micros,
  type Plain,
  type Protocol,
  send,
  setTimer,
} from '../../src/core/index.ts'

type Lease = { readonly leads: boolean; readonly until: Micros | null }

const LEASE: Micros = 100_000

function reader(self: unknown): Protocol {
  return {
    start(_stable, now) {
      if (self !== 1) return { state: { leads: false, until: null }, effects: [] }
      const until = now + LEASE
      return {
        state: { leads: true, until },
        effects: [send(2, { kind: 'lease', until }), setTimer('end', until)],
      }
    },
    step(state, input, now) {
      if (input.type === 'timer') return { state: { leads: self !== 1, until: null }, effects: [] }
      if (input.type !== 'message') return { state, effects: [] }
      const until = input.body['until'] as Micros
      const waiting: Plain = { leads: false, until }
      return { state: waiting, effects: [setTimer('mine', Math.max(now, until))] }
    },
    view: (state) => ({
      role: (state as Lease).leads ? 'leader' : 'follower',
      leader: null,
      token: null,
      until: null,
      members: null,
      detail: null,
    }),
    shift: (state, by) => {
      const lease = state as Lease
      return lease.until === null ? lease : { ...lease, until: lease.until + by }
    },
  }
}

export const clockReader: Definition = define({
  name: 'clock-reader',
  title: "compares another node's clock with its own",
  source: 'a canary',
  kinds: ['lease'],
  prefers: 'lowest',
  order: 'fifo',
  promises: ['one-leader'],
  goals: ['elected'],
  create: ({ self }) => reader(self),
  settlesWithin: () => LEASE * 3,
})
