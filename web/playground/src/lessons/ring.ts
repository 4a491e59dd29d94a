/** The lesson about the ring: Chang and Roberts 1979. */
import { done, isViolated, notYet } from './checks.ts'
import type { Lesson } from './lesson.ts'

const ringCrash: Lesson = {
  id: 'ring-crash',
  title: 'Around the ring',
  summary: 'The largest identifier goes around and returns to its owner, if no node fails on the way.',
  source: 'Chang and Roberts 1979; Franke, lecture 11 (Edinburgh 2006)',
  protocol: 'ring',
  speed: 0.01,
  scenario: {
    protocol: 'ring',
    nodes: [4, 1, 2, 3],
    network: { delayMs: 10 },
    events: [{ atMs: 0, command: { node: 1, do: 'start' } }],
    untilMs: 1000,
  },
  captions: [
    { atMs: 0, text: 'Node 1 starts an election, and sends its identifier to its neighbour 2.' },
    { atMs: 10, text: 'Node 2 is larger, and sends its own identifier instead; so does node 3.' },
    { atMs: 30, text: 'Node 4 is the largest: its identifier goes around the whole ring.' },
    { atMs: 70, text: 'Node 4 receives its own identifier, so it has won, and tells all others.' },
    { atMs: 110, text: 'It took 11 messages, the paper’s 3N - 1.' },
  ],
  task: 'One crash is enough: stop the election for ever.',
  hint: 'Crash any node while the identifier is on its way, for example node 3 at 15 ms.',
  afterwards:
    'The message to the crashed node is lost, and no node sends it again. The form with acknowledged hops skips it.',
  check({ picture, made }) {
    if (!isViolated(picture, 'ring-liveness'))
      return notYet('Every living node has a leader, or nothing was judged.')
    const crashes = made.filter((event) => 'crash' in event).length
    return crashes === 1 && made.length === 1
      ? done('One crash has stopped the election.')
      : notYet('The election is stopped, but use one single crash.')
  },
}

export const RING_LESSONS: readonly Lesson[] = [ringCrash]
