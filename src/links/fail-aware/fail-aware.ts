/**
 * Datagrams that tell how late they are: a layer.
 *
 * The network may lose, delay, double and reorder. This layer cannot prevent it, but whoever receives a message learns
 * an upper bound of its delay (bound.ts) and so whether it was *fast*: at most Δ. For that every datagram sends back
 * the time stamps of one that went the other way. A message without such stamps counts as slow and is answered with
 * an Echo, which carries nothing but stamps, so that any two processes that can talk soon have a round trip.
 *
 * There is one session for each pair of processes, whatever they talk about: it knows the peer's incarnation (what a
 * former one sent is dropped, and its time stamps are void), drops duplicates, and holds the stamps. Processes that
 * are configured differently never hear each other: each is told which setting differs.
 *
 * Time stamps count from the start of the process that made them, so nobody sees another's clock.
 *
 * What a process sends to itself comes back as a message too, never at once, and may be slow if it was held up.
 *
 * Source: Fetzer & Cristian, A Fail-Aware Datagram Service, 1998, as used in A Highly Available Local Leader Election
 * Service, 1999. The Echo, incarnations, and the rule about sleeping clocks are additions.
 */
import {
  type Effect,
  equalPlain,
  hashPlain,
  type Identity,
  type Input,
  isList,
  type Layer,
  type LayerStep,
  type Message,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Plain,
  type PlainObject,
  persist,
  present,
  replaced,
  send,
  setTimer,
} from '../../core/index.ts'
import { atMost, delayBound } from './bound.ts'
import { better, type Session, type Stamps, withNumber } from './session.ts'

export type FailAwareSettings = {
  /** No message takes less (δmin). */
  readonly leastDelay: Micros
  /** A message is fast that took no longer (Δ). */
  readonly fast: Micros
  /** Clocks drift by no more (ρ). */
  readonly rho: number
  /** Time stamps are replaced after so long, even by worse ones. */
  readonly stampAge: Micros
  /** What all processes must be configured with alike. */
  readonly agreed: PlainObject
  /** False only to show what happens then. */
  readonly echo: boolean
}

/** What is known of a delivery. */
export type Receipt = {
  readonly fast: boolean
  readonly bound: Micros | null
  /** Something that was sent later has come before: what this says of its sender is out of date. */
  readonly overtaken: boolean
}

export type Datagram = {
  readonly kind: 'datagram'
  /** A digest of what all must be configured with alike. */
  readonly config: number
  /** Incarnations of the sender, and of the receiver as far as it is known (0: not yet). */
  readonly by: number
  readonly for: number
  readonly number: number
  readonly sent: Micros
  /** Of a message from the receiver: when that sent it, and when the sender received it. */
  readonly echo: Stamps | null
  /** Null in an Echo. */
  readonly body: Message | null
}

/** Told to whoever is configured differently. */
export type Settings = { readonly kind: 'Settings'; readonly agreed: PlainObject }

export const FAIL_AWARE_KINDS = ['Echo', 'Settings'] as const

/** What a message counts as: what it carries. */
export function failAwareKind(message: Message): string {
  if (message.kind !== 'datagram') return message.kind
  return (message as unknown as Datagram).body?.kind ?? 'Echo'
}

/** All instants but `startedAt` count from there. */
export type FailAwareState = {
  readonly incarnation: number
  readonly startedAt: Micros
  /** How many datagrams it has sent. */
  readonly count: number
  /** Stamps from before this are void: the clock stood still in between. */
  readonly awakeSince: Micros | null
  /** In the order of the nodes; null for whom it never heard. */
  readonly sessions: readonly (Session | null)[]
  /** Sent to itself and not yet delivered. */
  readonly own: readonly { readonly body: Message; readonly sent: Micros }[]
  /** Peers that are configured differently, by what they said, and when they were last told so. */
  readonly strangers: readonly Stranger[]
}

type Stranger = {
  readonly peer: NodeId
  readonly config: number
  readonly toldAt: Micros
  readonly isReported: boolean
}

const NAME = 'fail-aware'
const SELF_TIMER = `${NAME}/self`
/** Whoever is configured differently is told so at most this often. */
const TELL_AGAIN: Micros = 1_000_000

type FailAwareStep = LayerStep<FailAwareState>

export function failAware({ self, nodes }: Identity, settings: FailAwareSettings): Layer<FailAwareState> {
  const { rho, fast, leastDelay, stampAge, agreed } = settings
  const indexOf = new Map(nodes.map((id, index) => [id, index]))
  const config = hashPlain(agreed)

  const unchanged = (state: FailAwareState): FailAwareStep => ({ state, effects: NOTHING, inputs: NOTHING })

  const placeOf = (peer: NodeId): number => present(indexOf.get(peer), 'peer')

  function datagram(state: FailAwareState, to: NodeId, body: Message | null, now: Micros): Effect {
    const session = state.sessions[placeOf(to)] ?? null
    const message: Datagram = {
      kind: 'datagram',
      config,
      by: state.incarnation,
      for: session === null ? 0 : session.incarnation,
      number: state.count + 1,
      sent: now,
      echo: session === null ? null : session.stamps,
      body,
    }
    return send(to, message)
  }

  function boundOf(state: FailAwareState, { echo, sent, for: meant }: Datagram, now: Micros): Micros | null {
    if (echo === null || meant !== state.incarnation) return null
    if (state.awakeSince !== null && echo.sent < state.awakeSince) return null
    const trip = { outward: echo.sent, arrived: now, received: echo.received, answered: sent }
    return delayBound(trip, rho, leastDelay)
  }

  function onDatagram(state: FailAwareState, from: NodeId, message: Datagram, now: Micros): FailAwareStep {
    if (message.config !== config) return onStranger(state, from, message.config, now)
    const place = placeOf(from)
    const known = state.sessions[place] ?? null
    const stamps: Stamps = { sent: message.sent, received: now }
    const isNew = known === null || message.by > known.incarnation
    if (!isNew && message.by < known.incarnation) return unchanged(state)
    const recent = withNumber(isNew ? [] : known.recent, message.number)
    if (recent === null) return unchanged(state)
    const bound = boundOf(state, message, now)
    const isFast = bound !== null && bound <= fast
    const overtaken = !isNew && message.number < (known.recent[0] ?? 0)
    const { body } = message
    const answers =
      settings.echo &&
      !isFast &&
      body !== null &&
      (isNew || known.echoedAt === null || now - known.echoedAt >= fast)
    const session: Session = {
      incarnation: message.by,
      recent,
      stamps: isNew ? stamps : better(known.stamps, stamps, rho, stampAge),
      echoedAt: answers ? now : isNew ? null : known.echoedAt,
    }
    const heard = withSessions(state, replaced(state.sessions, place, session))
    return {
      state: answers ? changed(heard, { count: state.count + 1 }) : heard,
      effects: answers ? [datagram(heard, from, null, now)] : NOTHING,
      inputs:
        body === null
          ? NOTHING
          : [{ type: 'message', from, body, receipt: { fast: isFast, bound, overtaken } }],
    }
  }

  /** Somebody who is configured differently: it is not heard, but told what is expected here. */
  function onStranger(state: FailAwareState, peer: NodeId, other: number, now: Micros): FailAwareStep {
    const known = state.strangers.find((stranger) => stranger.peer === peer)
    const isKnown = known !== undefined && known.config === other
    if (isKnown && now - known.toldAt < TELL_AGAIN) return unchanged(state)
    const told: Stranger = { peer, config: other, toldAt: now, isReported: isKnown && known.isReported }
    return {
      state: changed(state, {
        strangers: [...state.strangers.filter((stranger) => stranger !== known), told],
      }),
      effects: [send(peer, { kind: 'Settings', agreed } satisfies Settings)],
      inputs: NOTHING,
    }
  }

  /** How a peer is configured that is configured differently: said once, with the setting that differs. */
  function onSettings(state: FailAwareState, peer: NodeId, theirs: PlainObject, now: Micros): FailAwareStep {
    const other = hashPlain(theirs)
    const known = state.strangers.find((stranger) => stranger.peer === peer && stranger.config === other)
    const field = differing(agreed, theirs)
    if (field === null || known?.isReported === true) return unchanged(state)
    const told: Stranger = {
      peer,
      config: other,
      toldAt: known?.toldAt ?? now - TELL_AGAIN,
      isReported: true,
    }
    const event = {
      type: 'mismatch',
      peer,
      field,
      ours: agreed[field] ?? null,
      theirs: theirs[field] ?? null,
    }
    return {
      state: changed(state, {
        strangers: [...state.strangers.filter((stranger) => stranger.peer !== peer), told],
      }),
      effects: [output(event)],
      inputs: NOTHING,
    }
  }

  /** What was sent to itself is delivered; how late, its own clock tells. */
  function onOwn(state: FailAwareState, now: Micros): FailAwareStep {
    return {
      state: changed(state, { own: [] }),
      effects: NOTHING,
      inputs: state.own.map(({ body, sent }): Input => {
        const bound = atMost(now - sent, rho)
        return {
          type: 'message',
          from: self,
          body,
          receipt: { fast: bound <= fast, bound, overtaken: false },
        }
      }),
    }
  }

  return {
    name: NAME,
    start(stable: Plain, now) {
      const incarnation = ((stable as number | null) ?? 0) + 1
      const state: FailAwareState = {
        incarnation,
        startedAt: now,
        count: 0,
        awakeSince: null,
        sessions: nodes.map(() => null),
        own: [],
        strangers: [],
      }
      return { state, effects: [persist(incarnation)], inputs: NOTHING }
    },
    below(state, input, clock) {
      const now = clock - state.startedAt
      switch (input.type) {
        case 'message': {
          const body = input.body as unknown as Datagram | Settings
          if (body.kind === 'datagram') return onDatagram(state, input.from, body, now)
          // Whatever else reaches this layer is not for it, nor for what stands on it.
          return body.kind === 'Settings' && isSettings(body.agreed)
            ? onSettings(state, input.from, body.agreed, now)
            : unchanged(state)
        }
        case 'timer':
          return onOwn(state, now)
        case 'suspended':
          return { state: changed(state, { awakeSince: now }), effects: NOTHING, inputs: [input] }
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
}

/** What every datagram does. */
function withSessions(state: FailAwareState, sessions: readonly (Session | null)[]): FailAwareState {
  const { incarnation, startedAt, count, awakeSince, own, strangers } = state
  return { incarnation, startedAt, count, awakeSince, sessions, own, strangers }
}

/** Spelled out, so that all states have one shape. */
function changed(state: FailAwareState, change: Partial<FailAwareState>): FailAwareState {
  return {
    incarnation: state.incarnation,
    startedAt: state.startedAt,
    count: change.count ?? state.count,
    awakeSince: change.awakeSince ?? state.awakeSince,
    sessions: change.sessions ?? state.sessions,
    own: change.own ?? state.own,
    strangers: change.strangers ?? state.strangers,
  }
}

function isSettings(agreed: Plain): agreed is PlainObject {
  return agreed !== null && typeof agreed === 'object' && !isList(agreed)
}

/** The first setting in which two differ. */
function differing(ours: PlainObject, theirs: PlainObject): string | null {
  const fields = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].sort()
  return fields.find((field) => !equalPlain(ours[field] ?? null, theirs[field] ?? null)) ?? null
}
