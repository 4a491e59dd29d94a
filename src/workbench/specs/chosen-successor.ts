import { equalPlain, type Micros, msOf, type NodeId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import { type Calm, calmAfterRound, isCalm } from './memory/calm.ts'
import { couldLead, type Elector, electorate } from './memory/electorate.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** The first renewal after a change may have begun before it. */
const CALM_ROUNDS = 2

type HandOver = { readonly from: NodeId; readonly to: NodeId; readonly at: Micros }

type Succession = {
  /** How long after the hand-over the chosen node may not lead yet; null if the protocol has no such bound. */
  readonly within: Micros | null
  readonly electors: readonly Elector[]
  readonly reach: Reach | null
  /** The last renewals since the last change: a fault, a command or a new term. */
  readonly calm: Calm | null
  /** The last command to hand over. The leader may refuse it. */
  readonly asked: HandOver | null
  /** The hand-over whose successor does not lead yet. */
  readonly open: HandOver | null
  /** Whether the last observation completed a hand-over. */
  readonly isDone: boolean
  readonly wrong: string | null
}

/**
 * The constant is `handsOverWithin`. A hand-over counts once the leader has stepped down for it: a leader may refuse, and
 * goes on. It is judged only in a calm group: all nodes that run are linked, with every message timely; the chosen node and
 * a majority of the voters run and can store their votes; and since the last change all running voters have supported the
 * leader in two renewals. A change during the hand-over ends the judgement: then any node may lead.
 */
export const chosenSuccessor: Spec<Succession> = {
  name: 'chosen-successor',
  title:
    'after a leader has handed over to a chosen node, that node leads next, within a bound, if nothing changes',
  source: 'what an operator expects of `step-down --to`; no paper states it',
  when: 'always',
  fold: {
    begin: (run) => ({
      within: run.constants['handsOverWithin'] ?? null,
      electors: electorate.begin(run),
      reach: null,
      calm: null,
      asked: null,
      open: null,
      isDone: false,
      wrong: null,
    }),
    next(memory, seen) {
      if (memory.within === null || memory.wrong !== null) return memory
      return afterwards(withElectors(checkedAt(memory, seen.at), seen), seen)
    },
  },
  judge({ isDone, wrong }) {
    if (wrong !== null) return { violated: wrong }
    return isDone ? 'held' : 'not concerned'
  },
}

/** Whether the chosen node is late, before the observation counts. */
function checkedAt(memory: Succession, at: Micros): Succession {
  const { within, open } = memory
  if (open !== null && within !== null && at > open.at + within)
    return {
      ...memory,
      wrong: `${open.to} does not lead ${msOf(at - open.at)} ms after ${open.from} handed over to it`,
    }
  return memory.isDone ? { ...memory, isDone: false } : memory
}

function afterwards(memory: Succession, seen: Observation): Succession {
  switch (seen.type) {
    case 'connectivity':
      // Worlds report connectivity after every event, commands included.
      return equalPlain(seen.reach, memory.reach) ? memory : { ...changed(memory), reach: seen.reach }
    case 'up':
    case 'down':
      return changed(memory)
    case 'view':
      return leadsNow(seen) ? { ...memory, calm: calmAfterRound(memory.calm, memory.reach, seen) } : memory
    case 'commanded': {
      const { node, at, command } = seen
      const to = command.do === 'stepDown' ? (command['to'] as NodeId | undefined) : undefined
      const asked = to === undefined ? null : { from: node, to, at }
      // The group was calm until now. If the leader refuses, that is how it stays.
      return asked === null || memory.open !== null ? changed(memory) : { ...memory, asked }
    }
    case 'output':
      return afterOutput(memory, seen)
    default:
      return memory
  }
}

function changed(memory: Succession): Succession {
  return { ...memory, open: null, asked: null, calm: null }
}

function afterOutput(memory: Succession, { node, at, event }: Observation & { type: 'output' }): Succession {
  const { asked, open } = memory
  if (event.type === 'demoted') {
    const isAsked = asked !== null && asked.from === node && asked.at === at
    const isJudged = isAsked && event['cause'] === 'stepped down' && isReady(memory, asked)
    return { ...memory, asked: null, open: isJudged ? asked : null, calm: null }
  }
  if (event.type !== 'elected') return memory
  if (open === null) return { ...memory, calm: null }
  if (open.to === node) return { ...memory, open: null, isDone: true }
  return { ...memory, wrong: `${node} leads after ${open.from} handed over to ${open.to}` }
}

function isReady({ reach, calm, electors }: Succession, { from, to }: HandOver): boolean {
  if (reach === null || !isCalm(calm, reach, from, CALM_ROUNDS)) return false
  const votes = reach.running.filter((node) => !reach.unwritable.includes(node))
  return votes.includes(to) && couldLead(electors, to, votes)
}

function withElectors(memory: Succession, seen: Observation): Succession {
  const electors = electorate.next(memory.electors, seen)
  return electors === memory.electors ? memory : { ...memory, electors }
}
