/** Lessons about the bully algorithms: what they assume about delays and restarts. */
import { breaks, done, isViolated, notYet } from './checks.ts'
import type { Lesson } from './lesson.ts'

const crossedCoordinators: Lesson = {
  id: 'crossed-coordinators',
  title: 'Crossed coordinators',
  summary: 'Two coordinator messages arrive in the wrong order, and a node follows the wrong node for ever.',
  source: 'Franke, Distributed Systems, lecture 11 (Edinburgh 2006); after Garcia-Molina 1982',
  protocol: 'bully',
  speed: 0.01,
  scenario: {
    protocol: 'bully',
    nodes: [1, 2, 3],
    options: { repaired: false, detector: 'none' },
    initial: { leader: 3 },
    network: { delayMs: 20 },
    events: [
      { atMs: 50, crash: 3 },
      { atMs: 100, command: { node: 2, do: 'detect', of: 3 } },
      { atMs: 105, recover: 3 },
    ],
    untilMs: 300,
  },
  captions: [
    { atMs: 0, text: 'Node 3 leads: in the bully algorithm, the highest living node does.' },
    { atMs: 50, text: 'Node 3 crashes.' },
    { atMs: 100, text: 'Node 2 notices it, and announces itself to node 1 as the coordinator.' },
    { atMs: 105, text: 'Node 3 is back already, and announces itself to both.' },
    { atMs: 126, text: 'Node 1 heard node 2 first and node 3 last, so it follows node 3: all agree.' },
  ],
  task: 'Let node 1 follow the wrong node for ever: change the order in which it hears the two announcements.',
  hint: 'Go to about 110 ms, select the coordinator message from 2 to 1, and delay it by 30 ms.',
  afterwards: 'Node 2 follows 3, and node 1 follows 2 for ever. The repaired form asks first.',
  check: breaks('agreement', 'All nodes still agree at the end.'),
}

const lateAnswer: Lesson = {
  id: 'late-answer',
  title: 'Silence is no proof',
  summary: 'Garcia-Molina takes silence for a crash, which is right only if no message is ever late.',
  source: 'Garcia-Molina, Elections in a Distributed Computing System, 1982',
  protocol: 'bully-gm',
  speed: 0.02,
  scenario: {
    protocol: 'bully-gm',
    nodes: [1, 2, 3],
    options: { timeoutMs: 30, periodMs: 200 },
    initial: { leader: 3 },
    network: { delayMs: 5 },
    untilMs: 1500,
  },
  captions: [
    { atMs: 0, text: 'Node 3 is the coordinator, and every message takes 5 ms.' },
    { atMs: 200, text: 'Each node asks the coordinator whether it is up, every 200 ms.' },
    { atMs: 211, text: 'All answers came within the timeout of 30 ms, so nothing happens.' },
  ],
  task: 'Without a crash, make the nodes disagree about the coordinator (assertion-1).',
  hint: 'Before the nodes ask again at 400 ms, make both links of node 3 slow: 50 ms.',
  afterwards:
    'In a synchronous system a timeout proves a crash. On a real network it proves nothing, and two coordinators appear.',
  check({ picture, made }) {
    if (!isViolated(picture, 'assertion-1'))
      return notYet('All nodes have the same coordinator all the time.')
    if (made.some((event) => 'crash' in event))
      return notYet('The nodes disagree, but do it without a crash.')
    return done('The nodes disagree, although none of them has crashed.')
  },
}

export const BULLY_LESSONS: readonly Lesson[] = [crossedCoordinators, lateAnswer]
