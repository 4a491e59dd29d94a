/**
 * Many groups in one process, over one session for each pair of processes.
 *
 * A bundle is a protocol made of others: each group has a protocol of its own, and what they ask for is labelled with
 * the group's name. Stacked on fail-aware datagrams it is what a real process runs, and worlds run it like any other.
 * Groups come and go by command. What is meant for one process leaves in one message, as far as it has room; data that
 * must survive is made safe in one write; and the timers of several groups wait for each other, a small part of what
 * each may be late. So many groups cost little more than one where they do nothing.
 *
 * Groups share nothing else. Which messages were fast, and who is configured alike, is decided in each: where two
 * processes disagree over one group they do not hear each other in that one, and in the others they do.
 */
import {
  hashPlain,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Plain,
  type PlainObject,
  type Protocol,
  type Step,
  unreachable,
  type View,
} from '../../core/index.ts'
import { NEW_TERMS, type Passage, receiptOf, type SessionTerms } from '../fail-aware/fail-aware.ts'
import { heardSettings, isSettings, metStranger } from '../fail-aware/strangers.ts'
import type { Bundle, BundleCommand, OpenedGroup, OpenGroup, Part, Room } from './group.ts'
import { reseated, type Seat, seatNamed, shiftedSeat } from './tenant.ts'
import { TICK, Turn } from './turn.ts'

export type BundleState = {
  /** Grids begin here. */
  readonly origin: Micros
  /** By name. */
  readonly seats: readonly Seat[]
  /** Stable data of every group that ever was, by name. */
  readonly kept: PlainObject
  /** When the world is to wake the bundle. */
  readonly alarm: Micros | null
}

export type BundleSettings = {
  readonly self: NodeId
  readonly open: OpenGroup
  readonly room: Room
  /** Groups that are there from the start, by name. */
  readonly groups: { readonly [name: string]: PlainObject }
}

/** The groups in the state of a bundle, with layers below it or without. */
export function seatsIn(state: Plain): readonly Seat[] {
  const either = state as BundleState | { readonly upper: BundleState }
  return 'upper' in either ? either.upper.seats : either.seats
}

/** The state of one of them; null where there is no such group. */
export function stateInBundle(state: Plain, group: string): Plain {
  const seats = seatsIn(state)
  return seats[seatNamed(seats, group)]?.state ?? null
}

export function bundle(settings: BundleSettings): Protocol<BundleState, Message, BundleCommand, PlainObject> {
  const { self, room } = settings
  /** Made once, as long as its words stay the same. */
  const opened = new Map<string, { readonly spec: PlainObject; readonly group: OpenedGroup }>()

  function groupFor(name: string, spec: PlainObject): OpenedGroup {
    const known = opened.get(name)
    if (known !== undefined && known.spec === spec) return known.group
    const made = settings.open(name, spec)
    const group = { ...made, config: hashPlain(made.agreed) }
    opened.set(name, { spec, group })
    return group
  }

  const groupOf = ({ name, spec }: Seat): OpenedGroup => groupFor(name, spec)

  // ---- Groups come and go ----

  function sit(turn: Turn, name: string, spec: PlainObject): void {
    const group = groupFor(name, spec)
    const { state, effects } = group.protocol.start(turn.kept(name), turn.now)
    const seat: Seat = {
      name,
      spec,
      state,
      timers: [],
      due: null,
      term: null,
      draws: 0,
      strangers: [],
      heldUntil: null,
    }
    const seats = [...turn.seats, seat].sort((a, b) => (a.name < b.name ? -1 : 1))
    turn.reseat(seats)
    turn.take(seatNamed(seats, name), { state, effects })
  }

  function onCommand(turn: Turn, command: BundleCommand): void {
    const groups = command.do === 'hold' ? command.groups : [command.group]
    for (const group of groups) {
      const index = seatNamed(turn.seats, group)
      if (index < 0 === (command.do === 'join')) obey(turn, index, command)
      else {
        const why = index < 0 ? 'it has not joined that group' : 'it has joined that group already'
        turn.say({ type: 'refused', group, command: command.do, why })
      }
    }
  }

  function obey(turn: Turn, index: number, command: BundleCommand): void {
    const seat = turn.seats[index] as Seat
    switch (command.do) {
      case 'join':
        if (command.stable !== undefined) turn.keep(command.group, command.stable)
        sit(turn, command.group, command.spec)
        tellTerms(turn)
        break
      case 'leave':
        turn.reseat(turn.seats.toSpliced(index, 1))
        tellTerms(turn)
        break
      case 'regroup': {
        const state = groupFor(seat.name, command.spec).adopt(seat.state, groupOf(seat).nodes)
        turn.put(index, reseated(seat, { spec: command.spec, state }))
        tellTerms(turn)
        break
      }
      case 'hold':
        turn.hold(index, turn.now + command.forMicros)
        break
      case 'tell':
        turn.feed(index, { type: 'command', command: command.command })
        break
      default:
        unreachable(command)
    }
  }

  /** The sessions serve the strictest. */
  function tellTerms(turn: Turn): void {
    const all = turn.seats.map((seat) => groupOf(seat).terms)
    if (all.length === 0) return
    const terms: SessionTerms = {
      leastDelay: Math.min(...all.map(({ leastDelay }) => leastDelay)),
      fast: Math.min(...all.map(({ fast }) => fast)),
      rho: Math.max(...all.map(({ rho }) => rho)),
      stampAge: Math.min(...all.map(({ stampAge }) => stampAge)),
    }
    turn.say({ type: NEW_TERMS, ...terms })
  }

  // ---- What comes in ----

  function onBundle(turn: Turn, from: NodeId, { parts }: Bundle, passage: Passage): void {
    for (const part of parts) {
      const index = seatNamed(turn.seats, part.group)
      if (index >= 0) onPart(turn, index, from, part, passage)
    }
  }

  function onPart(turn: Turn, index: number, from: NodeId, { config, body }: Part, passage: Passage): void {
    const seat = turn.seats[index] as Seat
    if (isHeld(seat, turn.now)) return
    const group = groupOf(seat)
    const { agreed, nodes, terms } = group
    if (isSettings(body)) {
      // Whoever misses this process among its nodes says who they are.
      const ours = body.agreed['nodes'] === undefined ? agreed : { ...agreed, nodes }
      const heard = heardSettings(seat.strangers, from, ours, body.agreed, turn.now)
      if (heard === null) return
      turn.put(index, reseated(seat, { strangers: heard.strangers }))
      turn.say({ ...heard.mismatch, group: seat.name })
    } else if (config !== group.config) {
      tellStranger(turn, index, from, config, agreed)
    } else if (nodes.includes(from)) {
      if (!group.kinds.includes(body.kind)) return
      const receipt = receiptOf(passage, from === self, terms)
      turn.feed(index, { type: 'message', from, body, receipt })
    } else {
      tellStranger(turn, index, from, config, { ...agreed, nodes })
    }
  }

  function tellStranger(turn: Turn, index: number, peer: NodeId, config: number, agreed: PlainObject): void {
    const seat = turn.seats[index] as Seat
    const strangers = metStranger(seat.strangers, peer, config, turn.now)
    if (strangers === null) return
    const isFirst = !seat.strangers.some((stranger) => stranger.peer === peer)
    turn.put(index, reseated(seat, { strangers }))
    turn.post(peer, { group: seat.name, config: 0, body: { kind: 'Settings', agreed } })
    if (isFirst && agreed['nodes'] !== undefined) {
      const who = { peer, field: 'nodes', ours: agreed['nodes'], theirs: null }
      turn.say({ type: 'mismatch', ...who, group: seat.name })
    }
  }

  const isHeld = ({ heldUntil }: Seat, now: Micros): boolean => heldUntil !== null && now < heldUntil

  /** Everything that is due, of whatever group, in one step. What a timer's step makes due waits for the next. */
  function onTick(turn: Turn): void {
    turn.rang()
    for (let index = 0; index < turn.seats.length; index++) {
      const { timers, heldUntil } = turn.seats[index] as Seat
      if (isHeld(turn.seats[index] as Seat, turn.now)) continue
      if (heldUntil !== null) turn.hold(index, null)
      for (const due of timers) {
        if (due.at > turn.now) break
        const seat = turn.seats[index] as Seat
        // An earlier one of them may have stopped or moved it.
        if (!seat.timers.includes(due)) continue
        turn.fire(index, due)
        turn.feed(index, { type: 'timer', name: due.name })
      }
    }
  }

  function react(turn: Turn, input: Input<Message, BundleCommand>): void {
    switch (input.type) {
      case 'message':
        if (input.body.kind === 'bundle') {
          onBundle(turn, input.from, input.body as unknown as Bundle, input.receipt as unknown as Passage)
        }
        break
      case 'timer':
        if (input.name === TICK) onTick(turn)
        break
      case 'command':
        onCommand(turn, input.command)
        break
      case 'link':
      case 'suspended':
        for (let index = 0; index < turn.seats.length; index++) turn.feed(index, input)
        break
      case 'register':
        break
      default:
        unreachable(input)
    }
  }

  return {
    start(stable, now) {
      const turn = new Turn({ origin: now, seats: [], kept: stable ?? {}, alarm: null }, self, groupOf, now)
      for (const [name, spec] of Object.entries(settings.groups)) sit(turn, name, spec)
      tellTerms(turn)
      return turn.end(room)
    },
    step(state, input, now): Step<BundleState, Message, PlainObject> {
      const turn = new Turn(state, self, groupOf, now)
      react(turn, input)
      return turn.end(room)
    },
    view(state, now): View {
      const views = state.seats.map((seat) => [seat.name, groupOf(seat).protocol.view(seat.state, now)])
      return {
        role: 'follower',
        leader: null,
        token: null,
        until: null,
        members: null,
        detail: { groups: Object.fromEntries(views) as PlainObject },
      }
    },
    shift: (state, by) => ({
      origin: state.origin + by,
      seats: state.seats.map((seat) => shiftedSeat(seat, groupOf(seat).protocol, by)),
      kept: state.kept,
      alarm: state.alarm === null ? null : state.alarm + by,
    }),
  }
}
