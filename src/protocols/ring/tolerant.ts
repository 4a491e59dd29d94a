/**
 * The ring election made to live through crashes and lost messages.
 *
 * Elections are numbered (`epoch`, on stable storage): a higher number makes a process forget a lower one. Every hop
 * is acknowledged; a successor that does not answer is suspected and passed over, and whoever is left alone wins. A
 * message that has been round more than once is dropped, because its originator is gone. Whoever takes part and hears
 * no result in time begins again under the next number, and so does whoever finds that its leader is gone, that two
 * leaders are known under one number, or that it has a larger identifier than the leader.
 *
 * An epoch is not a fencing token: without a majority two leaders may share one for a moment.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  type Protocol,
  persist,
  present,
  type Step,
  send,
  sendAll,
  setTimer,
  stopTimer,
  unreachable,
  withId,
  withoutId,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'
import { compareKeys, type Key, type RingCommand } from './messages.ts'
import { ringView } from './ring.ts'

/** What goes round the ring; `hops` counts how far. */
type Token = {
  readonly kind: 'election' | 'elected'
  readonly epoch: number
  readonly key: Key
  readonly hops: number
  /** Tells the messages of a sender apart, for its acknowledgement. */
  readonly seq: number
}

export type TolerantMessage =
  | Token
  | { readonly kind: 'ack'; readonly seq: number }
  | { readonly kind: 'nack'; readonly seq: number; readonly epoch: number }
  | { readonly kind: 'ping' }
  | { readonly kind: 'pong'; readonly epoch: number; readonly leader: Key | null }
  | { readonly kind: 'hello'; readonly epoch: number; readonly leader: Key | null }

export type TolerantState = {
  readonly epoch: number
  readonly participant: boolean
  readonly leader: Key | null
  readonly load: number
  readonly frozen: Key | null
  readonly suspected: readonly NodeId[]
  /**
   * Whose identifier, and whose result, was sent on under this number. Once is enough: a second copy comes from
   * somebody who took this process for dead, and to send it on as well would make copies of copies.
   */
  readonly sentOn: { readonly election: readonly NodeId[]; readonly elected: readonly NodeId[] }
  /** The last message sent to the successor that has not been acknowledged, and to whom it went. */
  readonly pending: readonly { readonly to: NodeId; readonly token: Token }[]
  readonly nextSeq: number
  /** Whether the leader has answered since it was last asked. */
  readonly leaderAnswered: boolean
}

export type TolerantStable = { readonly epoch: number }

export type TolerantTiming = {
  readonly hopTimeout: Micros
  readonly electionTimeout: Micros
  readonly probeEvery: Micros
}

type TolerantStep = Step<TolerantState, TolerantMessage, TolerantStable>
type TolerantEffect = Effect<TolerantMessage, TolerantStable>

const NONE_SENT_ON: TolerantState['sentOn'] = { election: [], elected: [] }

const ELECTION_TIMER = 'election'
const PROBE_TIMER = 'probe'
const hopTimer = (seq: number): string => `hop ${seq}`

export function tolerantRing(
  { self, nodes }: Identity,
  load: number,
  timing: TolerantTiming,
): Protocol<TolerantState, TolerantMessage, RingCommand, TolerantStable> {
  const place = nodes.indexOf(self)
  /** The others in the order of the ring, the successor first. */
  const around = [...nodes.slice(place + 1), ...nodes.slice(0, place)]

  function keyOf(state: TolerantState): Key {
    return state.frozen ?? { load: state.load, node: self }
  }

  /** Sends a message to the next process that is not suspected; alone, one has won. */
  function pass(
    state: TolerantState,
    kind: Token['kind'],
    key: Key,
    hops: number,
    now: Micros,
  ): TolerantStep {
    const to = around.find((id) => !state.suspected.includes(id))
    if (to === undefined) return kind === 'election' ? win(state, now) : unchanged(state)
    const token: Token = { kind, epoch: state.epoch, key, hops, seq: state.nextSeq }
    return {
      state: change(state, { nextSeq: state.nextSeq + 1, pending: [...state.pending, { to, token }] }),
      effects: [send(to, token), setTimer(hopTimer(token.seq), now + timing.hopTimeout)],
    }
  }

  function begin(state: TolerantState, now: Micros): TolerantStep {
    const epoch = state.epoch + 1
    const me: Key = { load: state.load, node: self }
    const joined = change(reset(state, epoch), { participant: true, frozen: me })
    return after(
      {
        state: joined,
        effects: [persist({ epoch }), setTimer(ELECTION_TIMER, now + timing.electionTimeout)],
      },
      pass(joined, 'election', me, 1, now),
    )
  }

  /** A higher number: what belongs to lower ones is forgotten, but not who is suspected: only a sign of life ends that. */
  function reset(state: TolerantState, epoch: number): TolerantState {
    return change(state, {
      epoch,
      participant: false,
      leader: null,
      frozen: null,
      sentOn: NONE_SENT_ON,
      pending: [],
      leaderAnswered: true,
    })
  }

  function win(state: TolerantState, now: Micros): TolerantStep {
    const me = keyOf(state)
    const won = change(state, { participant: false, leader: me, frozen: null, leaderAnswered: true })
    const others = around.some((id) => !state.suspected.includes(id))
    const told: TolerantStep = others ? pass(won, 'elected', me, 1, now) : unchanged(won)
    return after({ state: won, effects: [stopTimer(ELECTION_TIMER)] }, told)
  }

  function onToken(state: TolerantState, from: NodeId, token: Token, now: Micros): TolerantStep {
    if (token.epoch < state.epoch) {
      return { state, effects: [send(from, { kind: 'nack', seq: token.seq, epoch: state.epoch })] }
    }
    const acknowledged: TolerantEffect[] = [send(from, { kind: 'ack', seq: token.seq })]
    // Whoever's identifier goes round has begun under this number, so it is there whatever was believed before.
    let current = alive(alive(state, from), token.key.node)
    if (token.epoch > state.epoch) {
      const behind = catchUp(current, token.epoch, null, now)
      current = behind.state
      acknowledged.push(...behind.effects)
    }
    const known = current.sentOn[token.kind].includes(token.key.node)
    if (known || token.hops > nodes.length) return { state: current, effects: acknowledged }
    const next = token.kind === 'election' ? onElection(current, token, now) : onElected(current, token, now)
    return { state: next.state, effects: [...acknowledged, ...next.effects] }
  }

  function onElection(state: TolerantState, { key, hops }: Token, now: Micros): TolerantStep {
    const me = keyOf(state)
    if (key.node === self) return state.participant ? win(state, now) : unchanged(state)
    if (compareKeys(key, me) > 0) return join(withSentOn(state, 'election', key), key, hops + 1, me, now)
    if (!state.participant && state.leader === null) return join(state, me, 1, me, now)
    return unchanged(state)
  }

  function join(state: TolerantState, key: Key, hops: number, me: Key, now: Micros): TolerantStep {
    const joined = change(state, { participant: true, leader: null, frozen: me })
    return after(
      { state: joined, effects: [setTimer(ELECTION_TIMER, now + timing.electionTimeout)] },
      pass(joined, 'election', key, hops, now),
    )
  }

  function onElected(state: TolerantState, { key, hops }: Token, now: Micros): TolerantStep {
    if (key.node === self) return unchanged(state)
    // A process that was passed over while the message went round, though it has the larger identifier.
    if (compareKeys(keyOf(state), key) > 0) return begin(state, now)
    const following = follow(withSentOn(state, 'elected', key), key)
    return after(following, pass(following.state, 'elected', key, hops + 1, now))
  }

  /** Acknowledged, or refused because this process is behind. */
  function settle(state: TolerantState, seq: number): TolerantState {
    const pending = state.pending.filter(({ token }) => token.seq !== seq)
    return pending.length === state.pending.length ? state : change(state, { pending })
  }

  function onHopTimeout(state: TolerantState, seq: number, now: Micros): TolerantStep {
    const lost = state.pending.find(({ token }) => token.seq === seq)
    if (lost === undefined) return unchanged(state)
    const without = settle(change(state, { suspected: withId(state.suspected, lost.to) }), seq)
    if (lost.token.epoch !== state.epoch) return unchanged(without)
    return pass(without, lost.token.kind, lost.token.key, lost.token.hops, now)
  }

  /**
   * Others are ahead: whatever goes on under that number will pass here. To begin under a still higher one at once
   * would race with it for ever; if nothing comes, the timer begins.
   */
  function catchUp(state: TolerantState, epoch: number, leader: Key | null, now: Micros): TolerantStep {
    const timer =
      leader === null ? setTimer(ELECTION_TIMER, now + timing.electionTimeout) : stopTimer(ELECTION_TIMER)
    return { state: change(reset(state, epoch), { leader }), effects: [persist({ epoch }), timer] }
  }

  /** What somebody says about who leads. */
  function onStanding(state: TolerantState, epoch: number, leader: Key | null, now: Micros): TolerantStep {
    if (epoch < state.epoch) return unchanged(state)
    const current = epoch > state.epoch ? catchUp(state, epoch, null, now) : unchanged(state)
    if (leader === null || leader.node === self) return current
    if (compareKeys(keyOf(current.state), leader) > 0) return after(current, begin(current.state, now))
    if (current.state.leader === null) return after(current, follow(current.state, leader))
    const isOther = compareKeys(leader, current.state.leader) !== 0
    return isOther ? after(current, begin(current.state, now)) : current
  }

  function follow(state: TolerantState, leader: Key): TolerantStep {
    return {
      state: change(state, { participant: false, leader, frozen: null, leaderAnswered: true }),
      effects: [stopTimer(ELECTION_TIMER)],
    }
  }

  function onProbe(state: TolerantState, now: Micros): TolerantStep {
    const again = setTimer(PROBE_TIMER, now + timing.probeEvery)
    const { leader, epoch } = state
    if (leader === null) return { state, effects: [again] }
    const hello: TolerantMessage = { kind: 'hello', epoch, leader }
    if (leader.node === self) return { state, effects: [...sendAll(around, hello), again] }
    const greeted = sendAll(state.suspected, hello)
    if (!state.leaderAnswered) {
      return after({ state, effects: [...greeted, again] }, begin(state, now))
    }
    const asked = change(state, { leaderAnswered: false })
    return { state: asked, effects: [...greeted, send(leader.node, { kind: 'ping' }), again] }
  }

  function alive(state: TolerantState, peer: NodeId): TolerantState {
    const suspected = withoutId(state.suspected, peer)
    return suspected === state.suspected ? state : change(state, { suspected })
  }

  function onMessage(state: TolerantState, from: NodeId, body: TolerantMessage, now: Micros): TolerantStep {
    switch (body.kind) {
      case 'election':
      case 'elected':
        return onToken(state, from, body, now)
      case 'ack':
        return { state: settle(alive(state, from), body.seq), effects: [stopTimer(hopTimer(body.seq))] }
      case 'nack': {
        const told = settle(alive(state, from), body.seq)
        const stopped: TolerantStep = { state: told, effects: [stopTimer(hopTimer(body.seq))] }
        return body.epoch <= told.epoch ? stopped : after(stopped, catchUp(told, body.epoch, null, now))
      }
      case 'ping':
        return {
          state: alive(state, from),
          effects: [send(from, { kind: 'pong', epoch: state.epoch, leader: state.leader })],
        }
      case 'pong':
        return onPong(alive(state, from), from, body.epoch, body.leader, now)
      case 'hello':
        return onStanding(alive(state, from), body.epoch, body.leader, now)
      default:
        return unreachable(body)
    }
  }

  function onPong(
    state: TolerantState,
    from: NodeId,
    epoch: number,
    leader: Key | null,
    now: Micros,
  ): TolerantStep {
    const isAnswer = from === state.leader?.node && !state.leaderAnswered
    const answered = isAnswer ? change(state, { leaderAnswered: true }) : state
    // The believed leader does not lead (any more): it has forgotten, or follows another.
    const deposed = from === answered.leader?.node && epoch <= answered.epoch && leader?.node !== from
    return deposed ? begin(answered, now) : onStanding(answered, epoch, leader, now)
  }

  function react(
    state: TolerantState,
    input: Input<TolerantMessage, RingCommand>,
    now: Micros,
  ): TolerantStep {
    switch (input.type) {
      case 'message':
        return onMessage(state, input.from, input.body, now)
      case 'timer':
        if (input.name === PROBE_TIMER) return onProbe(state, now)
        if (input.name === ELECTION_TIMER) return begin(state, now)
        return onHopTimeout(state, Number(input.name.slice('hop '.length)), now)
      case 'command': {
        const { command } = input
        if (command.do === 'start') return state.participant ? unchanged(state) : begin(state, now)
        return unchanged(state.load === command.load ? state : change(state, { load: command.load }))
      }
      default:
        return unchanged(state)
    }
  }

  const fresh: TolerantState = {
    epoch: 0,
    participant: false,
    leader: null,
    load,
    frozen: null,
    suspected: [],
    sentOn: NONE_SENT_ON,
    pending: [],
    nextSeq: 0,
    leaderAnswered: true,
  }

  return {
    start(stable, now) {
      const probing: TolerantStep = {
        state: change(fresh, { epoch: stable?.epoch ?? 0 }),
        effects: [setTimer(PROBE_TIMER, now + timing.probeEvery)],
      }
      if (stable === null) return probing
      const hello: TolerantMessage = { kind: 'hello', epoch: stable.epoch, leader: null }
      return after(
        { state: probing.state, effects: [...probing.effects, ...sendAll(around, hello)] },
        begin(probing.state, now),
      )
    },
    step(state, input, now) {
      const next = react(state, input, now)
      return withLeaderNews(self, leaderOf(state), leaderOf(next.state), next)
    },
    view(state) {
      const { epoch, participant } = state
      return ringView(self, leaderOf(state), participant, { epoch, load: state.load })
    },
    shift: (state) => state,
    settled: ({ leader }, now) => ({
      state: change(fresh, { epoch: 1, leader: { load: 0, node: present(leader, 'leader') } }),
      effects: [persist({ epoch: 1 }), setTimer(PROBE_TIMER, now + timing.probeEvery)],
    }),
  }
}

/** A state with some fields changed. Spelled out, because a spread takes longer than the rest of a step. */
function change(state: TolerantState, changes: Partial<TolerantState>): TolerantState {
  const {
    epoch = state.epoch,
    participant = state.participant,
    leader = state.leader,
    load = state.load,
    frozen = state.frozen,
    suspected = state.suspected,
    sentOn = state.sentOn,
    pending = state.pending,
    nextSeq = state.nextSeq,
    leaderAnswered = state.leaderAnswered,
  } = changes
  return { epoch, participant, leader, load, frozen, suspected, sentOn, pending, nextSeq, leaderAnswered }
}

function leaderOf({ leader }: TolerantState): NodeId | null {
  return leader === null ? null : leader.node
}

function withSentOn(state: TolerantState, kind: Token['kind'], { node }: Key): TolerantState {
  return change(state, { sentOn: { ...state.sentOn, [kind]: withId(state.sentOn[kind], node) } })
}

function unchanged(state: TolerantState): TolerantStep {
  return { state, effects: NOTHING }
}

/** One thing after another: the second step was taken from the first one's state. */
function after(first: TolerantStep, second: TolerantStep): TolerantStep {
  return { state: second.state, effects: [...first.effects, ...second.effects] }
}
