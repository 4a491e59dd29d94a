/**
 * Protocols Phi, Psi and Omega as the paper prints them, in one function: each extends the previous one.
 *
 * A node without a link to a smaller node is a candidate for every change that it sees. It asks all linked nodes whether
 * they see the change, too (`cand`). A node that sees it accepts, unless it is linked with a node smaller than the
 * candidate. A candidate with all accepts leads. Psi adds recoveries; Omega adds `cancel`, which takes back messages that
 * turned out to be wrong.
 *
 * The rules are conditions that are evaluated whenever the state changes (Figure 2: "forever in time"). Only this reading
 * reproduces Table 1. What the paper leaves open or gets wrong is an option here; README.md of `omega` lists the
 * consequences. Do not run these protocols in production: they exist to be read, and to show where they fail.
 *
 * Source: M. Franceschetti, J. Bruck, A Leader Election Protocol for Fault Recovery in Asynchronous Fully-Connected
 * Networks, sections 3.2 to 3.4.
 */
import {
  compareIds,
  type Effect,
  type Identity,
  type Input,
  NOTHING,
  type NodeId,
  type Outcome,
  type Protocol,
  type Step,
  send,
  sendAll,
  sortIds,
  unlessSame,
  type View,
  withId,
  withoutId,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'
import { type Change, NO_NOTES, type Note, type PrintedMessage, type PrintedState } from './state.ts'

export type PrintedForm = {
  readonly protocol: 'phi' | 'psi' | 'omega'
  /** K: `all` smaller nodes, as printed; `living`: only smaller nodes that are not isolated. */
  readonly smaller: 'all' | 'living'
  /** Def. 3.2: no accept is needed once this link is down: to the changed node (`printed`), or to the `recipient`. */
  readonly convergence: 'printed' | 'recipient'
  /** Number candidacies, repeat the number in accepts, and forget what was exchanged over a link that goes down. */
  readonly rounds: boolean
  /** `naive`: the leader sends the new component to all, and they adopt it. */
  readonly views: 'none' | 'naive'
}

type PrintedStep = Step<PrintedState, PrintedMessage>
type Exchange = { readonly kind: 'cand' | 'accept' | 'cancel' } & Omit<Note, 'peer'>

const SILENCE = { sentCand: NO_NOTES, gotCand: NO_NOTES, sentAccept: NO_NOTES, gotAccept: NO_NOTES }

export function createPrinted(
  { self, nodes }: Identity,
  form: PrintedForm,
): Protocol<PrintedState, PrintedMessage> {
  const smallerThan = (id: NodeId) => (other: NodeId) => compareIds(other, id) < 0
  const isOmega = form.protocol === 'omega'

  /** Evaluates all rules: sends what they require, then decides whether this node leads. */
  function applyRules(state: PrintedState): PrintedStep {
    if (!state.dead && state.up.length === 0)
      return unchanged({ ...state, ...SILENCE, dead: true, leader: null })
    const effects: Effect<PrintedMessage, never>[] = []
    let next = isOmega ? cancel(state, effects) : state
    next = propose(next, effects)
    next = accept(next, effects)
    return { state: converge(next, effects), effects }
  }

  function unchanged(state: PrintedState): PrintedStep {
    return { state, effects: NOTHING }
  }

  /** Cancels messages about lost members that are linked again, and about joiners that are no longer linked. */
  function cancel(state: PrintedState, effects: Effect<PrintedMessage, never>[]): PrintedState {
    const isWrong = ({ is, of }: Note): boolean =>
      is === 'down'
        ? state.up.includes(of) && state.conn.includes(of)
        : of !== self && !state.up.includes(of) && !state.conn.includes(of)
    const gone = [...state.sentCand, ...state.sentAccept].filter(
      (note) => isWrong(note) && state.up.includes(note.peer),
    )
    if (gone.length === 0) return state
    const withdrawn: Note[] = []
    for (const note of gone) {
      if (withdrawn.some((other) => isAbout(other, note))) continue
      withdrawn.push(note)
      effects.push(send(note.peer, { kind: 'cancel', is: note.is, of: note.of, round: note.round }))
    }
    const isKept = (note: Note): boolean => !withdrawn.some((other) => isAbout(other, note))
    const cancelled: PrintedState = {
      ...state,
      sentCand: state.sentCand.filter(isKept),
      sentAccept: state.sentAccept.filter(isKept),
    }
    if (!form.rounds) return cancelled
    // A round ends for both sides: accepts that were received in it no longer count.
    return {
      ...cancelled,
      rounds: state.rounds + 1,
      gotCand: state.gotCand.filter(isKept),
      gotAccept: state.gotAccept.filter(
        ({ is, of }) => !withdrawn.some((note) => note.is === is && note.of === of),
      ),
    }
  }

  /** A node without a link to a smaller node asks all linked nodes about every change that it sees. */
  function propose(state: PrintedState, effects: Effect<PrintedMessage, never>[]): PrintedState {
    if (state.dead || hasSmaller(state)) return state
    const lost = state.conn.filter((id) => id !== self && !state.up.includes(id))
    const found = form.protocol === 'phi' ? [] : state.up.filter((id) => !state.conn.includes(id))
    const asked = [
      ...lost.map((of) => ({ is: 'down', of }) as const),
      ...found.map((of) => ({ is: 'up', of }) as const),
    ].flatMap(({ is, of }) => state.up.map((peer): Note => ({ is, of, peer, round: state.rounds })))
    const fresh = asked.filter((note) => !state.sentCand.some((other) => isAbout(other, note)))
    if (fresh.length === 0) return state
    for (const { is, of, peer, round } of fresh) effects.push(send(peer, { kind: 'cand', is, of, round }))
    return { ...state, sentCand: withNotes(state.sentCand, fresh) }
  }

  function hasSmaller(state: PrintedState): boolean {
    const smaller = state.up.filter(smallerThan(self))
    return smaller.some((id) => form.smaller === 'all' || !state.isolated.includes(id))
  }

  function accept(state: PrintedState, effects: Effect<PrintedMessage, never>[]): PrintedState {
    const fresh = state.gotCand.filter((note) => {
      const { is, of, peer } = note
      const isUp = of === self || state.up.includes(of)
      if (isUp !== (is === 'up') || !state.up.includes(peer)) return false
      const smaller = state.up.filter(smallerThan(peer))
      if (smaller.some((id) => form.protocol === 'phi' || !state.isolated.includes(id))) return false
      return !state.sentAccept.some((other) => isAbout(other, note) && other.round === note.round)
    })
    if (fresh.length === 0) return state
    for (const { is, of, peer, round } of fresh) effects.push(send(peer, { kind: 'accept', is, of, round }))
    return { ...state, sentAccept: withNotes(state.sentAccept, fresh) }
  }

  function converge(state: PrintedState, effects: Effect<PrintedMessage, never>[]): PrintedState {
    const leads = !state.dead && hasConverged(state)
    if (form.views === 'none') return { ...state, leader: leads ? self : null }
    if (!leads) return state
    const conn = sortIds([self, ...state.up])
    effects.push(...sendAll(state.up, { kind: 'view', members: conn } as const))
    return enterComponent({ ...state, leader: self }, conn)
  }

  /** Definitions 3.1 and 3.2. */
  function hasConverged(state: PrintedState): boolean {
    if (state.sentCand.length === 0 || (isOmega && hasSmaller(state))) return false
    return state.sentCand.every((note) => {
      const excused = isOmega && form.convergence === 'printed' ? note.of : note.peer
      return (
        !state.up.includes(excused) ||
        state.gotAccept.some((other) => isAbout(other, note) && other.round === note.round)
      )
    })
  }

  function enterComponent(state: PrintedState, conn: readonly NodeId[]): PrintedState {
    const isolated = sortIds(nodes.filter((id) => !conn.includes(id)))
    return { ...state, ...SILENCE, dead: false, conn, isolated }
  }

  function handleLink(state: PrintedState, peer: NodeId, isUp: boolean): PrintedState {
    const up = isUp ? withId(state.up, peer) : withoutId(state.up, peer)
    if (up === state.up) return state
    if (isUp || !form.rounds) return { ...state, up }
    const others = (notes: readonly Note[]): readonly Note[] => notes.filter((note) => note.peer !== peer)
    const { sentCand, gotCand, sentAccept, gotAccept } = state
    return {
      ...state,
      up,
      sentCand: others(sentCand),
      gotCand: others(gotCand),
      sentAccept: others(sentAccept),
      gotAccept: others(gotAccept),
    }
  }

  function handleExchange(
    state: PrintedState,
    peer: NodeId,
    { kind, is, of, round }: Exchange,
  ): PrintedState {
    const note: Note = { is, of, peer, round }
    const isKept = (other: Note): boolean => !isAbout(other, note)
    switch (kind) {
      case 'cand':
        return { ...state, gotCand: withNotes(state.gotCand.filter(isKept), [note]) }
      case 'accept':
        return { ...state, gotAccept: withNotes(state.gotAccept.filter(isKept), [note]) }
      case 'cancel':
        return {
          ...state,
          gotCand: state.gotCand.filter(isKept),
          gotAccept: state.gotAccept.filter(isKept),
          sentAccept: form.rounds ? state.sentAccept.filter(isKept) : state.sentAccept,
        }
      default:
        return kind satisfies never
    }
  }

  function handleMessage(state: PrintedState, from: NodeId, body: PrintedMessage): PrintedState {
    if (body.kind !== 'view') return handleExchange(state, from, body)
    if (!body.members.includes(self)) return state
    return { ...enterComponent(state, body.members), leader: from }
  }

  function react(state: PrintedState, input: Input<PrintedMessage>): PrintedStep {
    if (input.type === 'link') return applyRules(handleLink(state, input.peer, input.up))
    if (input.type === 'message') return applyRules(handleMessage(state, input.from, input.body))
    return unchanged(state)
  }

  const createState = (
    conn: readonly NodeId[],
    isolated: readonly NodeId[],
    up: readonly NodeId[],
  ): PrintedState => ({
    dead: false,
    up,
    conn,
    isolated,
    ...SILENCE,
    rounds: 0,
    leader: null,
  })

  return {
    /** A node that boots is outside the component, alone and dead. It takes all other nodes for members of the component. */
    start: () => ({
      state: { ...createState(sortIds(nodes.filter((id) => id !== self)), [self], []), dead: true },
      effects: NOTHING,
    }),
    step(state, input) {
      const reacted = react(state, input)
      const next = unlessSame(state, reacted.state)
      return withLeaderNews(self, state.leader, next.leader, { state: next, effects: reacted.effects })
    },
    view: (state): View => ({
      role: roleOf(state),
      leader: state.leader,
      token: null,
      until: null,
      members: state.dead ? null : state.conn,
      detail: {
        linked: state.up,
        notes: notesOf(state),
        suspects: state.dead ? [] : state.conn.filter((id) => id !== self && !state.up.includes(id)),
      },
    }),
    shift: (state) => state,
    settled({ members, leader }: Outcome) {
      const conn = sortIds(members)
      const isolated = sortIds(nodes.filter((id) => !conn.includes(id)))
      const state = createState(conn, isolated, withoutId(conn, self))
      const led: PrintedState = form.views === 'naive' ? { ...state, leader } : state
      if (conn.length > 1) return withLeaderNews(self, null, led.leader, unchanged(led))
      return unchanged({ ...state, dead: true })
    },
  }

  function roleOf({ dead, leader, sentCand }: PrintedState): View['role'] {
    if (dead) return 'dead'
    if (leader === self) return 'leader'
    return sentCand.length > 0 ? 'candidate' : 'follower'
  }
}

function notesOf({ sentCand, gotCand, sentAccept, gotAccept }: PrintedState): number {
  return sentCand.length + gotCand.length + sentAccept.length + gotAccept.length
}

function isAbout(a: Note, b: Note): boolean {
  return a.is === b.is && a.of === b.of && a.peer === b.peer
}

/** Sorted, so that equal sets of notes are equal values. */
function withNotes(notes: readonly Note[], added: readonly Note[]): readonly Note[] {
  const rank: { readonly [is in Change]: number } = { down: 0, up: 1 }
  return [...notes, ...added].sort(
    (a, b) =>
      rank[a.is] - rank[b.is] || compareIds(a.of, b.of) || compareIds(a.peer, b.peer) || a.round - b.round,
  )
}
