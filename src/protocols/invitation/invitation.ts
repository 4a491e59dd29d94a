/**
 * The Invitation Algorithm: groups around coordinators, in a network that may partition, lose and delay messages.
 *
 * Every node starts as the coordinator of its own group. A coordinator periodically asks all nodes whether they are
 * coordinators. It invites the coordinators that it finds, and its own members, into a new group. An invited coordinator
 * forwards the invitation to its members. An invited node sends `accept`, waits for the answer, and then for `ready`. A
 * member periodically asks its coordinator whether it is still in the group. After "no" or silence it forms its own group
 * again.
 *
 * Two policies decide which node invites. *Soft* (Garcia-Molina): a coordinator that finds a higher coordinator waits,
 * and then invites anyway. It may never settle (livelock). *Strict*: a coordinator that finds a higher coordinator leaves
 * the invitation to it; a coordinator accepts only from a higher one, and a member only through its own coordinator.
 * Then every merge decreases the set of coordinators, read as a binary number, so the algorithm ends (README.md).
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
import {
  change,
  clearPending,
  createState,
  type InvitationStable,
  type InvitationState,
  leaderOf,
  withSeen,
} from './state.ts'

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
  /** The fraction by which each check period is randomly longer or shorter. */
  readonly jitter: number
  /** The time of the first check after the start; null: random. */
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
/** Timers of operations in progress. A new group stops them all. */
const BUSY_TIMERS = [QUERY, PRIORITY, WINDOW, ACCEPT, READY, THERE]

export function invitation(
  { self, nodes }: Identity,
  timing: InvitationTiming,
): Protocol<InvitationState, InvitationMessage, InvitationCommand, InvitationStable> {
  const others = nodes.filter((id) => id !== self)
  const ranks = sortIds(nodes)
  const isStrict = timing.policy === 'strict'

  const isCoordinator = (state: InvitationState): boolean => state.group.coordinator === self

  /** Forms a new group with this node as coordinator and no other members yet. */
  function formGroup(state: InvitationState, status: InvitationState['status']): InvitationStep {
    const counter = state.counter + 1
    const group: Group = { coordinator: self, counter }
    return {
      state: change(clearPending(state), { status, group, up: [], d: self, counter }),
      effects: [
        ...BUSY_TIMERS.map(stopTimer),
        ...(timing.stableCounter ? [persist({ counter })] : NOTHING),
        output({ type: 'group', coordinator: self, counter }),
      ],
    }
  }

  /** The texts' Recovery: the node forms its own group and is Normal. */
  function recover(state: InvitationState): InvitationStep {
    return formGroup(state, 'Normal')
  }

  function startCheck(state: InvitationState, now: Micros): InvitationStep {
    const isBusy =
      state.status !== 'Normal' || !isCoordinator(state) || state.query !== null || state.found !== null
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

  /** The time for answers to a check is over. */
  function handleQueryEnd(state: InvitationState, now: Micros): InvitationStep {
    const coordinators = state.query?.yes ?? []
    const idleAgain = change(state, { query: null })
    if (state.status !== 'Normal' || !isCoordinator(state) || coordinators.length === 0)
      return unchanged(idleAgain)
    const highest = sortIds(coordinators).at(-1) as NodeId
    if (compareIds(highest, self) < 0) return merge(idleAgain, coordinators, now)
    if (isStrict) return unchanged(idleAgain)
    const wait = timing.priorityDelay * (ranks.indexOf(highest) - ranks.indexOf(self))
    return { state: change(idleAgain, { found: coordinators }), effects: [setTimer(PRIORITY, now + wait)] }
  }

  function merge(state: InvitationState, coordinators: readonly NodeId[], now: Micros): InvitationStep {
    const guests = sortIds(new Set([...coordinators, ...state.up]))
    const founded = formGroup(state, 'Election')
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

  function handleInvitation(state: InvitationState, from: NodeId, group: Group, now: Micros): InvitationStep {
    if (state.status !== 'Normal' || group.coordinator === self || !isWelcome(state, from, group)) {
      return unchanged(state)
    }
    const forwarded = isCoordinator(state)
      ? sendAll<InvitationMessage>(state.up, { kind: 'invitation', group })
      : NOTHING
    const seen = isStrict ? withSeen(state.seen, group) : state.seen
    return {
      state: change(clearPending(state), { status: 'Election', group, up: [], seen }),
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
    if (isCoordinator(state)) return compareIds(group.coordinator, self) > 0
    return from === state.group.coordinator
  }

  function handleAccept(state: InvitationState, from: NodeId, group: Group): InvitationStep {
    const isOpen = state.status === 'Election' || state.up.includes(from)
    const yes = isCoordinator(state) && sameGroup(state.group, group) && isOpen
    const answer = send<InvitationMessage>(from, { kind: 'answer', to: 'accept', group, yes })
    const up = yes ? withId(state.up, from) : state.up
    return { state: up === state.up ? state : change(state, { up }), effects: [answer] }
  }

  /** Sends `ready` to all nodes that accepted in time. */
  function handleWindowEnd(state: InvitationState, now: Micros): InvitationStep {
    if (state.up.length === 0) return unchanged(change(state, { status: 'Normal' }))
    return {
      state: change(state, { status: 'Reorganization', unready: state.up, repeats: 0 }),
      effects: [...sendReady(state, state.up), setTimer(READY, now + timing.readyTimeout)],
    }
  }

  function sendReady(state: InvitationState, to: readonly NodeId[]): readonly InvitationEffect[] {
    return sendAll<InvitationMessage>(to, { kind: 'ready', group: state.group, d: state.d })
  }

  function handleReadyTimeout(state: InvitationState, now: Micros): InvitationStep {
    if (state.repeats < timing.resends) {
      return {
        state: change(state, { repeats: state.repeats + 1 }),
        effects: [...sendReady(state, state.unready), setTimer(READY, now + timing.readyTimeout)],
      }
    }
    // Without resends (Garcia-Molina) one lost message disbands the group. With resends, silent members are left out.
    if (timing.resends === 0) return recover(state)
    const up = state.up.filter((id) => !state.unready.includes(id))
    return unchanged(change(state, { status: 'Normal', up, unready: [], repeats: 0 }))
  }

  function handleAnswer(
    state: InvitationState,
    from: NodeId,
    { to, group, yes }: InvitationMessage & { kind: 'answer' },
  ): InvitationStep {
    if (!sameGroup(state.group, group)) return unchanged(state)
    if (to === 'ready') {
      if (state.status !== 'Reorganization' || !isCoordinator(state)) return unchanged(state)
      const unready = withoutId(state.unready, from)
      if (unready === state.unready) return unchanged(state)
      if (unready.length > 0) return unchanged(change(state, { unready }))
      return { state: change(state, { status: 'Normal', unready, repeats: 0 }), effects: [stopTimer(READY)] }
    }
    if (state.status !== 'Election' || isCoordinator(state)) return unchanged(state)
    if (!yes) return recover(state)
    return { state: change(state, { status: 'Reorganization', repeats: 0 }), effects: [stopTimer(ACCEPT)] }
  }

  function handleAcceptTimeout(state: InvitationState, now: Micros): InvitationStep {
    if (state.repeats >= timing.resends) return recover(state)
    const { group } = state
    return {
      state: change(state, { repeats: state.repeats + 1 }),
      effects: [
        send(group.coordinator, { kind: 'accept', group }),
        setTimer(ACCEPT, now + timing.acceptTimeout),
      ],
    }
  }

  function handleReady(state: InvitationState, from: NodeId, group: Group, d: NodeId): InvitationStep {
    const isMine = sameGroup(state.group, group) && group.coordinator === from && !isCoordinator(state)
    if (!isMine || state.status === 'Election') return unchanged(state)
    const answer = send<InvitationMessage>(from, { kind: 'answer', to: 'ready', group, yes: true })
    const isNews = state.status !== 'Normal' || state.d !== d
    return { state: isNews ? change(state, { status: 'Normal', d }) : state, effects: [answer] }
  }

  /** The texts' Timeout: a member asks whether it is still in the group. */
  function handleTimeout(state: InvitationState, now: Micros): InvitationStep {
    const again = setTimer(TIMEOUT, now + timing.timeoutPeriod)
    if (isCoordinator(state) || state.status === 'Election' || state.misses !== null)
      return { state, effects: [again] }
    const asked = askCoordinator(change(state, { misses: 0 }), now)
    return { state: asked.state, effects: [again, ...asked.effects] }
  }

  function askCoordinator(state: InvitationState, now: Micros): InvitationStep {
    const { group } = state
    return {
      state,
      effects: [
        send(group.coordinator, { kind: 'areYouThere', group }),
        setTimer(THERE, now + timing.queryTimeout),
      ],
    }
  }

  function handleSilence(state: InvitationState, now: Micros): InvitationStep {
    const misses = (state.misses ?? 0) + 1
    return misses > timing.resends ? recover(state) : askCoordinator(change(state, { misses }), now)
  }

  function handleReplyThere(state: InvitationState, group: Group, yes: boolean): InvitationStep {
    if (!sameGroup(state.group, group) || isCoordinator(state)) return unchanged(state)
    if (!yes) return recover(state)
    if (state.misses === null) return unchanged(state)
    return { state: change(state, { misses: null }), effects: [stopTimer(THERE)] }
  }

  function handleMessage(
    state: InvitationState,
    from: NodeId,
    body: InvitationMessage,
    now: Micros,
  ): InvitationStep {
    switch (body.kind) {
      case 'areYouCoordinator': {
        const yes = state.status === 'Normal' && isCoordinator(state)
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
        const yes = isCoordinator(state) && sameGroup(state.group, group) && state.up.includes(from)
        return { state, effects: [send(from, { kind: 'replyThere', group, yes })] }
      }
      case 'replyThere':
        return handleReplyThere(state, body.group, body.yes)
      case 'invitation':
        return handleInvitation(state, from, body.group, now)
      case 'accept':
        return handleAccept(state, from, body.group)
      case 'ready':
        return handleReady(state, from, body.group, body.d)
      case 'answer':
        return handleAnswer(state, from, body)
      default:
        return unreachable(body)
    }
  }

  function handleTimer(state: InvitationState, name: string, now: Micros): InvitationStep {
    switch (name) {
      case CHECK: {
        const next = startCheck(state, now)
        return { state: next.state, effects: [setNextCheck(now), ...next.effects] }
      }
      case TIMEOUT:
        return handleTimeout(state, now)
      case QUERY:
        return handleQueryEnd(state, now)
      case PRIORITY: {
        const coordinators = state.found ?? []
        const mine = state.status === 'Normal' && isCoordinator(state)
        const rested = change(state, { found: null })
        return mine ? merge(rested, coordinators, now) : unchanged(rested)
      }
      case WINDOW:
        return handleWindowEnd(state, now)
      case ACCEPT:
        return handleAcceptTimeout(state, now)
      case READY:
        return handleReadyTimeout(state, now)
      default:
        return handleSilence(state, now)
    }
  }

  function setNextCheck(now: Micros): InvitationEffect {
    const spread = Math.round(timing.checkPeriod * timing.jitter)
    if (spread === 0) return setTimer(CHECK, now + timing.checkPeriod)
    return setTimer(CHECK, [now + timing.checkPeriod - spread, now + timing.checkPeriod + spread])
  }

  function setFirstCheck(now: Micros): InvitationEffect {
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
        return handleMessage(state, input.from, input.body, now)
      case 'timer':
        return handleTimer(state, input.name, now)
      case 'command':
        return startCheck(state, now)
      default:
        return unchanged(state)
    }
  }

  function addNews(before: InvitationState | null, step: InvitationStep): InvitationStep {
    const was = before === null ? null : leaderOf(before)
    return withLeaderNews(self, was, leaderOf(step.state), step)
  }

  return {
    start(stable, now) {
      const counter = timing.stableCounter ? (stable?.counter ?? 0) : 0
      const alone = recover(change(createState(self), { counter }))
      const timers = [setFirstCheck(now), setTimer(TIMEOUT, now + timing.timeoutPeriod)]
      return addNews(null, { state: alone.state, effects: [...alone.effects, ...timers] })
    },
    step: (state, input, now) => addNews(state, react(state, input, now)),
    view: (state) => viewOf(self, state),
    shift: (state) => state,
  }
}

function unchanged(state: InvitationState): InvitationStep {
  return { state, effects: NOTHING }
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
