/** Lessons about groups that invite each other: Garcia-Molina 1982 and Stoller 1999. */
import { breaks, done, isHeld, isLinkChange, leadersAtEnd, notYet } from './checks.ts'
import type { Lesson } from './lesson.ts'

const STOLLER = 'Stoller, Leader Election in Asynchronous Distributed Systems, 1999'
const OPTIONS = {
  checkPeriodMs: 600,
  timeoutPeriodMs: 400,
  queryTimeoutMs: 40,
  acceptWindowMs: 60,
  acceptTimeoutMs: 40,
  readyTimeoutMs: 40,
  jitter: 0,
}

const merge: Lesson = {
  id: 'merge',
  title: 'Two groups become one',
  summary: 'A coordinator that finds another one invites it, with all its members.',
  source: 'Garcia-Molina 1982; Franke, lecture 11 (Edinburgh 2006)',
  protocol: 'invitation',
  speed: 0.1,
  scenario: {
    protocol: 'invitation',
    nodes: [1, 2, 3, 4],
    options: { ...OPTIONS, checkPhaseMs: { 2: 200, 4: 100 } },
    network: { delayMs: 10 },
    events: [
      {
        atMs: 0,
        partition: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    untilMs: 6000,
  },
  captions: [
    { atMs: 0, text: 'Every node starts as the coordinator of a group of its own.' },
    { atMs: 100, text: 'Node 4 finds node 3, and invites it.' },
    { atMs: 300, text: 'Node 2 and node 1 become a group too, and the two groups cannot hear each other.' },
  ],
  task: 'Connect the two sides so that one group of four remains.',
  hint: 'Let both groups form, and heal all links at about 1,000 ms.',
  afterwards:
    'Node 4 invites node 2, which passes the invitation on to its member: accept, answer, ready, answer.',
  check({ picture }) {
    const leaders = leadersAtEnd(picture)
    if (leaders.length !== 1) return notYet(`At the end there are ${leaders.length} groups.`)
    const lanes = picture.lanes.filter(({ roles }) => roles.at(-1)?.leader === leaders[0])
    if (lanes.length < 4) return notYet('Some node is not in the group.')
    return done(`All four nodes follow node ${leaders[0]}.`)
  },
}

const fiveCycle: Lesson = {
  id: 'five-cycle',
  title: 'The circle of five',
  summary: 'Five groups around a circle take members from each other, and never come to rest.',
  source: STOLLER,
  protocol: 'invitation',
  speed: 2,
  scenario: {
    protocol: 'invitation',
    nodes: [1, 2, 3, 4, 5],
    options: {
      ...OPTIONS,
      checkPeriodMs: 5000,
      timeoutPeriodMs: 200,
      policy: 'soft',
      priorityDelayMs: 20,
      checkPhaseMs: { 1: 4000, 2: 2000, 3: 5000, 4: 3000, 5: 1000 },
    },
    network: { delayMs: 10 },
    links: [],
    events: [
      { atMs: 3500, links: [[1, 2]] },
      {
        atMs: 4500,
        links: [
          [1, 2],
          [3, 4],
        ],
      },
      {
        atMs: 5500,
        links: [
          [1, 2],
          [2, 3],
          [3, 4],
          [4, 5],
          [1, 5],
        ],
      },
    ],
    untilMs: 60000,
  },
  captions: [
    { atMs: 0, text: 'Five nodes without any link lead five groups of one.' },
    { atMs: 3500, text: 'Nodes 1 and 2 get a link, and become a group.' },
    { atMs: 4500, text: 'Nodes 3 and 4 do the same.' },
    { atMs: 5500, text: 'Now the links form a circle, and node 5 invites node 1 away from node 2.' },
    {
      atMs: 7000,
      text: 'Node 2 is alone and takes node 3, node 4 is alone and takes node 5, and so on for ever.',
    },
    { atMs: 50000, text: 'By now all should have settled: this is a livelock.' },
  ],
  task: 'Bring the groups to rest by one single change of the links.',
  hint: 'A path of five has an end, where no node can be taken away: cut any link of the circle, soon after 5,500 ms.',
  afterwards:
    'With the policy "strict" only the higher coordinator invites. Then the set of leaders, read as a binary number, only decreases.',
  check({ picture, made }) {
    if (made.length !== 1) return notYet(`You made ${made.length} changes; one is wanted.`)
    if (!made.every(isLinkChange)) return notYet('That was no change of the links.')
    if (!isHeld(picture, 'settles')) return notYet('The groups still change at the end of the run.')
    return done('The groups have come to rest.')
  },
}

const threeNodes: Lesson = {
  id: 'three-nodes',
  title: 'Stoller’s three nodes',
  summary: 'Two nodes that can talk to each other end up in different groups, and that is right.',
  source: STOLLER,
  protocol: 'invitation',
  speed: 0.1,
  scenario: {
    protocol: 'invitation',
    nodes: [1, 2, 3],
    options: { ...OPTIONS, checkPhaseMs: { 1: 500, 2: 400, 3: 100 } },
    network: { delayMs: 10 },
    events: [{ atMs: 2000, crash: 3 }],
    untilMs: 8000,
  },
  captions: [
    { atMs: 0, text: 'Assertion 4 of 1982: nodes that can all talk to each other become one group.' },
    { atMs: 300, text: 'Node 3 coordinates all three nodes.' },
    { atMs: 2000, text: 'Node 3 crashes.' },
    { atMs: 2330, text: 'Nodes 1 and 2 find each other, and node 2 coordinates both.' },
  ],
  task: 'Let nodes 1 and 2, which can talk to each other, end in different groups.',
  hint: 'Soon after the crash, at about 2,050 ms, cut the link between 1 and 3, and restart 3.',
  afterwards:
    'Node 3 takes node 2, and node 1 stays alone. Stoller’s Assertion 4′ allows it: a path of three needs two groups.',
  check({ picture }) {
    const last = picture.networks.at(-1)
    const isCut = last?.closed.some(([from, to]) => (from === 1 && to === 2) || (from === 2 && to === 1))
    if (isCut === true) return notYet('Nodes 1 and 2 must be able to talk to each other.')
    const [one, two] = picture.lanes.map(({ roles }) => roles.at(-1)?.leader ?? null)
    if (one === null || two === null || one === two)
      return notYet('Nodes 1 and 2 are in the same group, or in none.')
    return done(`Node 1 follows ${one}, and node 2 follows ${two}.`)
  },
}

const volatileCounter: Lesson = {
  id: 'volatile-counter',
  title: 'A counter that a crash forgets',
  summary: 'Group numbers are unique only if the counter survives a crash.',
  source: STOLLER,
  protocol: 'invitation',
  speed: 0.1,
  scenario: {
    protocol: 'invitation',
    nodes: [1, 2, 3],
    options: { ...OPTIONS, counter: 'volatile', checkPhaseMs: { 3: 100, 2: 300, 1: 500 } },
    network: { delayMs: 10 },
    untilMs: 6000,
  },
  captions: [
    { atMs: 0, text: 'A group number is the coordinator and a counter, which is kept in memory here.' },
    { atMs: 230, text: 'Node 3 has made its groups 3.1 and 3.2, and coordinates all nodes.' },
  ],
  task: 'Make one group number appear twice.',
  hint: 'Crash node 3 after it became the coordinator, and restart it.',
  afterwards:
    'A message of the old group 3.1 would be taken for one of the new. So the counter must be on disk.',
  check: breaks('group-numbers', 'Every group number is still unique.'),
}

export const GROUP_LESSONS: readonly Lesson[] = [merge, threeNodes, fiveCycle, volatileCounter]
