/** Lessons about elections in shared registers: Dharmadeep and Gopinath 2006. */
import { breaks, finds } from './checks.ts'
import type { Lesson } from './lesson.ts'
import { EPOCHS_TIE } from './schedules.ts'

const SOURCE =
  'Dharmadeep and Gopinath, Proactive Leader Election in Asynchronous Shared Memory Systems, 2006'

const ballotTie: Lesson = {
  id: 'ballot-tie',
  title: 'The tie of ballots',
  summary: 'Two nodes vote with the same ballot, and each may take its own vote for the best.',
  source: SOURCE,
  protocol: 'epochs',
  speed: 1,
  scenario: EPOCHS_TIE,
  captions: [
    { atMs: 0, text: 'Two nodes share two registers, and exchange no messages.' },
    { atMs: 5, text: 'Both write ballot 1, because neither has seen the other.' },
    { atMs: 9, text: 'Both vote for themselves with ballot 1.' },
    { atMs: 12, text: 'Node 2 has the higher id, and leads epoch 1.' },
    { atMs: 13, text: 'Node 1 tries again with ballot 2, and finds two votes with ballot 1.' },
  ],
  task: 'Step to the moment at which epoch 1 gets its second leader.',
  hint: 'Use the step to the next violation, or to the next change of leadership.',
  afterwards:
    'As printed, any of the equal votes may be taken. It must be the largest pair of ballot and id.',
  check: finds('one-leader-an-epoch'),
}

const noStart: Lesson = {
  id: 'no-start',
  title: 'A leader that starts too early',
  summary: 'A new leader must wait until every lease before its own is over.',
  source: SOURCE,
  protocol: 'epochs',
  speed: 0.02,
  scenario: {
    protocol: 'epochs',
    nodes: [1, 2],
    options: { start: 'simple', misreading: 'no-start' },
    seed: 45,
    registers: { delayMs: 2.539 },
    untilMs: 1200,
  },
  captions: [
    { atMs: 0, text: 'The nodes elect by writing to a store; here a winner acts at once.' },
    { atMs: 36, text: 'Node 1 has written that it takes part in epoch 1, and now reads the other register.' },
    { atMs: 48, text: 'Node 1 leads, for as long as its lease lasts on its own clock.' },
    { atMs: 260, text: 'Node 2 sees that node 1 advances its counter, and follows.' },
  ],
  task: 'Make two nodes lead at the same time.',
  hint: 'Pause node 1 in the middle of its election, at about 40 ms, for 160 ms.',
  afterwards:
    'Node 1 wins late, node 2 wins the next epoch, and both leases run. With a start time, node 2 would wait.',
  check: breaks('one-leader', 'At no instant do two nodes lead.'),
}

export const REGISTER_LESSONS: readonly Lesson[] = [ballotTie, noStart]
