/**
 * Links with a consistent history: a layer over datagrams that may be lost, duplicated, delayed and reordered. Both ends
 * see the same sequence of `link` up and `link` down; one end may be ahead by the slack. A message belongs to the
 * incarnation of the link in which it was sent: it arrives in that incarnation, once and in order, or both ends see the
 * incarnation end.
 *
 * An incarnation of a link is identified by the incarnations of both nodes and a counter (counters.ts). Each end pings the
 * other regularly. The link counts as working while pings arrive that answer recent pings of this end, so both directions
 * are tested. A failure detector decides when that ends (detectors/estimator.ts).
 *
 * A node that restarts has a new incarnation. When its peer learns of it, the link goes down if it was up, and both ends
 * reset their counters. An end ignores messages from an earlier incarnation of its peer.
 *
 * Source: P. LeMahieu, J. Bruck, A Consistent History Link Connectivity Protocol, PODC 1998. Restarts, and datagrams
 * instead of tokens, are additions.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Layer,
  type LayerStep,
  type Message,
  type Micros,
  NOTHING,
  type NodeId,
  type Outcome,
  type Plain,
  persist,
  present,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import type { Estimator, Judgement } from '../detectors/estimator.ts'
import type { Receipt } from '../fail-aware/fail-aware.ts'
import { BEGIN, type Counters, heard, isUp, mayMove, moved } from './counters.ts'
import type { Frame, Header, HistoryDatagram, Ping } from './messages.ts'

export type HistoryTiming = {
  readonly pingEvery: Micros
  /** The longest silence before a link goes down. A ping that answers an older ping than this proves nothing. */
  readonly timeout: Micros
  readonly retransmitAfter: Micros
  readonly slack: number
}

type LinkEnd = {
  readonly peer: NodeId
  /** The peer's incarnation, 0 until it is known. */
  readonly by: number
  readonly counters: Counters
  /** Own period in which the link last went down; -1 while it never has. Only answers to later pings bring it up. */
  readonly downIn: number
  /** The last of the peer's periods heard of, -1 while there is none. */
  readonly period: number
  readonly estimate: Plain
  /** Until when the link counts as working; 0 is in the past. An instant. */
  readonly trustedUntil: Micros
  /** The number of the first frame that is not acknowledged, and those from there on. */
  readonly first: number
  readonly waiting: readonly Message[]
  /** The queue overflowed. The link goes down as soon as its counters allow, and carries no frame until then. */
  readonly isFull: boolean
  /** The number of the next frame to pass up, and frames that arrived early. */
  readonly next: number
  readonly early: readonly { readonly seq: number; readonly body: Message }[]
}

export type HistoryLinks = {
  readonly incarnation: number
  /** When it began: periods are counted from here. An instant. */
  readonly since: Micros
  readonly ends: readonly LinkEnd[]
}

const NAME = 'history'
const PING = `${NAME}/ping`
const WATCH = `${NAME}/watch/`
const RESEND = `${NAME}/resend/`
/** The most frames an end keeps for a peer that acknowledges none, and the most it keeps that arrived out of order. */
const WINDOW = 1024
/** 142 years: instants of a process stay exact. */
const LONGEST: Micros = 2 ** 52
const NO_FRAMES = { first: 0, waiting: [], isFull: false, next: 0, early: [] } as const

type HistoryStep = LayerStep<HistoryLinks>

export function consistentHistory(
  { self, nodes }: Identity,
  timing: HistoryTiming,
  estimator: Estimator,
): Layer<HistoryLinks> {
  const peers = nodes.filter((id) => id !== self)
  const byName = new Map(peers.map((peer) => [String(peer), peer]))
  const { pingEvery, timeout, retransmitAfter, slack } = timing

  function newEnd(peer: NodeId, by: number, now: Micros): LinkEnd {
    const { estimate } = estimator.begin(null, now)
    return { peer, by, counters: BEGIN, downIn: -1, period: -1, estimate, trustedUntil: 0, ...NO_FRAMES }
  }

  const periodAt = (state: HistoryLinks, now: Micros): number => Math.floor((now - state.since) / pingEvery)

  function header({ incarnation }: HistoryLinks, { by, counters, next }: LinkEnd): Header {
    return { by: incarnation, for: by, count: counters.count, received: next }
  }

  function ping(state: HistoryLinks, end: LinkEnd, now: Micros): Effect {
    const body: Ping = {
      kind: 'ping',
      ...header(state, end),
      no: periodAt(state, now),
      echo: end.period,
    }
    return send(end.peer, body)
  }

  function frame(state: HistoryLinks, end: LinkEnd, place: number, again: boolean): Effect {
    const body: Frame = {
      kind: 'frame',
      ...header(state, end),
      seq: end.first + place,
      body: present(end.waiting[place], 'frame'),
      again,
    }
    return send(end.peer, body)
  }

  function endOf(state: HistoryLinks, peer: NodeId): LinkEnd {
    return present(
      state.ends.find((end) => end.peer === peer),
      'end',
    )
  }

  function withEnd(state: HistoryLinks, next: LinkEnd): HistoryLinks {
    const { incarnation, since, ends } = state
    return { incarnation, since, ends: ends.map((end) => (end.peer === next.peer ? next : end)) }
  }

  /** What a ping says of the link; null when it does not answer a recent one of this end. */
  function judge(
    state: HistoryLinks,
    { estimate, isFull }: LinkEnd,
    { no, echo }: Ping,
    now: Micros,
  ): Judgement<Plain> | null {
    if (isFull || echo < 0 || (periodAt(state, now) - echo) * pingEvery > timeout) return null
    const judged = estimator.arrival(estimate, no, now)
    return { estimate: judged.estimate, trustedUntil: Math.min(judged.trustedUntil, now + timeout) }
  }

  /** Written out: this is what every ping does. */
  function recordHeartbeat(
    end: LinkEnd,
    period: number,
    { estimate, trustedUntil }: Judgement<Plain>,
  ): LinkEnd {
    const { peer, by, counters, downIn, first, waiting, isFull, next, early } = end
    const isSame = period === end.period && estimate === end.estimate && trustedUntil === end.trustedUntil
    if (isSame) return end
    return { peer, by, counters, downIn, period, estimate, trustedUntil, first, waiting, isFull, next, early }
  }

  /** A ping over a link that is up at both ends, with nothing else in it; null when there is more to it than that. */
  function ordinary(state: HistoryLinks, from: NodeId, body: Ping, now: Micros): HistoryStep | null {
    const end = endOf(state, from)
    const { count, theirs } = end.counters
    const isPlain =
      body.by === end.by &&
      body.for === state.incarnation &&
      body.count === count &&
      theirs === count &&
      isUp(end.counters) &&
      body.received <= end.first &&
      body.no >= end.period
    const judged = isPlain ? judge(state, end, body, now) : null
    if (judged === null || judged.trustedUntil <= now) return null
    const after = recordHeartbeat(end, body.no, judged)
    return {
      state: after === end ? state : withEnd(state, after),
      effects: [setTimer(WATCH + from, judged.trustedUntil)],
      inputs: NOTHING,
    }
  }

  /** One datagram, or one timer, at one end: what becomes of the end, and what is said and handed up on the way. */
  class Change {
    readonly #state: HistoryLinks
    readonly #now: Micros
    readonly #before: LinkEnd
    end: LinkEnd
    readonly effects: Effect[] = []
    readonly inputs: Input[] = []

    constructor(state: HistoryLinks, peer: NodeId, now: Micros) {
      this.#state = state
      this.#now = now
      this.#before = endOf(state, peer)
      this.end = this.#before
    }

    done(): HistoryStep {
      const { end, effects, inputs } = this
      const { peer, by, counters, waiting } = end
      // An end that moved, or met a new incarnation, pings at once; otherwise the next ping is enough.
      if (counters.count !== this.#before.counters.count || by !== this.#before.by) {
        effects.push(ping(this.#state, end, this.#now))
      }
      if (waiting.length === 0 && this.#before.waiting.length > 0) effects.push(stopTimer(RESEND + peer))
      const state = end === this.#before ? this.#state : withEnd(this.#state, end)
      return { state, effects, inputs }
    }

    /** False when nothing else in the datagram is for this process, from that one. */
    heardFrom({ by, for: whom, count }: Header, isLatest: boolean): boolean {
      if (by < this.end.by && !isLatest) return false
      if (by !== this.end.by) this.#meet(by)
      if (whom !== this.#state.incarnation) return false
      // No end leads by more than the slack: what says so is not of this link.
      if (count > this.end.counters.count + slack) return false
      const counters = heard(this.end.counters, count)
      while (this.end.counters.count < counters.count) this.#move()
      if (counters.theirs !== this.end.counters.theirs) this.end = { ...this.end, counters }
      return true
    }

    /** The peer has a new incarnation: the link goes down, and the counters are reset. */
    #meet(by: number): void {
      const { peer, counters } = this.end
      if (isUp(counters)) this.inputs.push({ type: 'link', peer, up: false })
      this.end = newEnd(peer, by, this.#now)
    }

    #move(): void {
      const counters = moved(this.end.counters)
      const downIn = isUp(counters) ? this.end.downIn : periodAt(this.#state, this.#now)
      this.end = { ...this.end, counters, downIn, ...NO_FRAMES }
      this.inputs.push({ type: 'link', peer: this.end.peer, up: isUp(counters) })
      // An end that follows the other up may have no evidence yet that the link works: it waits for that.
      if (isUp(counters) && this.end.trustedUntil <= this.#now) this.#trustUntil(this.#now + timeout)
    }

    #trustUntil(trustedUntil: Micros): void {
      if (trustedUntil !== this.end.trustedUntil) this.end = { ...this.end, trustedUntil }
      this.effects.push(setTimer(WATCH + this.end.peer, trustedUntil))
    }

    pinged(body: Ping, isLatest: boolean): void {
      const { no, echo } = body
      if (no < this.end.period) {
        if (!isLatest) return
        // The larger period was a mistake, and an estimate from it would count this ping as late.
        this.end = { ...this.end, estimate: estimator.begin(null, this.#now).estimate }
      }
      const judged = judge(this.#state, this.end, body, this.#now)
      if (judged === null) {
        if (no !== this.end.period) this.end = { ...this.end, period: no }
        return
      }
      this.end = recordHeartbeat(this.end, no, judged)
      if (judged.trustedUntil <= this.#now) return
      this.#trustUntil(judged.trustedUntil)
      const { counters, downIn } = this.end
      if (!isUp(counters) && echo > downIn && mayMove(counters, slack)) this.#move()
    }

    /** Nothing has come in time that shows the link to be sound. */
    silent(): void {
      const { peer, counters, trustedUntil } = this.end
      if (!isUp(counters) || trustedUntil > this.#now) return
      if (mayMove(counters, slack)) this.#move()
      else this.effects.push(setTimer(WATCH + peer, this.#now + pingEvery))
    }

    framed({ count, seq, body }: Frame): void {
      const { peer, counters, next, early } = this.end
      if (count !== counters.count) return
      const isNews = seq >= next && seq < next + WINDOW && !early.some((other) => other.seq === seq)
      if (isNews) this.#take(seq, body)
      this.effects.push(send(peer, { kind: 'ack', ...header(this.#state, this.end) }))
    }

    #take(seq: number, body: Message): void {
      const early = [...this.end.early, { seq, body }].sort((a, b) => a.seq - b.seq)
      let { next } = this.end
      const ready = early.filter((other) => {
        if (other.seq !== next) return false
        next += 1
        return true
      })
      this.end = { ...this.end, next, early: early.slice(ready.length) }
      for (const { body: inner } of ready) {
        this.inputs.push({ type: 'message', from: this.end.peer, body: inner, receipt: null })
      }
    }

    acknowledged({ count, received }: Header): void {
      const { counters, first, waiting } = this.end
      if (count !== counters.count || received <= first) return
      if (received <= first + waiting.length)
        this.end = { ...this.end, first: received, waiting: waiting.slice(received - first) }
      // The peer has frames that this process never sent: a faulty process has used this incarnation before. The peer would
      // take the frames of this process for duplicates, so both ends start again.
      else if (isUp(counters)) this.#move()
    }
  }

  /** A period after a hundred years is invalid. */
  function isPossible({ no }: Ping): boolean {
    return no * pingEvery <= LONGEST
  }

  /**
   * A peer that returns a period in the future was misled by a faulty process with the incarnation of this one. The ping
   * proves nothing then, but both ends must still meet.
   */
  function withoutFuture(state: HistoryLinks, body: Ping, now: Micros): Ping {
    const isFuture = body.for === state.incarnation && body.echo > periodAt(state, now)
    return isFuture ? { ...body, echo: -1 } : body
  }

  /**
   * `isLatest`: a session below knows that nothing which its sender said later has come before. What a process says last
   * of all holds, even where it once said more: incarnations and periods only grow, so that was a mistake.
   */
  function onDatagram(
    state: HistoryLinks,
    from: NodeId,
    received: HistoryDatagram,
    isLatest: boolean,
    now: Micros,
  ): HistoryStep {
    if (received.kind === 'ping' && !isPossible(received)) return { state, effects: NOTHING, inputs: NOTHING }
    const body = received.kind === 'ping' ? withoutFuture(state, received, now) : received
    const plain = body.kind === 'ping' ? ordinary(state, from, body, now) : null
    if (plain !== null) return plain
    const change = new Change(state, from, now)
    const { by } = change.end
    const isForMe = change.heardFrom(body, isLatest)
    if (isForMe) {
      change.acknowledged(body)
      if (body.kind === 'ping') change.pinged(body, isLatest)
      else if (body.kind === 'frame') change.framed(body)
    } else if (body.by === by) {
      // It does not know this process yet: let it.
      change.effects.push(ping(state, change.end, now))
    }
    return change.done()
  }

  function onTimer(state: HistoryLinks, name: string, now: Micros): HistoryStep {
    if (name === PING) {
      const next = state.since + (periodAt(state, now) + 1) * pingEvery
      const effects = [...state.ends.map((end) => ping(state, end, now)), setTimer(PING, next)]
      return { state, effects, inputs: NOTHING }
    }
    if (name.startsWith(WATCH)) {
      const change = new Change(state, present(byName.get(name.slice(WATCH.length)), 'peer'), now)
      change.silent()
      return change.done()
    }
    const end = endOf(state, present(byName.get(name.slice(RESEND.length)), 'peer'))
    if (end.waiting.length === 0) return { state, effects: NOTHING, inputs: NOTHING }
    const again = end.waiting.map((_, place) => frame(state, end, place, true))
    return { state, effects: [...again, setTimer(name, now + retransmitAfter)], inputs: NOTHING }
  }

  function begin(state: HistoryLinks, now: Micros): HistoryStep {
    const { incarnation, ends } = state
    const watches = ends.flatMap(({ peer, trustedUntil }) =>
      trustedUntil > now ? [setTimer(WATCH + peer, trustedUntil)] : [],
    )
    return { state, effects: [persist(incarnation), setTimer(PING, now), ...watches], inputs: NOTHING }
  }

  return {
    name: NAME,
    start(stable: Plain, now) {
      const incarnation = ((stable as number | null) ?? 0) + 1
      return begin({ incarnation, since: now, ends: peers.map((peer) => newEnd(peer, 0, now)) }, now)
    },
    /** All members' first processes know each other, and their links are up. */
    settled({ members }: Outcome, now) {
      const ends = peers.map((peer): LinkEnd => {
        const end = newEnd(peer, members.includes(peer) ? 1 : 0, now)
        if (!members.includes(peer)) return end
        return { ...end, counters: { count: 0, theirs: 0 }, period: 0, trustedUntil: now + timeout }
      })
      return begin({ incarnation: 1, since: now, ends }, now)
    },
    below(state, input, now) {
      if (input.type === 'message') {
        const receipt = input.receipt as Receipt | null
        const isLatest = receipt !== null && !receipt.overtaken
        return onDatagram(state, input.from, input.body as unknown as HistoryDatagram, isLatest, now)
      }
      if (input.type === 'timer') return onTimer(state, input.name, now)
      // What the world itself says of links is not the history that both ends share.
      return { state, effects: NOTHING, inputs: input.type === 'link' ? NOTHING : [input] }
    },
    above(state, { to, body }, now) {
      const before = endOf(state, to)
      if (!isUp(before.counters) || before.isFull) return { state, effects: NOTHING, inputs: NOTHING }
      if (before.waiting.length === WINDOW) {
        const full = withEnd(state, { ...before, isFull: true, trustedUntil: now })
        return { state: full, effects: [setTimer(WATCH + to, now)], inputs: NOTHING }
      }
      const end: LinkEnd = { ...before, waiting: [...before.waiting, body] }
      const next = withEnd(state, end)
      const sent = frame(next, end, end.waiting.length - 1, false)
      const isIdle = before.waiting.length === 0
      return {
        state: next,
        effects: isIdle ? [sent, setTimer(RESEND + to, now + retransmitAfter)] : [sent],
        inputs: NOTHING,
      }
    },
    shift: ({ incarnation, since, ends }, by) => ({
      incarnation,
      since: since + by,
      ends: ends.map((end) => ({
        ...end,
        estimate: estimator.shift(end.estimate, by),
        trustedUntil: end.trustedUntil === 0 ? 0 : end.trustedUntil + by,
      })),
    }),
  }
}
