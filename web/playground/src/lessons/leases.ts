/** Lessons about leases: what a clock can do to them, and what it cannot. Fetzer and Cristian 1999. */
import type { Micros } from '../../../../src/core/index.ts'
import { timeText } from '../model/text.ts'
import {
  breaks,
  done,
  finds,
  isHeld,
  isLinkChange,
  isViolated,
  leaderAt,
  leadsOf,
  linksChanged,
  microsOf,
  notYet,
} from './checks.ts'
import type { Lesson } from './lesson.ts'
import { LOCAL_LEADER_RELEASE } from './schedules.ts'

const SOURCE = 'Fetzer and Cristian, A Highly Available Local Leader Election Service, 1999'
const THREE = { protocol: 'local-leader', nodes: [1, 2, 3], network: { delayMs: 2 } }

const lease: Lesson = {
  id: 'lease',
  title: 'A leader and its lease',
  summary: 'A leader leads for a limited time, and renews that time before it is over.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 0.05,
  scenario: { ...THREE, clocks: { driftPpm: 100 }, untilMs: 1500 },
  captions: [
    { atMs: 0, text: 'Three nodes start, and none of them knows a leader.' },
    { atMs: 54, text: 'Node 1 asks the others for their support: an Election message to each.' },
    { atMs: 59, text: 'A majority supports node 1, so it leads: the bar in its lane is its lease.' },
    { atMs: 200, text: 'Node 1 renews the lease long before it ends, again and again.' },
  ],
  task: 'Crash the leader, and see how long the group has no leader.',
  hint: 'Let it play until node 1 leads, pause, select node 1 and choose Crash.',
  afterwards:
    'No other node could lead before the lease of the crashed leader was over. That is the price of safety.',
  check({ picture, made }) {
    const crashes = made.filter((event) => 'crash' in event)
    const crash = crashes.find((event) => leaderAt(picture, microsOf(event) - 1) === event.crash)
    if (crash === undefined) {
      const [other] = crashes
      return notYet(
        other === undefined
          ? 'No node has crashed yet.'
          : `Node ${other.crash} did not lead when it crashed.`,
      )
    }
    const at = microsOf(crash)
    const next = leadsOf(picture).find(({ node, from }) => node !== crash.crash && from >= at)
    if (next === undefined) return notYet('No other node leads in this run: let the others reach each other.')
    return done(`Node ${next.node} leads ${timeText(next.from - at)} after the crash of node ${crash.crash}.`)
  },
}

const pausedLeader: Lesson = {
  id: 'paused-leader',
  title: 'A leader that sleeps',
  summary: 'A process can stop for seconds and not notice; its lease ends without it.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 0.05,
  scenario: { ...THREE, untilMs: 2000 },
  captions: [
    {
      atMs: 0,
      text: 'A garbage collector, a hypervisor or a debugger can stop a process at any instruction.',
    },
    { atMs: 60, text: 'Node 1 leads, and its clock continues even while the process is stopped.' },
    { atMs: 300, text: 'Pausing node 1 means: messages wait, timers wait, and time goes on.' },
  ],
  task: 'Pause the leader until another node leads, and watch that no two leases overlap.',
  hint: 'Pause node 1 for 400 ms while it leads. Its lease lasts about 100 ms.',
  afterwards:
    'The paused node still says that it leads, but its lease was over: code that checks the lease is safe.',
  check({ picture, made }) {
    const pauses = made.filter((event) => 'pause' in event)
    if (pauses.length === 0) return notYet('No node has been paused yet.')
    const pause = pauses.findLast((event) => leaderAt(picture, microsOf(event) - 1) === event.pause)
    if (pause === undefined) return notYet('The node that you paused did not lead at that instant.')
    const { pause: paused, forMs } = pause
    const from = microsOf(pause)
    const other = leadsOf(picture).find(
      (lead) => lead.node !== paused && lead.from > from && lead.from < from + forMs * 1000,
    )
    if (other === undefined) return notYet(`No other node led while node ${paused} was paused.`)
    if (!isHeld(picture, 'one-leader'))
      return notYet('one-leader must hold: pause only, and leave the clocks alone.')
    return done(`Node ${other.node} led while node ${paused} was paused, and one-leader held.`)
  },
}

const suspendedClock: Lesson = {
  id: 'suspended-clock',
  title: 'A lease under a stopped clock',
  summary: 'While a host is suspended its clock stands still, and a lease seems to last for ever.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 0.05,
  scenario: { ...THREE, options: { misreading: 'no-suspend-check' }, untilMs: 2000 },
  captions: [
    { atMs: 0, text: 'This variant of the protocol trusts its clock, even after the host was suspended.' },
    { atMs: 60, text: 'The solid bar is the lease in true time; the outline is what node 1 believes.' },
    {
      atMs: 300,
      text: 'Suspending a laptop or a virtual machine stops the monotonic clock of most systems.',
    },
  ],
  task: 'Make two nodes hold a lease at the same time.',
  hint: 'Suspend node 1 for 400 ms while it leads, and let it wake up while node 2 leads.',
  afterwards:
    'The real protocol compares two clocks, notices the suspension, and gives up its lease when it wakes up.',
  check: breaks('one-leader', 'At no instant do two nodes hold a lease.'),
}

const slowClock: Lesson = {
  id: 'slow-clock',
  title: 'The one assumption: clock drift',
  summary: 'Leases need no synchronized clocks, only clocks that run at almost the same rate.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 0.05,
  scenario: { ...THREE, untilMs: 2000 },
  captions: [
    { atMs: 0, text: 'Each node has its own clock, and they show quite different times: that does no harm.' },
    { atMs: 60, text: 'The protocol assumes that clocks drift by at most 100 parts per million.' },
    { atMs: 300, text: 'This is the correct protocol, so something must break its assumption to break it.' },
  ],
  task: 'Break one-leader with faults of a clock alone, and at most one cut or partition.',
  hint: 'Isolate node 1, and let its clock drift by -500,000 ppm, which is half the rate; or skew it back.',
  afterwards:
    'The lease of node 1 ends on its own clock. A clock that runs slow, or is set back, ends it too late for all others.',
  check({ picture, made }) {
    if (!isViolated(picture, 'one-leader'))
      return notYet('one-leader holds: at no instant do two nodes hold a lease.')
    const others = made.filter((event) => !('drift' in event || 'skew' in event))
    if (others.length > 1 || !others.every(isLinkChange))
      return notYet('Two nodes lead, but use only drift and skew, and one cut or partition.')
    return done('Two nodes hold a lease: a clock outside the assumed drift breaks the guarantee.')
  },
}

const earlyRelease: Lesson = {
  id: 'early-release',
  title: 'Two leaders by an early Release',
  summary: 'A renewal that fails releases the locks that still protect the lease.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 1,
  scenario: LOCAL_LEADER_RELEASE,
  captions: [
    { atMs: 0, text: 'The explorer found this run: a list of steps, in which time plays no role.' },
    { atMs: 3, text: 'Node 1 leads with the support of node 2, and then starts to renew.' },
    { atMs: 5, text: 'The renewal does not complete, so node 1 sends Release: its supporters are free.' },
    { atMs: 8, text: 'Node 2 asks for support itself, and node 1, which is free too, gives it.' },
  ],
  task: 'Step to the moment from which two nodes lead.',
  hint: 'Use the step to the next change of leadership, twice.',
  afterwards:
    'Node 1 still leads under its old request, whose lock its own Release has removed. Here only a node that does not lead releases.',
  check: finds('one-leader'),
}

const quickRestart: Lesson = {
  id: 'quick-restart',
  title: 'Voters that forget',
  summary: 'A voter that restarts at once has forgotten whom it supports.',
  source: SOURCE,
  protocol: 'local-leader',
  speed: 0.02,
  scenario: {
    ...THREE,
    options: { misreading: 'quick-restart' },
    events: [{ atMs: 500, partition: [[1], [2, 3]] }],
    untilMs: 1200,
  },
  captions: [
    { atMs: 0, text: 'The paper assumes that a crashed process stays down until its locks have expired.' },
    { atMs: 60, text: 'Node 1 leads; nodes 2 and 3 have promised to support no other node for a while.' },
    { atMs: 500, text: 'A partition separates node 1, which leads until its lease is over.' },
  ],
  task: 'Right after the partition, make two nodes lead at once: let the voters forget their promise.',
  hint: 'Crash nodes 2 and 3 soon after 500 ms, and restart both at once.',
  afterwards:
    'In Conclave a restarted node stays silent until every lock that it may have given has expired.',
  check(attempt) {
    const isRestarted = attempt.made.some((event) => 'recover' in event && event.recover !== 1)
    if (!isRestarted) return notYet('No voter has restarted yet: crash nodes 2 and 3, and restart them.')
    return breaks('one-leader', 'At no instant do two nodes hold a lease.')(attempt)
  },
}

/** Some leases long. */
const LASTING: Micros = 300_000

const partialConnectivity: Lesson = {
  id: 'partial-connectivity',
  title: 'A majority without a leader',
  summary: 'One badly connected node can keep a healthy majority from electing a leader.',
  source: 'Ng, Haridi and Carbone, Omni-Paxos, 2023; Fetzer and Cristian 1999, majority mode',
  protocol: 'local-leader',
  speed: 0.1,
  scenario: {
    protocol: 'local-leader',
    nodes: [1, 2, 3, 4, 5],
    options: { rule: 'equality' },
    links: [
      [1, 5],
      [2, 3],
      [2, 4],
      [2, 5],
      [3, 4],
      [3, 5],
      [4, 5],
    ],
    network: { delayMs: [0.5, 2] },
    untilMs: 2000,
  },
  captions: [
    { atMs: 0, text: 'Nodes 2 to 5 reach each other; node 1 reaches node 5 only.' },
    { atMs: 60, text: 'Node 2 leads for a moment, until node 5 prefers the candidate 1.' },
    {
      atMs: 200,
      text: 'Node 1 can never win, but node 5 refuses node 2: four connected nodes have no leader.',
    },
    {
      atMs: 600,
      text: 'Raft has this problem too: node 1 raises the term again and again, which deposes leaders that it cannot hear.',
    },
  ],
  task: 'Give the majority a leader that lasts: change one single link.',
  hint: 'Only node 5 hears node 1.',
  afterwards:
    'With the rule "quorum", the default of Conclave, a node that reaches too few to win cannot keep others from support.',
  check({ picture, made }) {
    if (made.length === 0) return notYet('Nothing has been changed yet.')
    const [event] = made
    if (made.length !== 1 || event === undefined || linksChanged(event) !== 1)
      return notYet('Change one single link, and nothing else: take the rest back.')
    const last = leadsOf(picture).find(({ to }) => to >= picture.endsAt)
    if (last === undefined) return notYet('No node leads at the end.')
    return picture.endsAt - last.from < LASTING
      ? notYet(`Node ${last.node} leads at the end, but not for long: make the run longer to see more.`)
      : done(`Node ${last.node} leads to the end of the run.`)
  },
}

const LONG_MS = 200

const tunedLeases: Lesson = {
  id: 'tuned-leases',
  title: 'Leases that tune themselves',
  summary: 'The leader measures how late nodes and messages are, and chooses the length of its leases.',
  source: 'docs/explanation/adaptive-timing.md',
  protocol: 'local-leader',
  speed: 1,
  scenario: {
    ...THREE,
    network: { delayMs: [0.2, 1] },
    options: { timing: 'adaptive', leaseMinMs: 60, leaseMaxMs: 2000 },
    untilMs: 9000,
  },
  captions: [
    { atMs: 0, text: 'The nodes start with leases of a usual length.' },
    { atMs: 200, text: 'Each answer tells the leader how late its sender acts.' },
    {
      atMs: 5000,
      text: 'All was in time for a while, so the leader makes its leases shorter, step by step.',
    },
  ],
  task: `Make nodes late, until the leases last ${LONG_MS} ms or more.`,
  hint: 'Load node 2, by 60 ms: the leader does not need it. Then load node 3 too.',
  afterwards:
    'A slow minority changes nothing. A slow majority costs failover time, but not the leader again and again.',
  check({ picture, made }) {
    if (!made.some((event) => 'load' in event)) return notYet('No node is under load yet.')
    const longest = Math.max(
      ...picture.lanes.flatMap(({ leases }) => leases.map(({ from, until }) => until - from)),
    )
    const text = `The longest lease lasts ${timeText(longest)}.`
    return longest < LONG_MS * 1000 ? notYet(text) : done(text)
  },
}

export const LEASE_LESSONS: readonly Lesson[] = [
  lease,
  pausedLeader,
  suspendedClock,
  slowClock,
  quickRestart,
  earlyRelease,
  partialConnectivity,
  tunedLeases,
]
