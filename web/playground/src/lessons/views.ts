/** Lessons about views of the living nodes, from Phi to Omega+, and about jobs that survive. Franceschetti and Bruck 1999. */
import { timeText } from '../model/text.ts'
import { done, leadersAtEnd, leadsOf, microsOf, notYet, overlapOf } from './checks.ts'
import type { Lesson } from './lesson.ts'
import { OMEGA_STALE_ACCEPT } from './schedules.ts'

const SOURCE = 'Franceschetti and Bruck, A Group Membership Algorithm with a Practical Specification, 1999'

const phiTable: Lesson = {
  id: 'phi-table',
  title: 'Table 1 of the paper',
  summary: 'The least survivor leads once all survivors agree on who has failed.',
  source: SOURCE,
  protocol: 'phi',
  speed: 0.005,
  scenario: {
    protocol: 'phi',
    nodes: [1, 2, 3, 4],
    initial: { leader: 1 },
    network: { delayMs: [1, 3] },
    events: [
      { atMs: 10, cut: [[1, 2]] },
      { atMs: 20, cut: [[1, 3]] },
      { atMs: 30, cut: [[2, 3]] },
      { atMs: 40, cut: [[1, 4]] },
    ],
    untilMs: 200,
  },
  captions: [
    { atMs: 0, text: 'Four nodes with all links, as in the example of the paper.' },
    { atMs: 10, text: 'The link between 1 and 2 fails: each of them suspects the other.' },
    { atMs: 20, text: 'The link between 1 and 3 fails.' },
    { atMs: 30, text: 'The link between 2 and 3 fails.' },
    { atMs: 40, text: 'Node 1 has lost its last link: it is isolated, and counts as dead.' },
    { atMs: 60, text: 'No node leads: node 3 has lost node 2, but node 4 still reaches it.' },
  ],
  task: 'Make node 3 the leader, as in the last row of the table.',
  hint: 'Node 4 must lose node 2 as well: cut the link between 2 and 4.',
  afterwards: 'Nodes 3 and 4 now agree that 1 and 2 have failed, and 3 is the least that is left.',
  check({ picture }) {
    const leaders = leadersAtEnd(picture)
    if (leaders.includes(3)) return done('Node 3 leads.')
    return notYet(leaders.length === 0 ? 'No node leads at the end.' : `Node ${leaders[0]} leads at the end.`)
  },
}

const omegaStory: Lesson = {
  id: 'omega-story',
  title: 'The story of the introduction',
  summary: 'Nodes leave and return, and each change makes a view with a larger number.',
  source: SOURCE,
  protocol: 'omega',
  speed: 0.005,
  scenario: {
    protocol: 'omega',
    nodes: [1, 2, 3, 4, 5],
    initial: { leader: 1 },
    options: { links: 'reported' },
    seed: 3,
    network: { delayMs: [0.5, 2] },
    events: [
      {
        atMs: 10,
        cut: [
          [5, 1],
          [5, 2],
          [5, 3],
          [5, 4],
        ],
      },
    ],
    untilMs: 300,
  },
  captions: [
    { atMs: 0, text: 'Five nodes share a view, and node 1 leads it.' },
    { atMs: 10, text: 'Node 5 loses all its links.' },
    { atMs: 20, text: 'The other four agree on a view without node 5, still led by node 1.' },
  ],
  task: 'Continue the story: cut off node 1, let node 2 lead, and then heal everything so that node 2 still leads.',
  hint: 'Isolate node 1 at about 30 ms, and heal all links at about 50 ms.',
  afterwards: 'Nodes 1 and 5 return under a new incarnation, and join the newer view: the leader stays.',
  check({ picture }) {
    const second = leadsOf(picture).find(({ node }) => node === 2)
    if (second === undefined) return notYet('Node 2 has not led yet.')
    const last = picture.lanes.map(({ roles }) => roles.at(-1))
    const isComplete = last.every((span) => span?.leader === 2)
    return isComplete
      ? done('All five nodes follow node 2, which led before they returned.')
      : notYet('Node 2 has led, but at the end not all nodes follow it.')
  },
}

const staleAccept: Lesson = {
  id: 'stale-accept',
  title: 'The stale accept',
  summary: 'An accept for a cancelled candidacy counts for the next one.',
  source: SOURCE,
  protocol: 'omega-printed',
  speed: 1,
  scenario: OMEGA_STALE_ACCEPT,
  captions: [
    {
      atMs: 0,
      text: 'Theorem 3.3 says: a node is elected only over nodes that all others suspected at once.',
    },
    { atMs: 1, text: 'Node 1 loses its link to node 2, and asks node 3 whether node 2 has failed.' },
    { atMs: 4, text: 'The link is back, so node 1 cancels; the cancel is still in flight.' },
    { atMs: 7, text: 'Node 3 has lost node 2 for a moment, and answers the question of before.' },
    { atMs: 10, text: 'Node 1 loses node 2 again, counts the old accept, and leads over a living node.' },
  ],
  task: 'Step to the moment at which node 3 sends the accept that no candidacy waits for any more.',
  hint: 'Step by message, or back from the end: it is the only accept of the run.',
  afterwards:
    'Candidacies need numbers, so that an accept names the candidacy that it answers. Omega+ numbers its views.',
  check({ picture, cursor }) {
    const accept = picture.flights.find(({ kind }) => kind === 'accept')
    if (accept === undefined) return notYet('There is no accept in this run.')
    return cursor.moment === accept.sentIn
      ? done(`Node ${accept.from} sends the accept here, while the cancel of node ${accept.to} is in flight.`)
      : notYet('No accept is sent at this moment.')
  },
}

const staticQuorum: Lesson = {
  id: 'static-quorum',
  title: 'A majority, and still two leaders',
  summary: 'A majority decides on one view at a time, but an old leader may not have heard of the new one.',
  source: SOURCE,
  protocol: 'omega',
  speed: 0.1,
  scenario: {
    protocol: 'omega',
    nodes: [1, 2, 3, 4, 5],
    initial: { leader: 1 },
    options: { quorum: 'static' },
    network: { delayMs: [0.5, 2] },
    untilMs: 3000,
  },
  captions: [
    {
      atMs: 0,
      text: 'A view needs a majority of all nodes, and views are numbered: there is no lease here.',
    },
    { atMs: 500, text: 'Node 1 leads while a majority answers it.' },
    { atMs: 1000, text: 'A partition alone is harmless: node 1 notices in time that no majority answers.' },
  ],
  task: 'Make two nodes tell their applications at once that they lead.',
  hint: 'Pause node 1 for 600 ms: while it sleeps, it cannot notice anything.',
  afterwards:
    'A quorum orders the leaders, but it does not stop the old one. Only its smaller token tells a resource to refuse it.',
  check({ picture }) {
    const found = overlapOf(picture)
    if (found === null) return notYet('At every instant at most one node says that it leads.')
    return done(`From ${timeText(found.at)} on, nodes ${found.nodes.join(' and ')} both say that they lead.`)
  },
}

const resumeJob: Lesson = {
  id: 'resume-job',
  title: 'A job that outlives its node',
  summary: 'Checkpoints in erasure-coded columns let another node continue a job.',
  source: 'Bohossian et al., Computing in the RAIN, 2001',
  protocol: 'recovery',
  speed: 0.1,
  scenario: {
    protocol: 'recovery',
    nodes: [1, 2, 3, 4],
    options: { length: 200 },
    network: { delayMs: [0.5, 2] },
    untilMs: 3000,
  },
  captions: [
    { atMs: 0, text: 'Four nodes elect a manager and run two jobs.' },
    { atMs: 400, text: 'Each job writes checkpoints, of which every node keeps a column.' },
    { atMs: 1000, text: 'Any two of the four columns are enough to restore a checkpoint.' },
  ],
  task: 'Crash a node that runs a job, and see the job continue on another node.',
  hint: 'Try the nodes one after another: step back and crash another one. A fork costs nothing.',
  afterwards:
    'The manager fences the old owner first: it waits for the promise of a majority to accept nothing from it.',
  check({ picture, made }) {
    const crash = made.find((event) => 'crash' in event)
    if (crash === undefined) return notYet('No node has crashed yet.')
    const resumed = picture.goals.find(({ name }) => name === 'job-resumed')?.count ?? 0
    return resumed > 0
      ? done(`A job continues on another node after the crash at ${timeText(microsOf(crash))}.`)
      : notYet('That node ran no job, or its job had ended.')
  },
}

export const VIEW_LESSONS: readonly Lesson[] = [phiTable, staleAccept, omegaStory, staticQuorum, resumeJob]
