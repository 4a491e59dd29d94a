/**
 * The Invitation Algorithm: groups around coordinators in a network that may split, lose and delay.
 *
 * Every process begins as the coordinator of a group of its own. A coordinator asks now and then who else is one, and
 * invites those that say yes, and its own members, into a new group; an invited coordinator passes the invitation on
 * to its members. Who is invited accepts, waits to be counted, and is then told to get ready. A member asks its
 * coordinator now and then whether it still belongs; if not, or without an answer, it is a group of its own again.
 *
 * Two policies decide who invites whom. *Soft* (Garcia-Molina): whoever sees a higher coordinator waits a while, then
 * invites all the same. It may go round for ever. *Strict*: whoever sees a higher coordinator leaves it to that one,
 * a coordinator accepts only from a higher one, and a member only through its own coordinator. Every merge then makes
 * the set of coordinators smaller, read as a binary number, so there is an end (README.md).
 *
 * Sources: Garcia-Molina 1982; S. Stoller, Leader Election in Asynchronous Distributed Systems, 1999.
 */
import {
  compareIds,
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
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
import { type Group, type InvitationCommand, type InvitationMessage, sameGroup } from './messages.ts'
import type { InvitationStable, InvitationState } from './state.ts'

export type InvitationTiming = {
  readonly policy: 'soft' | 'strict'
  readonly checkPeriod: Micros
  readonly timeoutPeriod: Micros
  readonly queryTimeout: Micros
  readonly acceptWindow: Micros
  readonly acceptTimeout: Micros
  readonly readyTimeout: Micros
  readonly priorityDelay: Micros
  readonly resends: number
  /** A part of the check period by which it is drawn longer or shorter, each time anew. */
  readonly jitter: number
  /** When the first check is, after the start; null: drawn. */
  readonly checkPhase: Micros | null
  readonly stableCounter: boolean
}

type InvitationStep = Step<InvitationState, InvitationMessage, InvitationStable>
type InvitationEffect = Effect<InvitationMessage, InvitationStable>

const CHECK = 'check'
const TIMEOUT = 'timeout'
const QUERY = 'query'
const PRIORITY = 'priority'
const WINDOW = 'accept window'
const ACCEPT = 'accept'
const READY = 'ready'
const THERE = 'there'
/** What runs only while a process is in the middle of something; all of it ends with a new group. */
const BUSY_TIMERS = [QUERY, PRIORITY, WINDOW, ACCEPT, READY, THERE]

export function invitation(
  { self, nodes }: Identity,
  timing: InvitationTiming,
): Protocol<InvitationState, InvitationMessage, InvitationCommand, InvitationStable> {
  const others = nodes.filter((id) => id !== self)
  const ranks = sortIds(nodes)
  const isStrict = timing.policy === 'strict'

  const leads = (state: InvitationState): boolean => state.group.coordinator === self

  /** A new group around this process, with nobody in it yet. */
  function found(state: InvitationState, status: InvitationState['status']): InvitationStep {
    const counter = state.counter + 1
    const group: Group = { coordinator: self, counter }
    return {
      state: change(idle(state), { status, group, up: [], d: self, counter }),
      effects: [
        ...BUSY_TIMERS.map(stopTimer),
        ...(timing.stableCounter ? [persist({ counter })] : NOTHING),
        output({ type: 'group', coordinator: self, counter }),
      ],
    }
  }

  /** Alone again, and at work. */
  function recovery(state: InvitationState): InvitationStep {
    return found(state, 'Normal')
  }

  function check(state: InvitationState, now: Micros): InvitationStep {
    const isBusy = state.status !== 'Normal' || !leads(state) || state.query !== null || state.found !== null
    if (isBusy) return unchanged(state)
    const queries = state.queries + 1
    return {
      state: change(state, { query: { yes: [] }, queries }),
      effects: [
        ...sendAll<InvitationMessage>(others, { kind: 'areYouCoordinator', query: queries }),
        setTimer(QUERY, now + timing.queryTimeout),
      ],
    }
  }

  /** The answers to a check are in. */
  function onQueryEnd(state: InvitationState, now: Micros): InvitationStep {
    const coordinators = state.query?.yes ?? []
    const idleAgain = change(state, { query: null })
    if (state.status !== 'Normal' || !leads(state) || coordinators.length === 0) return unchanged(idleAgain)
    const highest = sortIds(coordinators).at(-1) as NodeId
    if (compareIds(highest, self) < 0) return merge(idleAgain, coordinators, now)
    if (isStrict) return unchanged(idleAgain)
    const wait = timing.priorityDelay * (ranks.indexOf(highest) - ranks.indexOf(self))
    return { state: change(idleAgain, { found: coordinators }), effects: [setTimer(PRIORITY, now + wait)] }
  }

  function merge(state: InvitationState, coordinators: readonly NodeId[], now: Micros): InvitationStep {
    const guests = sortIds(new Set([...coordinators, ...state.up]))
    const founded = found(state, 'Election')
    const { group } = founded.state
    return {
      state: founded.state,
      effects: [
        ...founded.effects,
        ...sendAll<InvitationMessage>(guests, { kind: 'invitation', group }),
        setTimer(WINDOW, now + timing.acceptWindow),
      ],
    }
  }

  function onInvitation(state: InvitationState, from: NodeId, group: Group, now: Micros): InvitationStep {
    if (state.status !== 'Normal' || group.coordinator === self || !isWelcome(state, from, group)) {
      return unchanged(state)
    }
    const forwarded = leads(state)
      ? sendAll<InvitationMessage>(state.up, { kind: 'invitation', group })
      : NOTHING
    const seen = isStrict ? withSeen(state.seen, group) : state.seen
    return {
      state: change(idle(state), { status: 'Election', group, up: [], seen }),
      effects: [
        ...BUSY_TIMERS.map(stopTimer),
        ...forwarded,
        send(group.coordinator, { kind: 'accept', group }),
        setTimer(ACCEPT, now + timing.acceptTimeout),
      ],
    }
  }

  function isWelcome(state: InvitationState, from: NodeId, group: Group): boolean {
    if (!isStrict) return true
    const last = state.seen.find(([node]) => node === group.coordinator)
    if (last !== undefined && group.counter <= last[1]) return false
    if (leads(state)) return compareIds(group.coordinator, self) > 0
    return from === state.group.coordinator
  }

  function onAccept(state: InvitationState, from: NodeId, group: Group): InvitationStep {
    const isOpen = state.status === 'Election' || state.up.includes(from)
    const yes = leads(state) && sameGroup(state.group, group) && isOpen
    const answer = send<InvitationMessage>(from, { kind: 'answer', to: 'accept', group, yes })
    const up = yes ? withId(state.up, from) : state.up
    return { state: up === state.up ? state : change(state, { up }), effects: [answer] }
  }

  /** Whoever came in time is told to get ready. */
  function onWindowEnd(state: InvitationState, now: Micros): InvitationStep {
    if (state.up.length === 0) return unchanged(change(state, { status: 'Normal' }))
    return {
      state: change(state, { status: 'Reorganization', unready: state.up, repeats: 0 }),
      effects: [...ready(state, state.up), setTimer(READY, now + timing.readyTimeout)],
    }
  }

  function ready(state: InvitationState, to: readonly NodeId[]): readonly InvitationEffect[] {
    return sendAll<InvitationMessage>(to, { kind: 'ready', group: state.group, d: state.d })
  }

  function onReadyTimeout(state: InvitationState, now: Micros): InvitationStep {
    if (state.repeats < timing.resends) {
      return {
        state: change(state, { repeats: state.repeats + 1 }),
        effects: [...ready(state, state.unready), setTimer(READY, now + timing.readyTimeout)],
      }
    }
    // Without repeats, as Garcia-Molina has it, one lost message disbands the group; with them, who is gone is left out.
    if (timing.resends === 0) return recovery(state)
    const up = state.up.filter((id) => !state.unready.includes(id))
    return unchanged(change(state, { status: 'Normal', up, unready: [], repeats: 0 }))
  }

  function onAnswer(
    state: InvitationState,
    from: NodeId,
    { to, group, yes }: InvitationMessage & { kind: 'answer' },
  ): InvitationStep {
    if (!sameGroup(state.group, group)) return unchanged(state)
    if (to === 'ready') {
      if (state.status !== 'Reorganization' || !leads(state)) return unchanged(state)
      const unready = withoutId(state.unready, from)
      if (unready === state.unready) return unchanged(state)
      if (unready.length > 0) return unchanged(change(state, { unready }))
      return { state: change(state, { status: 'Normal', unready, repeats: 0 }), effects: [stopTimer(READY)] }
    }
    if (state.status !== 'Election' || leads(state)) return unchanged(state)
    if (!yes) return recovery(state)
    return { state: change(state, { status: 'Reorganization', repeats: 0 }), effects: [stopTimer(ACCEPT)] }
  }

  function onAcceptTimeout(state: InvitationState, now: Micros): InvitationStep {
    if (state.repeats >= timing.resends) return recovery(state)
    const { group } = state
    return {
      state: change(state, { repeats: state.repeats + 1 }),
      effects: [
        send(group.coordinator, { kind: 'accept', group }),
        setTimer(ACCEPT, now + timing.acceptTimeout),
      ],
    }
  }

  function onReady(state: InvitationState, from: NodeId, group: Group, d: NodeId): InvitationStep {
    const isMine = sameGroup(state.group, group) && group.coordinator === from && !leads(state)
    if (!isMine || state.status === 'Election') return unchanged(state)
    const answer = send<InvitationMessage>(from, { kind: 'answer', to: 'ready', group, yes: true })
    const isNews = state.status !== 'Normal' || state.d !== d
    return { state: isNews ? change(state, { status: 'Normal', d }) : state, effects: [answer] }
  }

  /** Timeout: a member asks whether it still belongs. */
  function onTimeout(state: InvitationState, now: Micros): InvitationStep {
    const again = setTimer(TIMEOUT, now + timing.timeoutPeriod)
    if (leads(state) || state.status === 'Election' || state.misses !== null)
      return { state, effects: [again] }
    const asked = ask(change(state, { misses: 0 }), now)
    return { state: asked.state, effects: [again, ...asked.effects] }
  }

  function ask(state: InvitationState, now: Micros): InvitationStep {
    const { group } = state
    return {
      state,
      effects: [
        send(group.coordinator, { kind: 'areYouThere', group }),
        setTimer(THERE, now + timing.queryTimeout),
      ],
    }
  }

  function onSilence(state: InvitationState, now: Micros): InvitationStep {
    const misses = (state.misses ?? 0) + 1
    return misses > timing.resends ? recovery(state) : ask(change(state, { misses }), now)
  }

  function onReplyThere(state: InvitationState, group: Group, yes: boolean): InvitationStep {
    if (!sameGroup(state.group, group) || leads(state)) return unchanged(state)
    if (!yes) return recovery(state)
    if (state.misses === null) return unchanged(state)
    return { state: change(state, { misses: null }), effects: [stopTimer(THERE)] }
  }

  function onMessage(
    state: InvitationState,
    from: NodeId,
    body: InvitationMessage,
    now: Micros,
  ): InvitationStep {
    switch (body.kind) {
      case 'areYouCoordinator': {
        const yes = state.status === 'Normal' && leads(state)
        return { state, effects: [send(from, { kind: 'reply', query: body.query, yes })] }
      }
      case 'reply': {
        const { query } = state
        if (query === null || body.query !== state.queries || !body.yes) return unchanged(state)
        const yes = withId(query.yes, from)
        return unchanged(yes === query.yes ? state : change(state, { query: { yes } }))
      }
      case 'areYouThere': {
        const { group } = body
        const yes = leads(state) && sameGroup(state.group, group) && state.up.includes(from)
        return { state, effects: [send(from, { kind: 'replyThere', group, yes })] }
      }
      case 'replyThere':
        return onReplyThere(state, body.group, body.yes)
      case 'invitation':
        return onInvitation(state, from, body.group, now)
      case 'accept':
        return onAccept(state, from, body.group)
      case 'ready':
        return onReady(state, from, body.group, body.d)
      case 'answer':
        return onAnswer(state, from, body)
      default:
        return unreachable(body)
    }
  }

  function onTimer(state: InvitationState, name: string, now: Micros): InvitationStep {
    switch (name) {
      case CHECK: {
        const next = check(state, now)
        return { state: next.state, effects: [nextCheck(now), ...next.effects] }
      }
      case TIMEOUT:
        return onTimeout(state, now)
      case QUERY:
        return onQueryEnd(state, now)
      case PRIORITY: {
        const coordinators = state.found ?? []
        const mine = state.status === 'Normal' && leads(state)
        const rested = change(state, { found: null })
        return mine ? merge(rested, coordinators, now) : unchanged(rested)
      }
      case WINDOW:
        return onWindowEnd(state, now)
      case ACCEPT:
        return onAcceptTimeout(state, now)
      case READY:
        return onReadyTimeout(state, now)
      default:
        return onSilence(state, now)
    }
  }

  function nextCheck(now: Micros): InvitationEffect {
    const spread = Math.round(timing.checkPeriod * timing.jitter)
    if (spread === 0) return setTimer(CHECK, now + timing.checkPeriod)
    return setTimer(CHECK, [now + timing.checkPeriod - spread, now + timing.checkPeriod + spread])
  }

  function firstCheck(now: Micros): InvitationEffect {
    if (timing.checkPhase !== null) return setTimer(CHECK, now + timing.checkPhase)
    return setTimer(CHECK, timing.jitter > 0 ? [now, now + timing.checkPeriod] : now + timing.checkPeriod)
  }

  function react(
    state: InvitationState,
    input: Input<InvitationMessage, InvitationCommand>,
    now: Micros,
  ): InvitationStep {
    switch (input.type) {
      case 'message':
        return onMessage(state, input.from, input.body, now)
      case 'timer':
        return onTimer(state, input.name, now)
      case 'command':
        return check(state, now)
      default:
        return unchanged(state)
    }
  }

  function withNews(before: InvitationState | null, step: InvitationStep): InvitationStep {
    const was = before === null ? null : leaderOf(before)
    return withLeaderNews(self, was, leaderOf(step.state), step)
  }

  return {
    start(stable, now) {
      const counter = timing.stableCounter ? (stable?.counter ?? 0) : 0
      const alone = recovery(change(fresh(self), { counter }))
      const timers = [firstCheck(now), setTimer(TIMEOUT, now + timing.timeoutPeriod)]
      return withNews(null, { state: alone.state, effects: [...alone.effects, ...timers] })
    },
    step: (state, input, now) => withNews(state, react(state, input, now)),
    view: (state) => viewOf(self, state),
    shift: (state) => state,
  }
}

function fresh(self: NodeId): InvitationState {
  return {
    status: 'Normal',
    group: { coordinator: self, counter: 0 },
    up: [],
    d: self,
    counter: 0,
    seen: [],
    query: null,
    queries: 0,
    found: null,
    repeats: 0,
    unready: [],
    misses: null,
  }
}

/** A state with some fields changed. Spelled out, because a spread takes longer than the rest of a step. */
function change(state: InvitationState, changes: Partial<InvitationState>): InvitationState {
  const {
    status = state.status,
    group = state.group,
    up = state.up,
    d = state.d,
    counter = state.counter,
    seen = state.seen,
    query = state.query,
    queries = state.queries,
    found = state.found,
    repeats = state.repeats,
    unready = state.unready,
    misses = state.misses,
  } = changes
  return { status, group, up, d, counter, seen, query, queries, found, repeats, unready, misses }
}

/** Whatever was under way has ended. */
function idle(state: InvitationState): InvitationState {
  return change(state, { query: null, found: null, repeats: 0, unready: [], misses: null })
}

function unchanged(state: InvitationState): InvitationStep {
  return { state, effects: NOTHING }
}

function withSeen(seen: InvitationState['seen'], { coordinator, counter }: Group): InvitationState['seen'] {
  const rest = seen.filter(([node]) => node !== coordinator)
  return [...rest, [coordinator, counter] as const].sort(([a], [b]) => compareIds(a, b))
}

function leaderOf(state: InvitationState): NodeId | null {
  return state.status === 'Normal' ? state.group.coordinator : null
}

function viewOf(self: NodeId, state: InvitationState): View {
  const leader = leaderOf(state)
  const isLeader = leader === self
  const { status, group, d } = state
  return {
    role: isLeader ? 'leader' : leader === null ? 'candidate' : 'follower',
    leader,
    token: null,
    until: null,
    members: isLeader ? sortIds([self, ...state.up]) : null,
    detail: { status, group: [group.coordinator, group.counter], d },
  }
}
