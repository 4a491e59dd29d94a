/**
 * The crash-tolerant ring election: it also survives lost messages.
 *
 * Elections are numbered (`epoch`, persisted), and a higher epoch replaces a lower one. Every hop is acknowledged. A node
 * suspects and skips a successor that does not answer; a node that suspects all others wins. A message that has made more
 * hops than there are nodes is dropped, because its originator is gone. A node starts an election in the next epoch if
 * it receives no result in time, if its leader is gone, if it learns of two leaders in one epoch, or if its identifier is
 * larger than the leader's.
 *
 * An epoch is not a fencing token: without a majority two leaders may share an epoch for a moment.
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

/** A message that goes around the ring. `hops`: the number of hops so far, this one included. */
type HopMessage = {
  readonly kind: 'election' | 'elected'
  readonly epoch: number
  readonly key: Key
  readonly hops: number
  /** Identifies the message in its acknowledgement. */
  readonly seq: number
}

export type TolerantMessage =
  | HopMessage
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
   * The nodes whose identifier, and whose result, this node has sent on in this epoch. Each is sent on once: a second copy
   * comes from a node that suspected this one, and sending it on would multiply copies.
   */
  readonly sentOn: { readonly election: readonly NodeId[]; readonly elected: readonly NodeId[] }
  /** Messages that have not been acknowledged, and their receivers. */
  readonly pending: readonly { readonly to: NodeId; readonly message: HopMessage }[]
  readonly nextSeq: number
  /** Whether the leader has answered the last ping. */
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
  /** The other nodes in ring order, starting with the successor. */
  const around = [...nodes.slice(place + 1), ...nodes.slice(0, place)]

  function keyOf(state: TolerantState): Key {
    return state.frozen ?? { load: state.load, node: self }
  }

  /** Sends a message to the next node that is not suspected. If all are suspected, this node has won. */
  function sendOn(
    state: TolerantState,
    kind: HopMessage['kind'],
    key: Key,
    hops: number,
    now: Micros,
  ): TolerantStep {
    const to = around.find((id) => !state.suspected.includes(id))
    if (to === undefined) return kind === 'election' ? becomeLeader(state, now) : unchanged(state)
    const message: HopMessage = { kind, epoch: state.epoch, key, hops, seq: state.nextSeq }
    return {
      state: change(state, { nextSeq: state.nextSeq + 1, pending: [...state.pending, { to, message }] }),
      effects: [send(to, message), setTimer(hopTimer(message.seq), now + timing.hopTimeout)],
    }
  }

  function startElection(state: TolerantState, now: Micros): TolerantStep {
    const epoch = state.epoch + 1
    const me: Key = { load: state.load, node: self }
    const joined = change(enterEpoch(state, epoch), { participant: true, frozen: me })
    return concatSteps(
      {
        state: joined,
        effects: [persist({ epoch }), setTimer(ELECTION_TIMER, now + timing.electionTimeout)],
      },
      sendOn(joined, 'election', me, 1, now),
    )
  }

  /** Enters a higher epoch and forgets lower ones. Suspicions stay: only a sign of life clears them. */
  function enterEpoch(state: TolerantState, epoch: number): TolerantState {
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

  function becomeLeader(state: TolerantState, now: Micros): TolerantStep {
    const me = keyOf(state)
    const won = change(state, { participant: false, leader: me, frozen: null, leaderAnswered: true })
    const others = around.some((id) => !state.suspected.includes(id))
    const announced: TolerantStep = others ? sendOn(won, 'elected', me, 1, now) : unchanged(won)
    return concatSteps({ state: won, effects: [stopTimer(ELECTION_TIMER)] }, announced)
  }

  function handleHopMessage(
    state: TolerantState,
    from: NodeId,
    message: HopMessage,
    now: Micros,
  ): TolerantStep {
    if (message.epoch < state.epoch) {
      return { state, effects: [send(from, { kind: 'nack', seq: message.seq, epoch: state.epoch })] }
    }
    const acknowledged: TolerantEffect[] = [send(from, { kind: 'ack', seq: message.seq })]
    // The owner of the identifier takes part in this epoch, so it is alive, even if this node suspected it.
    let current = clearSuspicion(clearSuspicion(state, from), message.key.node)
    if (message.epoch > state.epoch) {
      const behind = catchUp(current, message.epoch, null, now)
      current = behind.state
      acknowledged.push(...behind.effects)
    }
    const known = current.sentOn[message.kind].includes(message.key.node)
    if (known || message.hops > nodes.length) return { state: current, effects: acknowledged }
    const next =
      message.kind === 'election'
        ? handleElection(current, message, now)
        : handleElected(current, message, now)
    return { state: next.state, effects: [...acknowledged, ...next.effects] }
  }

  function handleElection(state: TolerantState, { key, hops }: HopMessage, now: Micros): TolerantStep {
    const me = keyOf(state)
    if (key.node === self) return state.participant ? becomeLeader(state, now) : unchanged(state)
    if (compareKeys(key, me) > 0) return join(withSentOn(state, 'election', key), key, hops + 1, me, now)
    if (!state.participant && state.leader === null) return join(state, me, 1, me, now)
    return unchanged(state)
  }

  function join(state: TolerantState, key: Key, hops: number, me: Key, now: Micros): TolerantStep {
    const joined = change(state, { participant: true, leader: null, frozen: me })
    return concatSteps(
      { state: joined, effects: [setTimer(ELECTION_TIMER, now + timing.electionTimeout)] },
      sendOn(joined, 'election', key, hops, now),
    )
  }

  function handleElected(state: TolerantState, { key, hops }: HopMessage, now: Micros): TolerantStep {
    if (key.node === self) return unchanged(state)
    // This node has the larger identifier, but was skipped while the message went around.
    if (compareKeys(keyOf(state), key) > 0) return startElection(state, now)
    const following = follow(withSentOn(state, 'elected', key), key)
    return concatSteps(following, sendOn(following.state, 'elected', key, hops + 1, now))
  }

  /** The message was acknowledged, or refused because this node is behind. */
  function removePending(state: TolerantState, seq: number): TolerantState {
    const pending = state.pending.filter(({ message }) => message.seq !== seq)
    return pending.length === state.pending.length ? state : change(state, { pending })
  }

  function handleHopTimeout(state: TolerantState, seq: number, now: Micros): TolerantStep {
    const lost = state.pending.find(({ message }) => message.seq === seq)
    if (lost === undefined) return unchanged(state)
    const without = removePending(change(state, { suspected: withId(state.suspected, lost.to) }), seq)
    if (lost.message.epoch !== state.epoch) return unchanged(without)
    return sendOn(without, lost.message.kind, lost.message.key, lost.message.hops, now)
  }

  /**
   * Other nodes are ahead: the messages of that epoch will arrive here, too. Starting an election in a still higher epoch
   * could race with it for ever. If no message arrives, the timer starts an election.
   */
  function catchUp(state: TolerantState, epoch: number, leader: Key | null, now: Micros): TolerantStep {
    const timer =
      leader === null ? setTimer(ELECTION_TIMER, now + timing.electionTimeout) : stopTimer(ELECTION_TIMER)
    return { state: change(enterEpoch(state, epoch), { leader }), effects: [persist({ epoch }), timer] }
  }

  /** A peer reports its epoch and leader. */
  function handleLeaderReport(
    state: TolerantState,
    epoch: number,
    leader: Key | null,
    now: Micros,
  ): TolerantStep {
    if (epoch < state.epoch) return unchanged(state)
    const current = epoch > state.epoch ? catchUp(state, epoch, null, now) : unchanged(state)
    if (leader === null || leader.node === self) return current
    if (compareKeys(keyOf(current.state), leader) > 0)
      return concatSteps(current, startElection(current.state, now))
    if (current.state.leader === null) return concatSteps(current, follow(current.state, leader))
    const isOther = compareKeys(leader, current.state.leader) !== 0
    return isOther ? concatSteps(current, startElection(current.state, now)) : current
  }

  function follow(state: TolerantState, leader: Key): TolerantStep {
    return {
      state: change(state, { participant: false, leader, frozen: null, leaderAnswered: true }),
      effects: [stopTimer(ELECTION_TIMER)],
    }
  }

  function handleProbe(state: TolerantState, now: Micros): TolerantStep {
    const again = setTimer(PROBE_TIMER, now + timing.probeEvery)
    const { leader, epoch } = state
    if (leader === null) return { state, effects: [again] }
    const hello: TolerantMessage = { kind: 'hello', epoch, leader }
    if (leader.node === self) return { state, effects: [...sendAll(around, hello), again] }
    const greeted = sendAll(state.suspected, hello)
    if (!state.leaderAnswered) {
      return concatSteps({ state, effects: [...greeted, again] }, startElection(state, now))
    }
    const asked = change(state, { leaderAnswered: false })
    return { state: asked, effects: [...greeted, send(leader.node, { kind: 'ping' }), again] }
  }

  function clearSuspicion(state: TolerantState, peer: NodeId): TolerantState {
    const suspected = withoutId(state.suspected, peer)
    return suspected === state.suspected ? state : change(state, { suspected })
  }

  function handleMessage(
    state: TolerantState,
    from: NodeId,
    body: TolerantMessage,
    now: Micros,
  ): TolerantStep {
    switch (body.kind) {
      case 'election':
      case 'elected':
        return handleHopMessage(state, from, body, now)
      case 'ack':
        return {
          state: removePending(clearSuspicion(state, from), body.seq),
          effects: [stopTimer(hopTimer(body.seq))],
        }
      case 'nack': {
        const refused = removePending(clearSuspicion(state, from), body.seq)
        const stopped: TolerantStep = { state: refused, effects: [stopTimer(hopTimer(body.seq))] }
        return body.epoch <= refused.epoch
          ? stopped
          : concatSteps(stopped, catchUp(refused, body.epoch, null, now))
      }
      case 'ping':
        return {
          state: clearSuspicion(state, from),
          effects: [send(from, { kind: 'pong', epoch: state.epoch, leader: state.leader })],
        }
      case 'pong':
        return handlePong(clearSuspicion(state, from), from, body.epoch, body.leader, now)
      case 'hello':
        return handleLeaderReport(clearSuspicion(state, from), body.epoch, body.leader, now)
      default:
        return unreachable(body)
    }
  }

  function handlePong(
    state: TolerantState,
    from: NodeId,
    epoch: number,
    leader: Key | null,
    now: Micros,
  ): TolerantStep {
    const isAnswer = from === state.leader?.node && !state.leaderAnswered
    const answered = isAnswer ? change(state, { leaderAnswered: true }) : state
    // The node that this node follows does not lead: it has restarted, or follows another node.
    const deposed = from === answered.leader?.node && epoch <= answered.epoch && leader?.node !== from
    return deposed ? startElection(answered, now) : handleLeaderReport(answered, epoch, leader, now)
  }

  function react(
    state: TolerantState,
    input: Input<TolerantMessage, RingCommand>,
    now: Micros,
  ): TolerantStep {
    switch (input.type) {
      case 'message':
        return handleMessage(state, input.from, input.body, now)
      case 'timer':
        if (input.name === PROBE_TIMER) return handleProbe(state, now)
        if (input.name === ELECTION_TIMER) return startElection(state, now)
        return handleHopTimeout(state, Number(input.name.slice('hop '.length)), now)
      case 'command': {
        const { command } = input
        if (command.do === 'start') return state.participant ? unchanged(state) : startElection(state, now)
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
      return concatSteps(
        { state: probing.state, effects: [...probing.effects, ...sendAll(around, hello)] },
        startElection(probing.state, now),
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

/** A state with some fields changed. Written out, because a spread takes longer than the rest of a step. */
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

function withSentOn(state: TolerantState, kind: HopMessage['kind'], { node }: Key): TolerantState {
  return change(state, { sentOn: { ...state.sentOn, [kind]: withId(state.sentOn[kind], node) } })
}

function unchanged(state: TolerantState): TolerantStep {
  return { state, effects: NOTHING }
}

/** The result of two steps, where the second started from the state of the first. */
function concatSteps(first: TolerantStep, second: TolerantStep): TolerantStep {
  return { state: second.state, effects: [...first.effects, ...second.effects] }
}
