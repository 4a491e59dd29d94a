/**
 * Fail-aware datagrams: a layer.
 *
 * The network may lose, delay, duplicate and reorder datagrams. This layer does not prevent it, but the receiver of a
 * message learns an upper bound of its delay (bound.ts), and so whether it was *fast*: at most Δ. To this end every
 * datagram returns the timestamps of a datagram in the other direction. A message without timestamps counts as slow and
 * is answered with an Echo, which carries only timestamps, so that two connected nodes soon have a round trip.
 *
 * There is one session per pair of nodes, for all groups. It knows the peer's incarnation (datagrams and timestamps of
 * an earlier one are void), drops duplicates, and keeps the timestamps. Only datagrams for the current incarnation are
 * passed up. All others, new or replayed, are answered with an Echo, from which an honest sender learns the current
 * incarnation. Nodes with different configurations ignore each other's messages, and report which setting differs
 * (strangers.ts).
 *
 * With several groups (../bundle) the layer does not judge messages: each group decides from the round trip which
 * messages are fast and which nodes have the same configuration.
 *
 * Timestamps count from the start of the process that made them, so no node sees another's clock. A node whose clock
 * stood still says in every datagram since when it has been running again: README.md explains why this is needed and safe.
 *
 * What a process sends to itself comes back as a message too, never at once, and may be slow if it was held up.
 *
 * Source: Fetzer & Cristian, A Fail-Aware Datagram Service, 1998, as used in A Highly Available Local Leader Election
 * Service, 1999. The Echo, incarnations, and the rule about sleeping clocks are additions.
 */
import {
  type Effect,
  hashPlain,
  type Identity,
  type Input,
  type Layer,
  type LayerStep,
  type Message,
  type Micros,
  NOTHING,
  type NodeId,
  type Output,
  output,
  type Plain,
  type PlainObject,
  persist,
  replaced,
  send,
  setTimer,
} from '../../core/index.ts'
import { atMost, delayBound, type RoundTrip } from './bound.ts'
import {
  better,
  hasSeen,
  isOutlived,
  type Session,
  type Stamps,
  withNumber,
  withoutLarger,
} from './session.ts'
import { heardSettings, isSettings, metStranger, type Settings, type Stranger } from './strangers.ts'

/** The constants by which a message counts as fast or slow. */
export type Yardstick = {
  /** δmin: the least delay of a message. */
  readonly leastDelay: Micros
  /** Δ: a message that provably took at most this time is fast. */
  readonly fast: Micros
  /** ρ: the largest drift of a clock. */
  readonly rho: number
}

/** The constants of all sessions. With several groups: the strictest of their values. */
export type SessionTerms = Yardstick & {
  /** The age at which timestamps are replaced, even by worse ones. */
  readonly stampAge: Micros
}

export type FailAwareSettings = SessionTerms & {
  /** The configuration that all processes must share. Null: the protocol above compares it. */
  readonly agreed: PlainObject | null
  /** False only to show what happens then. */
  readonly echo: boolean
}

/** What is known of the delivery of a message. */
export type Receipt = {
  readonly fast: boolean
  readonly bound: Micros | null
  /** A later datagram arrived before this one, so what this one says of its sender is out of date. */
  readonly overtaken: boolean
}

/** What a group needs to compute the receipt of a message (`receiptOf`) with its own constants. */
export type Passage = { readonly trip: RoundTrip | null; readonly overtaken: boolean }

export function receiptOf({ trip, overtaken }: Passage, isOwn: boolean, by: Yardstick): Receipt {
  const bound = trip === null ? null : delayBound(trip, by.rho, isOwn ? 0 : by.leastDelay)
  return { fast: bound !== null && bound <= by.fast, bound, overtaken }
}

export type Datagram = {
  readonly kind: 'datagram'
  /** The digest of `agreed`; 0 where the protocol above compares configurations. */
  readonly config: number
  /** Incarnations of the sender, and of the receiver as far as it is known (0: not yet). */
  readonly by: number
  readonly for: number
  readonly number: number
  readonly sent: Micros
  /** The sender's clock stood still until then: its earlier timestamps are void. Null: never. */
  readonly awake: Micros | null
  /** The timestamps of a datagram in the other direction: when the receiver sent it, and when the sender received it. */
  readonly echo: Stamps | null
  /** Null in an Echo. */
  readonly body: Message | null
}

/** The bound of incarnations, numbers and timestamps. An incarnation is below it, so that the next one is valid, too. */
export const MOST_IN_SESSION = 2 ** 52

/** What is wrong with the session of a datagram; null when nothing is. */
export function datagramFault({ by, for: meant, number, sent, echo }: Omit<Datagram, 'body'>): string | null {
  if (by < 1 || by >= MOST_IN_SESSION) return 'the incarnation of a sender must be from 1 to below 2^52'
  const most = Math.max(meant, number, sent, echo?.sent ?? 0, echo?.received ?? 0)
  return most <= MOST_IN_SESSION ? null : 'a number of a session must be at most 2^52'
}

export const FAIL_AWARE_KINDS = ['Echo', 'Settings'] as const

/** The kind that a datagram counts as: the kind of the message in it. */
export function failAwareKind(message: Message): string {
  if (message.kind !== 'datagram') return message.kind
  return (message as unknown as Datagram).body?.kind ?? 'Echo'
}

/** `startedAt` is on the node's clock. All other instants count from it. */
export type FailAwareState = {
  readonly incarnation: number
  readonly startedAt: Micros
  /** How many datagrams it has sent. */
  readonly count: number
  /** Timestamps from before this are void, because the clock stood still in between. Sent to all peers. */
  readonly awakeSince: Micros | null
  /** The known peers. `sessions` and `echoed` have the same order. */
  readonly peers: readonly NodeId[]
  /** Null for a peer that was never heard. */
  readonly sessions: readonly (Session | null)[]
  /** When an Echo was last sent to each. */
  readonly echoed: readonly (Micros | null)[]
  /** Sent to itself and not yet delivered. */
  readonly own: readonly { readonly body: Message; readonly sent: Micros }[]
  readonly strangers: readonly Stranger[]
  readonly terms: SessionTerms
}

/** Whether a session ignores a datagram: it was seen, or an earlier incarnation sent it that was not misled about this node. */
export function isStale(
  { incarnation, peers, sessions }: FailAwareState,
  from: NodeId,
  { by, for: meant, number, echo }: Datagram,
): boolean {
  const known = sessions[peers.indexOf(from)] ?? null
  if (known === null || by > known.incarnation) return false
  if (meant === incarnation && isOutlived(known, echo))
    return by === known.incarnation && known.recent.includes(number)
  if (by < known.incarnation) return meant <= incarnation
  return meant === incarnation && hasSeen(known.recent, number)
}

const NAME = 'fail-aware'
const SELF_TIMER = `${NAME}/self`
/** The protocol above outputs this, with new SessionTerms, when its needs have changed. */
export const NEW_TERMS = 'session terms'

type FailAwareStep = LayerStep<FailAwareState>

/** Up to this number of peers, a linear search is faster than a map. */
const FEW = 16

export function failAware({ self, nodes }: Identity, settings: FailAwareSettings): Layer<FailAwareState> {
  const { agreed } = settings
  const config = agreed === null ? 0 : hashPlain(agreed)
  /** The index of each peer, computed once per list of peers. */
  const places = new WeakMap<readonly NodeId[], ReadonlyMap<NodeId, number>>()

  const unchanged = (state: FailAwareState): FailAwareStep => ({ state, effects: NOTHING, inputs: NOTHING })

  function placeIn(peers: readonly NodeId[], peer: NodeId): number | undefined {
    if (peers.length <= FEW) {
      const place = peers.indexOf(peer)
      return place < 0 ? undefined : place
    }
    let known = places.get(peers)
    if (known === undefined) {
      known = new Map(peers.map((id, index) => [id, index]))
      places.set(peers, known)
    }
    return known.get(peer)
  }

  /** Null for a peer that is unknown or was never heard. */
  function sessionOf({ peers, sessions }: FailAwareState, peer: NodeId): Session | null {
    const place = placeIn(peers, peer)
    return place === undefined ? null : (sessions[place] ?? null)
  }

  /** The state with a place for this peer, and the index of that place. */
  function placeFor(state: FailAwareState, peer: NodeId): readonly [FailAwareState, number] {
    const place = placeIn(state.peers, peer)
    if (place !== undefined) return [state, place]
    const { peers, sessions, echoed } = state
    const more = { peers: [...peers, peer], sessions: [...sessions, null], echoed: [...echoed, null] }
    return [changed(state, more), peers.length]
  }

  function datagram(state: FailAwareState, to: NodeId, body: Message | null, now: Micros): Effect {
    const session = sessionOf(state, to)
    const message: Datagram = {
      kind: 'datagram',
      config,
      by: state.incarnation,
      for: session === null ? 0 : session.incarnation,
      number: state.count + 1,
      sent: now,
      awake: state.awakeSince,
      echo: session === null ? null : session.stamps,
      body,
    }
    return send(to, message)
  }

  function tripOf(
    state: FailAwareState,
    { echo, sent, for: meant }: Datagram,
    now: Micros,
  ): RoundTrip | null {
    if (echo === null || meant !== state.incarnation) return null
    if (state.awakeSince !== null && echo.sent < state.awakeSince) return null
    return { outward: echo.sent, arrived: now, received: echo.received, answered: sent }
  }

  function onDatagram(before: FailAwareState, from: NodeId, message: Datagram, now: Micros): FailAwareStep {
    if (message.config !== config) return onStranger(before, from, message.config, now)
    const [state, place] = placeFor(before, from)
    const known = state.sessions[place] ?? null
    // No timestamp of this node is in the future: this one is a mistake that the peer returns.
    const isFuture = message.echo !== null && message.for === state.incarnation && message.echo.sent > now
    const echo = isFuture ? null : message.echo
    const corrects = known !== null && message.for === state.incarnation && isOutlived(known, echo)
    const isNew =
      known === null || message.by > known.incarnation || (corrects && message.by < known.incarnation)
    const isFormer = !isNew && message.by < known.incarnation
    // A sender that expects an incarnation which this node never had was misled. An Echo shows it the mistake.
    if (isFormer && (!settings.echo || message.for <= state.incarnation)) return unchanged(before)
    if (settings.echo && message.for !== state.incarnation) return introduce(before, from, message, now)
    const isLower = !isNew && message.number < (known.recent[0] ?? 0)
    const isMistake = isLower && corrects && !known.recent.includes(message.number)
    const recent = isMistake
      ? withoutLarger(known.recent, message.number)
      : withNumber(isNew ? [] : known.recent, message.number)
    if (recent === null) return unchanged(before)
    const overtaken = isLower && !isMistake
    const { terms } = state
    const passage: Passage = {
      trip: isFuture ? null : tripOf(state, message, now),
      overtaken,
    }
    const receipt = receiptOf(passage, false, terms)
    const stamps: Stamps = { sent: message.sent, received: now }
    // The latest datagram counts, even if an earlier one had a larger value: that was a mistake.
    const awake = overtaken ? (known?.awake ?? null) : message.awake
    const session: Session = {
      incarnation: message.by,
      recent,
      newestAt: overtaken && known !== null ? known.newestAt : now,
      stamps: isNew ? stamps : better(known.stamps, stamps, terms.rho, terms.stampAge, awake, !overtaken),
      awake,
    }
    const { body } = message
    const echoedAt = isNew ? null : (state.echoed[place] ?? null)
    const answers =
      settings.echo && !receipt.fast && body !== null && (echoedAt === null || now - echoedAt >= terms.fast)
    const heard = withSessions(state, replaced(state.sessions, place, session))
    return {
      state: answers
        ? changed(heard, { count: state.count + 1, echoed: replaced(state.echoed, place, now) })
        : heard,
      effects: answers ? [datagram(heard, from, null, now)] : NOTHING,
      inputs:
        body === null
          ? NOTHING
          : [{ type: 'message', from, body, receipt: agreed === null ? passage : receipt }],
    }
  }

  /**
   * A datagram for another incarnation of this process, or for none. Its content is ignored. Its sender learns the
   * current incarnation from an Echo. An Echo itself is not answered.
   */
  function introduce(before: FailAwareState, to: NodeId, message: Datagram, now: Micros): FailAwareStep {
    const [state, place] = placeFor(before, to)
    const echoedAt = state.echoed[place] ?? null
    if (message.body === null || (echoedAt !== null && now - echoedAt < state.terms.fast)) {
      return unchanged(before)
    }
    const answer: Datagram = {
      kind: 'datagram',
      config,
      by: state.incarnation,
      for: message.by,
      number: state.count + 1,
      sent: now,
      awake: state.awakeSince,
      echo: { sent: message.sent, received: now },
      body: null,
    }
    const next = changed(state, { count: state.count + 1, echoed: replaced(state.echoed, place, now) })
    return { state: next, effects: [send(to, answer)], inputs: NOTHING }
  }

  /** A node with another configuration: its message is ignored, and it gets the configuration of this node. */
  function onStranger(state: FailAwareState, peer: NodeId, other: number, now: Micros): FailAwareStep {
    const strangers = metStranger(state.strangers, peer, other, now)
    if (strangers === null || agreed === null) return unchanged(state)
    return {
      state: changed(state, { strangers }),
      effects: [send(peer, { kind: 'Settings', agreed } satisfies Settings)],
      inputs: NOTHING,
    }
  }

  function onSettings(state: FailAwareState, peer: NodeId, theirs: PlainObject, now: Micros): FailAwareStep {
    const heard = agreed === null ? null : heardSettings(state.strangers, peer, agreed, theirs, now)
    if (heard === null) return unchanged(state)
    return {
      state: changed(state, { strangers: heard.strangers }),
      effects: [output(heard.mismatch)],
      inputs: NOTHING,
    }
  }

  /** Delivers the messages of the node to itself. Its own clock says how late they are. */
  function onOwn(state: FailAwareState, now: Micros): FailAwareStep {
    const { rho, fast } = state.terms
    return {
      state: changed(state, { own: [] }),
      effects: NOTHING,
      inputs: state.own.map(({ body, sent }): Input => {
        const hasSlept = state.awakeSince !== null && sent < state.awakeSince
        const bound = hasSlept ? null : atMost(now - sent, rho)
        const trip = hasSlept ? null : { outward: sent, arrived: now, received: 0, answered: 0 }
        const isFast = bound !== null && bound <= fast
        const receipt: Receipt | Passage =
          agreed === null ? { trip, overtaken: false } : { fast: isFast, bound, overtaken: false }
        return { type: 'message', from: self, body, receipt }
      }),
    }
  }

  /** The protocol above has new terms for the sessions. */
  function onTerms(state: FailAwareState, event: Output): FailAwareStep {
    if (event.type !== NEW_TERMS) return unchanged(state)
    const { leastDelay, fast, rho, stampAge } = event as unknown as SessionTerms
    return unchanged(changed(state, { terms: { leastDelay, fast, rho, stampAge } }))
  }

  const layer: Layer<FailAwareState> = {
    name: NAME,
    start(stable: Plain, now) {
      const incarnation = ((stable as number | null) ?? 0) + 1
      const { leastDelay, fast, rho, stampAge } = settings
      const state: FailAwareState = {
        incarnation,
        startedAt: now,
        count: 0,
        awakeSince: null,
        peers: nodes,
        sessions: nodes.map(() => null),
        echoed: nodes.map(() => null),
        own: [],
        strangers: [],
        terms: { leastDelay, fast, rho, stampAge },
      }
      return { state, effects: [persist(incarnation)], inputs: NOTHING }
    },
    below(state, input, clock) {
      const now = clock - state.startedAt
      switch (input.type) {
        case 'message': {
          const body = input.body as unknown as Datagram | Settings
          if (body.kind === 'datagram') return onDatagram(state, input.from, body, now)
          // Other messages are neither for this layer nor for the protocol above.
          return isSettings(body) ? onSettings(state, input.from, body.agreed, now) : unchanged(state)
        }
        case 'timer':
          return onOwn(state, now)
        case 'suspended':
          return { state: resetStamps(state, now), effects: NOTHING, inputs: [input] }
        default:
          return { state, effects: NOTHING, inputs: [input] }
      }
    },
    above(state, { to, body }, clock) {
      const now = clock - state.startedAt
      if (to === self) {
        return {
          state: changed(state, { own: [...state.own, { body, sent: now }] }),
          effects: [setTimer(SELF_TIMER, clock)],
          inputs: NOTHING,
        }
      }
      return {
        state: changed(state, { count: state.count + 1 }),
        effects: [datagram(state, to, body, now)],
        inputs: NOTHING,
      }
    },
    shift: (state, by) => ({ ...state, startedAt: state.startedAt + by }),
  }
  return agreed === null ? { ...layer, notice: onTerms } : layer
}

/**
 * The clock stood still, for at least a microsecond: what was stamped just before and what is stamped now could show the
 * same instant. Stamps go on a microsecond later, which is no more than they have lost, so that one before `awakeSince`
 * is from before the suspension; any other is from after it.
 */
function resetStamps(state: FailAwareState, now: Micros): FailAwareState {
  return { ...changed(state, { awakeSince: now + 1 }), startedAt: state.startedAt - 1 }
}

/** What every datagram does. */
function withSessions(state: FailAwareState, sessions: FailAwareState['sessions']): FailAwareState {
  const { incarnation, startedAt, count, awakeSince, peers, echoed, own, strangers, terms } = state
  return { incarnation, startedAt, count, awakeSince, peers, sessions, echoed, own, strangers, terms }
}

/** Spelled out, so that all states have one shape. */
function changed(state: FailAwareState, change: Partial<FailAwareState>): FailAwareState {
  return {
    incarnation: state.incarnation,
    startedAt: state.startedAt,
    count: change.count ?? state.count,
    awakeSince: change.awakeSince ?? state.awakeSince,
    peers: change.peers ?? state.peers,
    sessions: change.sessions ?? state.sessions,
    echoed: change.echoed ?? state.echoed,
    own: change.own ?? state.own,
    strangers: change.strangers ?? state.strangers,
    terms: change.terms ?? state.terms,
  }
}
