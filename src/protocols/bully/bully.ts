/**
 * The bully algorithm with the lecture's three messages.
 *
 * Whoever detects that the coordinator has failed asks all higher processes (`election`). Whoever is asked
 * says that it is there (`answer`) and asks those above itself. Who gets no answer within T is the highest
 * left and tells everyone below (`coordinator`); who got one waits T' for the news, then asks again.
 *
 * Two forms live here. The *literal* one follows the text, and disagrees for ever when the announcements of a
 * deposed and of a restarted coordinator cross. The *repaired* one (`repaired: true`) adds the rules marked
 * R1 to R5; README.md says why each is needed. Both assume reliable FIFO links and timeouts that are longer
 * than any exchange.
 *
 * Source: B. Franke, Distributed Systems, lecture 11, University of Edinburgh, 2006.
 */
import {
  compareIds,
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  type Protocol,
  persist,
  type Step,
  send,
  sendAll,
  setTimer,
  sortIds,
  stopTimer,
  unreachable,
  type View,
  withId,
  withoutId,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'
import { ANSWER, type BullyCommand, type BullyMessage, coordinator, ELECTION } from './messages.ts'
import { type BullyStable, type BullyState, FRESH } from './state.ts'

export type BullyTiming = {
  readonly answerTimeout: Micros
  readonly coordinatorTimeout: Micros
  readonly repaired: boolean
}

type BullyStep = Step<BullyState, BullyMessage, BullyStable>
type BullyEffect = Effect<BullyMessage, BullyStable>

const ANSWER_TIMER = 'answer'
const COORDINATOR_TIMER = 'coordinator'
const TOLD: BullyStable = { told: true }

export function bully(
  { self, nodes }: Identity,
  { answerTimeout, coordinatorTimeout, repaired }: BullyTiming,
): Protocol<BullyState, BullyMessage, BullyCommand, BullyStable> {
  const higher = sortIds(nodes.filter((id) => compareIds(id, self) > 0))
  const lower = sortIds(nodes.filter((id) => compareIds(id, self) < 0))

  function suspect(state: BullyState, peer: NodeId, now: Micros): BullyStep {
    const dead = withId(state.dead, peer)
    if (state.elected === peer) return election({ ...state, dead, elected: null }, now)
    return dead === state.dead ? unchanged(state) : { state: { ...state, dead }, effects: NOTHING }
  }

  function election(state: BullyState, now: Micros): BullyStep {
    if (state.mode !== 'idle') return unchanged(state)
    if (higher.every((id) => state.dead.includes(id))) return announce(state)
    return {
      state: { ...state, mode: 'waitAnswer', elected: null },
      effects: [...sendAll(higher, ELECTION), setTimer(ANSWER_TIMER, now + answerTimeout)],
    }
  }

  function announce(state: BullyState): BullyStep {
    const remembered = remember(state)
    const leading: BullyState =
      state.elected === self ? remembered.state : { ...remembered.state, mode: 'idle', elected: self }
    return { state: leading, effects: [...remembered.effects, ...sendAll(lower, coordinator(self))] }
  }

  function onElection(state: BullyState, from: NodeId, now: Micros): BullyStep {
    if (repaired && state.elected === self) {
      // R1: a sitting coordinator says so to the one who asks, instead of announcing itself to everyone again.
      return { state, effects: [send(from, ANSWER), send(from, coordinator(self))] }
    }
    return before([send(from, ANSWER)], election(state, now))
  }

  function onAnswer(state: BullyState, now: Micros): BullyStep {
    if (state.mode !== 'waitAnswer') return unchanged(state)
    return {
      state: { ...state, mode: 'waitCoordinator' },
      effects: [stopTimer(ANSWER_TIMER), setTimer(COORDINATOR_TIMER, now + coordinatorTimeout)],
    }
  }

  function onCoordinator(state: BullyState, from: NodeId, id: NodeId): BullyStep {
    if (repaired && compareIds(id, self) < 0) return correct(state, id)
    // R3: second-hand news of a process that is known to have failed is old news.
    if (repaired && id !== from && state.dead.includes(id)) return unchanged(state)
    return follow(state, id)
  }

  /** R2: a lower process that believes it leads is told who does: at once, or (R4) as soon as that is known. */
  function correct(state: BullyState, mistaken: NodeId): BullyStep {
    if (state.elected === null) return remember(state)
    return { state, effects: [send(mistaken, coordinator(state.elected))] }
  }

  function follow(state: BullyState, leader: NodeId): BullyStep {
    if (state.elected === leader) return unchanged(state)
    const effects: BullyEffect[] = []
    if (state.mode === 'waitAnswer') effects.push(stopTimer(ANSWER_TIMER))
    if (state.mode === 'waitCoordinator') effects.push(stopTimer(COORDINATOR_TIMER))
    // R4: whoever has told others that somebody leads tells them of every change. On a FIFO link the last word
    // is then the right one, whatever the order in which the words of different processes arrive.
    if (repaired && state.told) effects.push(...sendAll(lower, coordinator(leader)))
    return { state: { ...state, mode: 'idle', elected: leader }, effects }
  }

  /** R5: somebody else claims to lead, too. A lower one is told who does; a higher one is asked, and will answer. */
  function rival(state: BullyState, peer: NodeId, now: Micros): BullyStep {
    if (!repaired) return unchanged(state)
    const next = alive(state, peer)
    const { elected } = next
    if (elected === null || elected === peer) return { state: next, effects: NOTHING }
    if (compareIds(peer, elected) < 0) return { state: next, effects: [send(peer, coordinator(elected))] }
    return election(next, now)
  }

  /** Repaired form: whoever sends a message has not failed. */
  function alive(state: BullyState, peer: NodeId): BullyState {
    const dead = withoutId(state.dead, peer)
    return dead === state.dead ? state : { ...state, dead }
  }

  /** Persists, before anybody is told who leads, that somebody was told: R4 must survive a crash. */
  function remember(state: BullyState): BullyStep {
    if (!repaired || state.told) return unchanged(state)
    return { state: { ...state, told: true }, effects: [persist(TOLD)] }
  }

  function onMessage(state: BullyState, from: NodeId, body: BullyMessage, now: Micros): BullyStep {
    const heard = repaired ? alive(state, from) : state
    switch (body.kind) {
      case 'election':
        return onElection(heard, from, now)
      case 'answer':
        return onAnswer(heard, now)
      case 'coordinator':
        return onCoordinator(heard, from, body.id)
      default:
        return unreachable(body)
    }
  }

  function onTimer(state: BullyState, name: string, now: Micros): BullyStep {
    if (name === ANSWER_TIMER) return announce(state)
    // T' ran out: whoever answered has failed since. The literal form forgets whom it believed dead; the
    // repaired form keeps its suspicions, which only a sign of life takes back.
    const dead = repaired ? state.dead : FRESH.dead
    return election({ ...state, mode: 'idle', dead }, now)
  }

  function react(state: BullyState, input: Input<BullyMessage, BullyCommand>, now: Micros): BullyStep {
    switch (input.type) {
      case 'message':
        return onMessage(state, input.from, input.body, now)
      case 'timer':
        return onTimer(state, input.name, now)
      case 'command':
        return suspect(state, input.command.of, now)
      case 'link':
        return input.up ? rival(state, input.peer, now) : suspect(state, input.peer, now)
      case 'register':
      case 'suspended':
        return unchanged(state)
      default:
        return unreachable(input)
    }
  }

  /** Adds to a step the news that concern the application. */
  function withNews(was: NodeId | null, step: BullyStep): BullyStep {
    return withLeaderNews(self, was, step.state.elected, step)
  }

  return {
    start(stable, now) {
      // A restarted process does not know who leads; the highest of all takes the lead without asking.
      const state = { ...FRESH, told: repaired && stable !== null }
      return withNews(null, election(state, now))
    },
    step: (state, input, now) => withNews(state.elected, react(state, input, now)),
    view: (state): View => ({
      role: state.elected === self ? 'leader' : state.elected === null ? 'candidate' : 'follower',
      leader: state.elected,
      token: null,
      until: null,
      members: null,
      detail: null,
    }),
    shift: (state) => state,
    settled({ leader }) {
      const state: BullyState = { ...FRESH, elected: leader }
      return withNews(null, leader === self ? remember(state) : unchanged(state))
    },
  }
}

function unchanged(state: BullyState): BullyStep {
  return { state, effects: NOTHING }
}

function before(effects: readonly BullyEffect[], step: BullyStep): BullyStep {
  return { state: step.state, effects: [...effects, ...step.effects] }
}
