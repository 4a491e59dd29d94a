/** One step of a bundle: the steps of its groups, gathered, and what comes of them together. */
import {
  assert,
  type Effect,
  hashPlain,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  nextTerm,
  type Output,
  output,
  type Plain,
  type PlainObject,
  persist,
  type Step,
  send,
  setTimer,
  stopTimer,
} from '../../core/index.ts'
import type { BundleState } from './bundle.ts'
import type { OpenedGroup, Part, Room } from './group.ts'
import { reseated, type Seat, type Timer, withoutTimer, withTimer } from './tenant.ts'

export const TICK = 'bundle/tick'
export class Turn {
  readonly now: Micros
  readonly #before: BundleState
  readonly #self: NodeId
  readonly #groupOf: (seat: Seat) => OpenedGroup
  #seats: readonly Seat[]
  #changes: { [group: string]: Plain } | null = null
  readonly #effects: Effect[] = []
  readonly #outbox = new Map<NodeId, Part[]>()
  #alarm: Micros | null

  constructor(before: BundleState, self: NodeId, groupOf: (seat: Seat) => OpenedGroup, now: Micros) {
    this.now = now
    this.#self = self
    this.#before = before
    this.#groupOf = groupOf
    this.#seats = before.seats
    this.#alarm = before.alarm
  }

  get seats(): readonly Seat[] {
    return this.#seats
  }

  kept(name: string): Plain {
    return (this.#changes ?? this.#before.kept)[name] ?? null
  }

  /** Somebody sits down or gets up. */
  reseat(seats: readonly Seat[]): void {
    this.#seats = seats
  }

  /** The world's alarm has rung: there is none any more. */
  rang(): void {
    this.#alarm = null
  }

  put(index: number, seat: Seat): void {
    // Copied once, however many groups have a step in this one.
    if (this.#seats === this.#before.seats) this.#seats = this.#seats.slice()
    ;(this.#seats as Seat[])[index] = seat
  }

  say(event: Output): void {
    this.#effects.push(output(event))
  }

  post(to: NodeId, part: Part): void {
    const parts = this.#outbox.get(to)
    if (parts === undefined) this.#outbox.set(to, [part])
    else parts.push(part)
  }

  /** Gives a group an input. */
  feed(index: number, input: Input): void {
    const seat = this.#seats[index] as Seat
    this.take(index, this.#groupOf(seat).protocol.step(seat.state, input, this.now))
  }

  /** Carries out what a group's step asks for, as far as that is the bundle's business. */
  take(index: number, { state, effects }: Step<Plain>): void {
    const seat = this.#seats[index] as Seat
    const { name } = seat
    let { timers, draws, term } = seat
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          this.keep(name, effect.stable)
          break
        case 'send':
          this.post(effect.to, { group: name, config: this.#groupOf(seat).config, body: effect.body })
          break
        case 'setTimer':
          timers = withTimer(timers, effect.name, this.#chosen(name, effect.at, draws))
          if (typeof effect.at !== 'number') draws += 1
          break
        case 'stopTimer':
          timers = withoutTimer(timers, effect.name)
          break
        case 'output':
          term = nextTerm(term, effect.event)
          this.say({ ...effect.event, group: name })
          break
        case 'register':
          assert(false, 'a group in a bundle has no shared registers')
          break
        default:
          effect satisfies never
      }
    }
    if (state === seat.state && timers === seat.timers && term === seat.term) return
    this.put(
      index,
      reseated(seat, { state, timers, term, draws, due: this.#dueOf(seat, timers, seat.heldUntil) }),
    )
  }

  /** A timer is over. */
  fire(index: number, { name }: Timer): void {
    const seat = this.#seats[index] as Seat
    const timers = withoutTimer(seat.timers, name)
    this.put(index, reseated(seat, { timers, due: this.#dueOf(seat, timers, seat.heldUntil) }))
  }

  /** Nothing happens in a group until then. */
  hold(index: number, heldUntil: Micros | null): void {
    const seat = this.#seats[index] as Seat
    this.put(index, reseated(seat, { heldUntil, due: this.#dueOf(seat, seat.timers, heldUntil) }))
  }

  /**
   * The whole. Data is made safe first, whatever group it belongs to: that makes one write of many, and each group's
   * messages still leave after its own. What goes to one process goes together.
   */
  end(room: Room): Step<BundleState, Message, PlainObject> {
    const { origin } = this.#before
    const next = this.#nextAlarm()
    const effects: Effect<Message, PlainObject>[] = []
    if (this.#changes !== null) effects.push(persist(this.#changes))
    effects.push(...(this.#effects as Effect<Message, PlainObject>[]))
    for (const [to, parts] of this.#outbox) {
      for (const load of loads(parts, room)) effects.push(send(to, { kind: 'bundle', parts: load }))
    }
    if (next !== this.#alarm) effects.push(next === null ? stopTimer(TICK) : setTimer(TICK, next))
    const state = { origin, seats: this.#seats, kept: this.#changes ?? this.#before.kept, alarm: next }
    return { state: this.#isSame(next) ? this.#before : state, effects }
  }

  /** This must survive of a group. Copied once, like the seats. */
  keep(name: string, stable: Plain): void {
    this.#changes ??= { ...this.#before.kept }
    this.#changes[name] = stable
  }

  #isSame(alarm: Micros | null): boolean {
    const { seats, alarm: was } = this.#before
    return this.#seats === seats && this.#changes === null && alarm === was
  }

  /**
   * To its groups a bundle is the world, and where a timer has a range it chooses: by digest, so that no two processes
   * choose alike, and not alike twice.
   */
  #chosen(name: string, at: Micros | readonly [Micros, Micros], draws: number): Micros {
    if (typeof at === 'number') return at
    const [earliest, latest] = at
    return earliest + (hashPlain([this.#self, name, draws]) % (latest - earliest + 1))
  }

  /** When to wake for a group's first timer; with several groups, on their grid. */
  #dueOf(seat: Seat, timers: readonly Timer[], heldUntil: Micros | null): Micros | null {
    const first = timers[0]?.at
    if (first === undefined) return null
    const at = heldUntil === null ? first : Math.max(first, heldUntil)
    const { slack } = this.#groupOf(seat)
    if (slack <= 1 || this.#seats.length === 1) return at
    const { origin } = this.#before
    return origin + Math.ceil((at - origin) / slack) * slack
  }

  #nextAlarm(): Micros | null {
    let next: Micros | null = null
    for (const { due } of this.#seats) if (due !== null && (next === null || due < next)) next = due
    return next
  }
}

/** Parts in their order, each load as full as may be. */
function loads(parts: readonly Part[], { most, weigh }: Room): readonly (readonly Part[])[] {
  if (parts.length === 1) return [parts]
  const all: Part[][] = []
  let [load, weight]: [Part[], number] = [[], 0]
  for (const part of parts) {
    const own = weigh(part)
    if (load.length > 0 && weight + own > most) {
      all.push(load)
      ;[load, weight] = [[], 0]
    }
    load.push(part)
    weight += own
  }
  all.push(load)
  return all
}
