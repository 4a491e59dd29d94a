/**
 * Garcia-Molina's bully election, for reliable synchronous networks: silence for a timeout T of at least two delays
 * proves a crash.
 *
 * A node that finds no higher node up (phase 1) halts all lower nodes (phase 2), becomes coordinator of the nodes that
 * answered (phase 3), and gives them the task (phase 4). If a node does not answer in phase 3 or 4, the election starts
 * again. The coordinator checks periodically that all nodes are Normal; the others check that the coordinator is up.
 * Unlike in the lecture's form, a question of a lower node does not make higher nodes start elections.
 *
 * Source: H. Garcia-Molina, Elections in a Distributed Computing System, IEEE ToC C-31(1), 1982. Here calls are made in
 * parallel.
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
  type Step,
  send,
  sendAll,
  setTimer,
  sortIds,
  stopTimer,
  unlessSame,
  unreachable,
  type View,
  withId,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'

type Question = 'areYouUp' | 'areYouNormal' | 'halt' | 'newCoordinator' | 'ready'

export type GmMessage =
  | { readonly kind: 'areYouUp' | 'areYouNormal' | 'halt' | 'newCoordinator' }
  | { readonly kind: 'ready'; readonly d: NodeId }
  | { readonly kind: 'answer'; readonly to: Question; readonly yes: boolean }

export type GmCommand = { readonly do: 'election' }

export type GmState = {
  readonly status: 'Down' | 'Election' | 'Reorganization' | 'Normal'
  /** The coordinator, c. */
  readonly coordinator: NodeId | null
  /** The node that halted this node last, h. */
  readonly halted: NodeId | null
  /** The last halt is less than T old, so a halt of a lower node must have crossed with it. */
  readonly isBound: boolean
  /** The nodes that answered the halt, Up. */
  readonly up: readonly NodeId[]
  /** The task, d: here the id of the coordinator that gave it. */
  readonly d: NodeId | null
  /** The phase of the node's own election; 0 when there is none. */
  readonly phase: 0 | 1 | 2 | 3 | 4
  /** The nodes that have answered in this phase. */
  readonly answered: readonly NodeId[]
}

export type GmTiming = {
  readonly timeout: Micros
  readonly period: Micros
}

/** Tests replace this rule with that of a defect (defects.ts). */
export type GmRules = {
  /** Whether a node obeys a halt of `from` while the halt of `by` binds it. */
  canOverride(from: NodeId, by: NodeId): boolean
}

/** Only a node that is not lower may replace a binding halt. */
export const RULES: GmRules = { canOverride: (from, by) => compareIds(from, by) >= 0 }

type GmStep = Step<GmState, GmMessage>
type GmEffect = Effect<GmMessage>

const PHASE = 'phase'
const PERIOD = 'period'
const SILENCE = 'silence'
const BOUND = 'bound'

/** What the checks of every period send and do, made once. */
const IS_UP: GmMessage = { kind: 'answer', to: 'areYouUp', yes: true }
const END_SILENCE: readonly GmEffect[] = [stopTimer(SILENCE)]

export function bullyGm(
  { self, nodes }: Identity,
  { timeout, period }: GmTiming,
  rules: GmRules,
): Protocol<GmState, GmMessage, GmCommand> {
  const higher = sortIds(nodes.filter((id) => compareIds(id, self) > 0))
  const lower = sortIds(nodes.filter((id) => compareIds(id, self) < 0))
  const others = nodes.filter((id) => id !== self)

  const setPhaseTimer = (now: Micros): GmEffect => setTimer(PHASE, now + timeout)

  function startElection(state: GmState, now: Micros): GmStep {
    if (higher.length === 0) return haltLower(state, now)
    return {
      state: { ...state, phase: 1, answered: [] },
      effects: [...sendAll<GmMessage>(higher, { kind: 'areYouUp' }), setPhaseTimer(now)],
    }
  }

  function haltLower(state: GmState, now: Micros): GmStep {
    const halting: GmState = { ...state, status: 'Election', halted: self, up: [], phase: 2, answered: [] }
    if (lower.length === 0) return appointSelf(halting, now)
    return { state: halting, effects: [...sendAll<GmMessage>(lower, { kind: 'halt' }), setPhaseTimer(now)] }
  }

  function appointSelf(state: GmState, now: Micros): GmStep {
    const appointed: GmState = {
      ...state,
      status: 'Reorganization',
      coordinator: self,
      phase: 3,
      answered: [],
    }
    if (state.up.length === 0) return distributeTask(appointed, now)
    return {
      state: appointed,
      effects: [...sendAll<GmMessage>(state.up, { kind: 'newCoordinator' }), setPhaseTimer(now)],
    }
  }

  function distributeTask(state: GmState, now: Micros): GmStep {
    const working: GmState = { ...state, d: self, phase: 4, answered: [] }
    if (state.up.length === 0) return { state: becomeNormal(working), effects: NOTHING }
    return {
      state: working,
      effects: [...sendAll<GmMessage>(state.up, { kind: 'ready', d: self }), setPhaseTimer(now)],
    }
  }

  function becomeNormal(state: GmState): GmState {
    return { ...state, status: 'Normal', phase: 0, answered: [] }
  }

  /** All nodes have answered in this phase, or its timeout has expired. */
  function handlePhaseEnd(state: GmState, now: Micros): GmStep {
    const missing = state.up.some((id) => !state.answered.includes(id))
    switch (state.phase) {
      case 1:
        return haltLower(state, now)
      case 2:
        return appointSelf({ ...state, up: state.answered }, now)
      case 3:
        return missing ? startElection(state, now) : distributeTask(state, now)
      case 4:
        return missing ? startElection(state, now) : { state: becomeNormal(state), effects: NOTHING }
      default:
        return { state, effects: NOTHING }
    }
  }

  function handleAnswer(state: GmState, from: NodeId, to: Question, yes: boolean, now: Micros): GmStep {
    if (to === 'areYouNormal') return yes ? { state, effects: NOTHING } : startElection(state, now)
    if (to === 'areYouUp') {
      if (state.phase === 1) {
        return { state: { ...state, phase: 0, answered: [] }, effects: [stopTimer(PHASE)] }
      }
      return { state, effects: from === state.coordinator ? END_SILENCE : NOTHING }
    }
    const asked: Question | null = [null, null, 'halt', 'newCoordinator', 'ready'][
      state.phase
    ] as Question | null
    if (to !== asked) return { state, effects: NOTHING }
    const next = { ...state, answered: withId(state.answered, from) }
    const all = state.phase === 2 ? lower : state.up
    if (!all.every((id) => next.answered.includes(id))) return { state: next, effects: NOTHING }
    const ended = handlePhaseEnd(next, now)
    return { state: ended.state, effects: [stopTimer(PHASE), ...ended.effects] }
  }

  /**
   * Halts are sent in parallel. So the halt of a node that was itself halted by a higher node may arrive after the halt of
   * that higher node, and must not replace it: otherwise the explorer finds two coordinators. It arrives within T, so a
   * halt binds no longer than that.
   */
  function canObey({ isBound, halted: by }: GmState, from: NodeId): boolean {
    return !isBound || by === null || rules.canOverride(from, by)
  }

  /** Obeys a halt: stops the node's own election. */
  function handleHalt(state: GmState, by: NodeId, now: Micros): GmStep {
    const answer = send<GmMessage>(by, { kind: 'answer', to: 'halt', yes: true })
    return {
      state: { ...state, status: 'Election', halted: by, isBound: true, phase: 0, answered: [], up: [] },
      effects: [stopTimer(PHASE), stopTimer(SILENCE), setTimer(BOUND, now + timeout), answer],
    }
  }

  function handleMessage(state: GmState, from: NodeId, body: GmMessage, now: Micros): GmStep {
    const answer = (to: Question, yes: boolean): GmEffect => send(from, { kind: 'answer', to, yes })
    switch (body.kind) {
      case 'areYouUp':
        return { state, effects: [send(from, IS_UP)] }
      case 'areYouNormal':
        return { state, effects: [answer('areYouNormal', state.status === 'Normal')] }
      case 'halt':
        return canObey(state, from) ? handleHalt(state, from, now) : { state, effects: NOTHING }
      case 'newCoordinator':
        if (state.halted !== from || state.status !== 'Election') return { state, effects: NOTHING }
        return {
          state: { ...state, coordinator: from, status: 'Reorganization' },
          effects: [answer('newCoordinator', true)],
        }
      case 'ready':
        if (state.coordinator !== from || state.status !== 'Reorganization')
          return { state, effects: NOTHING }
        return { state: { ...state, d: body.d, status: 'Normal' }, effects: [answer('ready', true)] }
      case 'answer':
        return handleAnswer(state, from, body.to, body.yes, now)
      default:
        return unreachable(body)
    }
  }

  /** The paper's procedures Check (in the coordinator) and Timeout (in the other nodes). */
  function handlePeriod(state: GmState, now: Micros): GmStep {
    const again = setTimer(PERIOD, now + period)
    if (state.phase !== 0) return { state, effects: [again] }
    const { status, coordinator } = state
    if (status === 'Normal' && coordinator === self) {
      return { state, effects: [again, ...sendAll<GmMessage>(others, { kind: 'areYouNormal' })] }
    }
    if (
      (status === 'Normal' || status === 'Reorganization') &&
      coordinator !== null &&
      coordinator !== self
    ) {
      return {
        state,
        effects: [
          again,
          send<GmMessage>(coordinator, { kind: 'areYouUp' }),
          setTimer(SILENCE, now + timeout),
        ],
      }
    }
    const next = startElection(state, now)
    return { state: next.state, effects: [again, ...next.effects] }
  }

  function react(state: GmState, input: Input<GmMessage, GmCommand>, now: Micros): GmStep {
    switch (input.type) {
      case 'message':
        return handleMessage(state, input.from, input.body, now)
      case 'timer':
        if (input.name === PERIOD) return handlePeriod(state, now)
        if (input.name === PHASE) return handlePhaseEnd(state, now)
        if (input.name === BOUND) return { state: { ...state, isBound: false }, effects: NOTHING }
        return state.phase === 0 ? startElection(state, now) : { state, effects: NOTHING }
      case 'command':
        return state.phase === 0 ? startElection(state, now) : { state, effects: NOTHING }
      default:
        return { state, effects: NOTHING }
    }
  }

  const down: GmState = {
    status: 'Down',
    coordinator: null,
    halted: null,
    isBound: false,
    up: [],
    d: null,
    phase: 0,
    answered: [],
  }

  return {
    start(_stable, now) {
      const next = startElection(down, now)
      return addNews(self, down, {
        state: next.state,
        effects: [setTimer(PERIOD, now + period), ...next.effects],
      })
    },
    step: (state, input, now) => addNews(self, state, react(state, input, now)),
    view: (state) => viewOf(self, state),
    shift: (state) => state,
    settled({ leader, members }, now) {
      const up = leader === self ? sortIds(members.filter((id) => id !== self)) : []
      const state: GmState = { ...down, status: 'Normal', coordinator: leader, d: leader, up }
      return { state, effects: [setTimer(PERIOD, now + period)] }
    },
  }
}

function leaderOf(state: GmState): NodeId | null {
  return state.status === 'Normal' ? state.coordinator : null
}

function addNews(self: NodeId, before: GmState, step: GmStep): GmStep {
  if (step.state === before) return step
  const state = unlessSame(before, step.state)
  return withLeaderNews(self, leaderOf(before), leaderOf(state), { state, effects: step.effects })
}

function viewOf(self: NodeId, state: GmState): View {
  const leader = leaderOf(state)
  const role = leader === self ? 'leader' : leader === null ? 'candidate' : 'follower'
  const { status, coordinator, d } = state
  return { role, leader, token: null, until: null, members: null, detail: { status, coordinator, d } }
}
