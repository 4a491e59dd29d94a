/**
 * How each lesson is completed: for the tests in Node and in the browser, not for the page. A move acts at an instant, or
 * goes to a moment.
 */
import type { Picture } from '../engine/picture.ts'
import type { Intervention } from '../model/types.ts'

export type Move =
  | { readonly atMs: number; readonly event: Intervention | ((picture: Picture) => Intervention) }
  | { readonly moment: (picture: Picture) => number }

function violationOf(name: string): (picture: Picture) => number {
  return ({ verdicts }) => verdicts.find((verdict) => verdict.name === name)?.moment ?? -1
}

function messageOf(kind: string, from: number, to: number): (picture: Picture) => number {
  return ({ flights }) =>
    flights.find((flight) => flight.kind === kind && flight.from === from && flight.to === to)?.message ?? -1
}

export const SOLUTIONS: { readonly [lesson: string]: readonly Move[] } = {
  lease: [{ atMs: 500, event: { crash: 1 } }],
  'paused-leader': [{ atMs: 500, event: { pause: 1, forMs: 400 } }],
  'suspended-clock': [{ atMs: 500, event: { suspend: 1, forMs: 400 } }],
  'slow-clock': [
    { atMs: 510, event: { partition: [[1], [2, 3]] } },
    { atMs: 511, event: { drift: 1, ppm: -500_000 } },
  ],
  'quick-restart': [
    { atMs: 502, event: { crash: 2 } },
    { atMs: 502, event: { crash: 3 } },
    { atMs: 503, event: { recover: 2 } },
    { atMs: 503, event: { recover: 3 } },
  ],
  'early-release': [{ moment: violationOf('one-leader') }],
  'partial-connectivity': [{ atMs: 700, event: { cut: [[1, 5]] } }],
  'tuned-leases': [
    { atMs: 6500, event: { load: [2], lateMs: [0, 60] } },
    { atMs: 6600, event: { load: [3], lateMs: [0, 60] } },
  ],
  'ring-crash': [{ atMs: 15, event: { crash: 3 } }],
  'crossed-coordinators': [
    { atMs: 110, event: (picture) => ({ delay: messageOf('coordinator', 2, 1)(picture), forMs: 30 }) },
  ],
  'late-answer': [
    { atMs: 300, event: { slow: [[1, 3]], delayMs: 50 } },
    { atMs: 301, event: { slow: [[2, 3]], delayMs: 50 } },
  ],
  merge: [{ atMs: 1000, event: { heal: 'all' } }],
  'three-nodes': [
    { atMs: 2050, event: { cut: [[1, 3]] } },
    { atMs: 2060, event: { recover: 3 } },
  ],
  'five-cycle': [{ atMs: 7000, event: { cut: [[4, 5]] } }],
  'volatile-counter': [
    { atMs: 2000, event: { crash: 3 } },
    { atMs: 2010, event: { recover: 3 } },
  ],
  'phi-table': [{ atMs: 50, event: { cut: [[2, 4]] } }],
  'stale-accept': [{ moment: ({ flights }) => flights.find(({ kind }) => kind === 'accept')?.sentIn ?? -1 }],
  'omega-story': [
    { atMs: 30, event: { partition: [[1], [2, 3, 4, 5]] } },
    { atMs: 50, event: { heal: 'all' } },
  ],
  'static-quorum': [{ atMs: 1000, event: { pause: 1, forMs: 600 } }],
  'resume-job': [{ atMs: 1000, event: { crash: 2 } }],
  'ballot-tie': [{ moment: violationOf('one-leader-an-epoch') }],
  'no-start': [{ atMs: 40, event: { pause: 1, forMs: 160 } }],
}
