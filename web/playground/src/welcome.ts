/**
 * The first thing that the page shows: a leader whose host is suspended. Its clock stops, so it believes in its lease
 * long after another node was elected.
 */
import type { ScenarioFile } from './engine/messages.ts'

export const WELCOME: ScenarioFile = {
  protocol: 'local-leader',
  nodes: [1, 2, 3, 4, 5],
  network: { delayMs: [0.5, 4] },
  clocks: { driftPpm: 100 },
  events: [{ atMs: 400, suspend: 1, forMs: 300 }],
  untilMs: 2000,
}

/** In the middle of it: the lease of node 1 has ended, and node 2 leads. */
export const WELCOME_AT = 560_000

export const WELCOME_NAME = 'a suspended leader'
