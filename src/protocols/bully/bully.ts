/**
 * The bully algorithm with the lecture's three messages.
 *
 * A node that detects the failure of the coordinator asks all higher nodes (`election`). A node that is asked
 * replies (`answer`), and asks the nodes above itself. A node without an answer within T is the highest node
 * left: it announces itself to all lower nodes (`coordinator`). A node with an answer waits T' for that
 * announcement, and then asks again.
 *
 * There are two forms. The *literal* form follows the text: it disagrees for ever when the announcements of a
 * deposed and of a restarted coordinator cross. The *repaired* form (`repaired: true`) adds the rules marked
 * R1 to R5; README.md says why each is needed. Both assume reliable FIFO links, and timeouts that are longer
 * than any exchange of messages.
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
const ANNOUNCED: BullyStable = { hasAnnounced: true }

export function bully(
  { self, nodes }: Identity,
  { answerTimeout, coordinatorTimeout, repaired }: BullyTiming,
): Protocol<BullyState, BullyMessage, BullyCommand, BullyStable> {
  const higher = sortIds(nodes.filter((id) => compareIds(id, self) > 0))
  const lower = sortIds(nodes.filter((id) => compareIds(id, self) < 0))

  function suspect(state: BullyState, peer: NodeId, now: Micros): BullyStep {
    const dead = withId(state.dead, peer)
    if (state.elected === peer) return startElection({ ...state, dead, elected: null }, now)
    return dead === state.dead ? unchanged(state) : { state: { ...state, dead }, effects: NOTHING }
  }

  function startElection(state: BullyState, now: Micros): BullyStep {
    if (state.mode !== 'idle') return unchanged(state)
    if (higher.every((id) => state.dead.includes(id))) return announce(state)
    return {
      state: { ...state, mode: 'waitAnswer', elected: null },
      effects: [...sendAll(higher, ELECTION), setTimer(ANSWER_TIMER, now + answerTimeout)],
    }
  }

  function announce(state: BullyState): BullyStep {
    const remembered = markAnnounced(state)
    const leading: BullyState =
      state.elected === self ? remembered.state : { ...remembered.state, mode: 'idle', elected: self }
    return { state: leading, effects: [...remembered.effects, ...sendAll(lower, coordinator(self))] }
  }

  function handleElection(state: BullyState, from: NodeId, now: Micros): BullyStep {
    if (repaired && state.elected === self) {
      // R1: a coordinator that is asked replies to the sender only, instead of announcing itself to all again.
      return { state, effects: [send(from, ANSWER), send(from, coordinator(self))] }
    }
    return prependEffects([send(from, ANSWER)], startElection(state, now))
  }

  function handleAnswer(state: BullyState, now: Micros): BullyStep {
    if (state.mode !== 'waitAnswer') return unchanged(state)
    return {
      state: { ...state, mode: 'waitCoordinator' },
      effects: [stopTimer(ANSWER_TIMER), setTimer(COORDINATOR_TIMER, now + coordinatorTimeout)],
    }
  }

  function handleCoordinator(state: BullyState, from: NodeId, id: NodeId): BullyStep {
    if (repaired && compareIds(id, self) < 0) return correct(state, id)
    // R3: second-hand news about a node that is known to have failed is outdated.
    if (repaired && id !== from && state.dead.includes(id)) return unchanged(state)
    return follow(state, id)
  }

  /** R2: corrects a lower node that believes it leads: at once, or (R4) as soon as this node knows the leader. */
  function correct(state: BullyState, mistaken: NodeId): BullyStep {
    if (state.elected === null) return markAnnounced(state)
    return { state, effects: [send(mistaken, coordinator(state.elected))] }
  }

  function follow(state: BullyState, leader: NodeId): BullyStep {
    if (state.elected === leader) return unchanged(state)
    const effects: BullyEffect[] = []
    if (state.mode === 'waitAnswer') effects.push(stopTimer(ANSWER_TIMER))
    if (state.mode === 'waitCoordinator') effects.push(stopTimer(COORDINATOR_TIMER))
    // R4: a node that has announced a leader announces every change. On a FIFO link its last message is then
    // right, regardless of the order in which messages of different nodes arrive.
    if (repaired && state.hasAnnounced) effects.push(...sendAll(lower, coordinator(leader)))
    return { state: { ...state, mode: 'idle', elected: leader }, effects }
  }

  /** R5: a peer claims to lead, too. This node corrects a lower peer, and starts an election towards a higher one. */
  function handleRival(state: BullyState, peer: NodeId, now: Micros): BullyStep {
    if (!repaired) return unchanged(state)
    const next = clearSuspicion(state, peer)
    const { elected } = next
    if (elected === null || elected === peer) return { state: next, effects: NOTHING }
    if (compareIds(peer, elected) < 0) return { state: next, effects: [send(peer, coordinator(elected))] }
    return startElection(next, now)
  }

  /** Repaired form: a node that sends a message has not failed. */
  function clearSuspicion(state: BullyState, peer: NodeId): BullyState {
    const dead = withoutId(state.dead, peer)
    return dead === state.dead ? state : { ...state, dead }
  }

  /** Persists, before the first announcement, that this node has announced a leader: R4 must survive a crash. */
  function markAnnounced(state: BullyState): BullyStep {
    if (!repaired || state.hasAnnounced) return unchanged(state)
    return { state: { ...state, hasAnnounced: true }, effects: [persist(ANNOUNCED)] }
  }

  function handleMessage(state: BullyState, from: NodeId, body: BullyMessage, now: Micros): BullyStep {
    const heard = repaired ? clearSuspicion(state, from) : state
    switch (body.kind) {
      case 'election':
        return handleElection(heard, from, now)
      case 'answer':
        return handleAnswer(heard, now)
      case 'coordinator':
        return handleCoordinator(heard, from, body.id)
      default:
        return unreachable(body)
    }
  }

  function handleTimer(state: BullyState, name: string, now: Micros): BullyStep {
    if (name === ANSWER_TIMER) return announce(state)
    // T' expired: the nodes that answered have failed since. The literal form clears its suspicions. The
    // repaired form keeps them: only a message of the suspected node clears them.
    const dead = repaired ? state.dead : FRESH.dead
    return startElection({ ...state, mode: 'idle', dead }, now)
  }

  function react(state: BullyState, input: Input<BullyMessage, BullyCommand>, now: Micros): BullyStep {
    switch (input.type) {
      case 'message':
        return handleMessage(state, input.from, input.body, now)
      case 'timer':
        return handleTimer(state, input.name, now)
      case 'command':
        return suspect(state, input.command.of, now)
      case 'link':
        return input.up ? handleRival(state, input.peer, now) : suspect(state, input.peer, now)
      case 'register':
      case 'suspended':
        return unchanged(state)
      default:
        return unreachable(input)
    }
  }

  /** Adds the events for the application to a step. */
  function addNews(was: NodeId | null, step: BullyStep): BullyStep {
    return withLeaderNews(self, was, step.state.elected, step)
  }

  return {
    start(stable, now) {
      // A restarted node does not know the leader. The highest node becomes leader without asking.
      const state = { ...FRESH, hasAnnounced: repaired && stable !== null }
      return addNews(null, startElection(state, now))
    },
    step: (state, input, now) => addNews(state.elected, react(state, input, now)),
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
      return addNews(null, leader === self ? markAnnounced(state) : unchanged(state))
    },
  }
}

function unchanged(state: BullyState): BullyStep {
  return { state, effects: NOTHING }
}

function prependEffects(effects: readonly BullyEffect[], step: BullyStep): BullyStep {
  return { state: step.state, effects: [...effects, ...step.effects] }
}
