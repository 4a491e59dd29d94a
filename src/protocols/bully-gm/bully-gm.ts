/**
 * Garcia-Molina's bully election, for reliable synchronous networks: timeouts T of two delays and more are proof of
 * a crash.
 *
 * Whoever finds no higher process up (phase 1) halts all lower ones (phase 2), makes itself coordinator of those that
 * answered (phase 3) and gives them the task (phase 4). A process that does not answer on the way starts it again.
 * The coordinator checks now and then that everybody is Normal; the others check that the coordinator is up. Unlike
 * the lecture's form, a lower process that asks does not make higher ones hold elections of their own.
 *
 * Source: H. Garcia-Molina, Elections in a Distributed Computing System, IEEE ToC C-31(1), 1982; its calls are made
 * in parallel here.
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
  /** By whom this process was halted last, h. */
  readonly halted: NodeId | null
  /** The last halt is so fresh that one of a lower process must have crossed with it. */
  readonly bound: boolean
  /** Those that answered the halt, Up. */
  readonly up: readonly NodeId[]
  /** The task, d: here the name of the coordinator that gave it. */
  readonly d: NodeId | null
  /** The phase of an election of one's own; 0 when there is none. */
  readonly phase: 0 | 1 | 2 | 3 | 4
  /** Who has answered in this phase. */
  readonly answered: readonly NodeId[]
}

export type GmTiming = {
  readonly timeout: Micros
  readonly period: Micros
}

/** Tests replace this rule with that of a defect (defects.ts). */
export type GmRules = {
  /** Whether a node obeys a halt of `from` while the halt of `by` binds it. */
  obeysOver(from: NodeId, by: NodeId): boolean
}

/** Only a node that is not lower may replace a binding halt. */
export const RULES: GmRules = { obeysOver: (from, by) => compareIds(from, by) >= 0 }

type GmStep = Step<GmState, GmMessage>
type GmEffect = Effect<GmMessage>

const PHASE = 'phase'
const PERIOD = 'period'
const SILENCE = 'silence'
const BOUND = 'bound'

export function bullyGm(
  { self, nodes }: Identity,
  { timeout, period }: GmTiming,
  rules: GmRules,
): Protocol<GmState, GmMessage, GmCommand> {
  const higher = sortIds(nodes.filter((id) => compareIds(id, self) > 0))
  const lower = sortIds(nodes.filter((id) => compareIds(id, self) < 0))
  const others = nodes.filter((id) => id !== self)

  const wait = (now: Micros): GmEffect => setTimer(PHASE, now + timeout)

  function election(state: GmState, now: Micros): GmStep {
    if (higher.length === 0) return halt(state, now)
    return {
      state: { ...state, phase: 1, answered: [] },
      effects: [...sendAll<GmMessage>(higher, { kind: 'areYouUp' }), wait(now)],
    }
  }

  function halt(state: GmState, now: Micros): GmStep {
    const halting: GmState = { ...state, status: 'Election', halted: self, up: [], phase: 2, answered: [] }
    if (lower.length === 0) return appoint(halting, now)
    return { state: halting, effects: [...sendAll<GmMessage>(lower, { kind: 'halt' }), wait(now)] }
  }

  function appoint(state: GmState, now: Micros): GmStep {
    const appointed: GmState = {
      ...state,
      status: 'Reorganization',
      coordinator: self,
      phase: 3,
      answered: [],
    }
    if (state.up.length === 0) return handOut(appointed, now)
    return {
      state: appointed,
      effects: [...sendAll<GmMessage>(state.up, { kind: 'newCoordinator' }), wait(now)],
    }
  }

  function handOut(state: GmState, now: Micros): GmStep {
    const working: GmState = { ...state, d: self, phase: 4, answered: [] }
    if (state.up.length === 0) return { state: done(working), effects: NOTHING }
    return {
      state: working,
      effects: [...sendAll<GmMessage>(state.up, { kind: 'ready', d: self }), wait(now)],
    }
  }

  function done(state: GmState): GmState {
    return { ...state, status: 'Normal', phase: 0, answered: [] }
  }

  /** The answers to a phase are in, or its time is up. */
  function phaseEnds(state: GmState, now: Micros): GmStep {
    const missing = state.up.some((id) => !state.answered.includes(id))
    switch (state.phase) {
      case 1:
        return halt(state, now)
      case 2:
        return appoint({ ...state, up: state.answered }, now)
      case 3:
        return missing ? election(state, now) : handOut(state, now)
      case 4:
        return missing ? election(state, now) : { state: done(state), effects: NOTHING }
      default:
        return { state, effects: NOTHING }
    }
  }

  function onAnswer(state: GmState, from: NodeId, to: Question, yes: boolean, now: Micros): GmStep {
    if (to === 'areYouNormal') return yes ? { state, effects: NOTHING } : election(state, now)
    if (to === 'areYouUp') {
      if (state.phase === 1) {
        return { state: { ...state, phase: 0, answered: [] }, effects: [stopTimer(PHASE)] }
      }
      const heard = from === state.coordinator ? [stopTimer(SILENCE)] : NOTHING
      return { state, effects: heard }
    }
    const asked: Question | null = [null, null, 'halt', 'newCoordinator', 'ready'][
      state.phase
    ] as Question | null
    if (to !== asked) return { state, effects: NOTHING }
    const next = { ...state, answered: withId(state.answered, from) }
    const all = state.phase === 2 ? lower : state.up
    if (!all.every((id) => next.answered.includes(id))) return { state: next, effects: NOTHING }
    const ended = phaseEnds(next, now)
    return { state: ended.state, effects: [stopTimer(PHASE), ...ended.effects] }
  }

  /**
   * Halts go out side by side here, not one after another. A halt of a deposed process may then arrive after that of
   * the higher one that has halted it as well, and must not undo it: the explorer finds two coordinators otherwise.
   * It cannot come later than T, so a halt binds no longer than that.
   */
  function obeys({ bound, halted: by }: GmState, from: NodeId): boolean {
    return !bound || by === null || rules.obeysOver(from, by)
  }

  /** Stops an election of one's own. */
  function halted(state: GmState, by: NodeId, now: Micros): GmStep {
    const answer = send<GmMessage>(by, { kind: 'answer', to: 'halt', yes: true })
    return {
      state: { ...state, status: 'Election', halted: by, bound: true, phase: 0, answered: [], up: [] },
      effects: [stopTimer(PHASE), stopTimer(SILENCE), setTimer(BOUND, now + timeout), answer],
    }
  }

  function onMessage(state: GmState, from: NodeId, body: GmMessage, now: Micros): GmStep {
    const answer = (to: Question, yes: boolean): GmEffect => send(from, { kind: 'answer', to, yes })
    switch (body.kind) {
      case 'areYouUp':
        return { state, effects: [answer('areYouUp', true)] }
      case 'areYouNormal':
        return { state, effects: [answer('areYouNormal', state.status === 'Normal')] }
      case 'halt':
        return obeys(state, from) ? halted(state, from, now) : { state, effects: NOTHING }
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
        return onAnswer(state, from, body.to, body.yes, now)
      default:
        return unreachable(body)
    }
  }

  /** Check, by the coordinator, and Timeout, by the others. */
  function onPeriod(state: GmState, now: Micros): GmStep {
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
    const next = election(state, now)
    return { state: next.state, effects: [again, ...next.effects] }
  }

  function react(state: GmState, input: Input<GmMessage, GmCommand>, now: Micros): GmStep {
    switch (input.type) {
      case 'message':
        return onMessage(state, input.from, input.body, now)
      case 'timer':
        if (input.name === PERIOD) return onPeriod(state, now)
        if (input.name === PHASE) return phaseEnds(state, now)
        if (input.name === BOUND) return { state: { ...state, bound: false }, effects: NOTHING }
        return state.phase === 0 ? election(state, now) : { state, effects: NOTHING }
      case 'command':
        return state.phase === 0 ? election(state, now) : { state, effects: NOTHING }
      default:
        return { state, effects: NOTHING }
    }
  }

  const down: GmState = {
    status: 'Down',
    coordinator: null,
    halted: null,
    bound: false,
    up: [],
    d: null,
    phase: 0,
    answered: [],
  }

  return {
    start(_stable, now) {
      const next = election(down, now)
      return withNews(self, down, {
        state: next.state,
        effects: [setTimer(PERIOD, now + period), ...next.effects],
      })
    },
    step: (state, input, now) => withNews(self, state, react(state, input, now)),
    view: (state) => gmView(self, state),
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

function withNews(self: NodeId, before: GmState, step: GmStep): GmStep {
  const state = unlessSame(before, step.state)
  return withLeaderNews(self, leaderOf(before), leaderOf(state), { state, effects: step.effects })
}

function gmView(self: NodeId, state: GmState): View {
  const leader = leaderOf(state)
  const role = leader === self ? 'leader' : leader === null ? 'candidate' : 'follower'
  const { status, coordinator, d } = state
  return { role, leader, token: null, until: null, members: null, detail: { status, coordinator, d } }
}
