/**
 * A ticket office: the leader hands out numbers, none of them twice, even after a crash. The careless office
 * sends a number before persisting it, so that a crash in between hands it out again.
 */
import { z } from 'zod'
import {
  type Definition,
  define,
  type Message,
  output,
  type Protocol,
  persist,
  send,
} from '../../src/core/index.ts'
import type { Spec } from '../../src/workbench/specs/index.ts'

type Office = { readonly issued: number }
type Ticket = Message & { readonly number: number }

function office(self: unknown, careful: boolean): Protocol {
  return {
    start: (stable) => ({ state: { issued: stable ?? 0 }, effects: [] }),
    step(state, input) {
      if (input.type === 'command') {
        const number = (state as Office).issued + 1
        const note = persist(number)
        const hand = send(2, { kind: 'ticket', number })
        return { state: { issued: number }, effects: careful ? [note, hand] : [hand, note] }
      }
      if (input.type !== 'message') return { state, effects: [] }
      const { number } = input.body as Ticket
      return { state, effects: [output({ type: 'ticket', number })] }
    },
    view: () => ({
      role: self === 1 ? 'leader' : 'follower',
      leader: 1,
      token: null,
      until: null,
      members: null,
      detail: null,
    }),
    shift: (state) => state,
  }
}

export function tickets(careful: boolean): Definition {
  return define({
    name: 'tickets',
    title: 'numbers that are handed out once',
    source: 'a canary',
    kinds: ['ticket'],
    prefers: 'lowest',
    order: 'fifo',
    commands: () => z.strictObject({ do: z.literal('issue') }),
    create: ({ self }) => office(self, careful),
    stimuli: (state: Office, { self }) =>
      self === 1 && state.issued < 2 ? [{ command: { do: 'issue' }, whenDown: null, owed: true }] : [],
    settlesWithin: () => 0,
  })
}

export const onceOnly: Spec<readonly number[]> = {
  name: 'once-only',
  title: 'no number is handed out twice',
  source: 'a canary',
  when: 'always',
  fold: {
    begin: () => [],
    next: (memory, seen) =>
      seen.type === 'output' && seen.event.type === 'ticket'
        ? [...memory, seen.event['number'] as number]
        : memory,
  },
  judge(memory, seen) {
    if (seen.type !== 'output') return 'not concerned'
    return new Set(memory).size === memory.length
      ? 'held'
      : { violated: `${memory.at(-1)} was handed out twice` }
  },
}
