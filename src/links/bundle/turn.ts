/** One step of a bundle: the steps of its groups, gathered, and what comes of them together. */
import {
  assert,
  type Effect,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Output,
  output,
  type PlainObject,
  persist,
  type Plain,
  send,
  setTimer,
  type Step,
  stopTimer,
} from '../../core/index.ts'
import type { BundleState } from './bundle.ts'
import type { OpenedGroup, Part, Room } from './group.ts'
import { reseated, type Seat, withoutTimer, withTimer } from './seat.ts'

export const TICK = 'bundle/tick'
const DRAWN = 'group/'

/** A timer of a group, as the world knows it. */
export function drawnName(group: string, timer: string): string {
  return `${DRAWN}${encodeURIComponent(group)}/${timer}`
}

export function drawnTimer(name: string): { readonly group: string; readonly timer: string } | null {
  if (!name.startsWith(DRAWN)) return null
  const end = name.indexOf('/', DRAWN.length)
  return { group: decodeURIComponent(name.slice(DRAWN.length, end)), timer: name.slice(end + 1) }
}

export class Turn {
  readonly now: Micros
  readonly #before: BundleState
  readonly #groupOf: (seat: Seat) => OpenedGroup
  #seats: readonly Seat[]
  #kept: PlainObject
  readonly #effects: Effect[] = []
  readonly #outbox = new Map<NodeId, Part[]>()
  #alarm: Micros | null

  constructor(before: BundleState, groupOf: (seat: Seat) => OpenedGroup, now: Micros) {
    this.now = now
    this.#before = before
    this.#groupOf = groupOf
    this.#seats = before.seats
    this.#kept = before.kept
    this.#alarm = before.alarm
  }

  get seats(): readonly Seat[] {
    return this.#seats
  }

  kept(name: string): Plain {
    return this.#kept[name] ?? null
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
    let { timers, drawn } = seat
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          this.#kept = { ...this.#kept, [name]: effect.stable }
          break
        case 'send':
          this.post(effect.to, this.#partOf(seat, effect.body))
          break
        case 'setTimer':
          if (typeof effect.at === 'number') {
            timers = withTimer(timers, effect.name, effect.at)
            drawn = this.#undrawn(name, drawn, effect.name)
          } else {
            timers = withoutTimer(timers, effect.name)
            drawn = drawn.includes(effect.name) ? drawn : [...drawn, effect.name].sort()
            this.#effects.push(setTimer(drawnName(name, effect.name), effect.at))
          }
          break
        case 'stopTimer':
          timers = withoutTimer(timers, effect.name)
          drawn = this.#undrawn(name, drawn, effect.name)
          break
        case 'output':
          this.say({ ...effect.event, group: name })
          break
        case 'register':
          assert(false, 'a group in a bundle has no shared registers')
          break
        default:
          effect satisfies never
      }
    }
    if (state === seat.state && timers === seat.timers && drawn === seat.drawn) return
    this.put(index, reseated(seat, { state, timers, drawn }))
  }

  /** The world no longer keeps timers of this group. */
  forget({ name, drawn }: Seat): void {
    for (const timer of drawn) this.#effects.push(stopTimer(drawnName(name, timer)))
  }

  /**
   * The whole. Data is made safe first, whatever group it belongs to: that makes one write of many, and each group's
   * messages still leave after its own. What goes to one process goes together.
   */
  end(room: Room): Step<BundleState, Message, PlainObject> {
    const { origin } = this.#before
    const next = this.#nextAlarm()
    const effects: Effect<Message, PlainObject>[] = []
    if (this.#kept !== this.#before.kept) effects.push(persist(this.#kept))
    effects.push(...(this.#effects as Effect<Message, PlainObject>[]))
    for (const [to, parts] of this.#outbox) {
      for (const load of loads(parts, room)) effects.push(send(to, { kind: 'bundle', parts: load }))
    }
    if (next !== this.#alarm) effects.push(next === null ? stopTimer(TICK) : setTimer(TICK, next))
    const state = { origin, seats: this.#seats, kept: this.#kept, alarm: next }
    return { state: this.#isSame(next) ? this.#before : state, effects }
  }

  #isSame(alarm: Micros | null): boolean {
    const { seats, kept, alarm: was } = this.#before
    return this.#seats === seats && this.#kept === kept && alarm === was
  }

  #undrawn(group: string, drawn: readonly string[], timer: string): readonly string[] {
    if (!drawn.includes(timer)) return drawn
    this.#effects.push(stopTimer(drawnName(group, timer)))
    return drawn.filter((other) => other !== timer)
  }

  #partOf(seat: Seat, body: Message): Part {
    return { group: seat.name, config: this.#groupOf(seat).config, body }
  }

  /** When the next timer of any group is due; with several groups, on their grid. */
  #nextAlarm(): Micros | null {
    const isAlone = this.#seats.length === 1
    let next: Micros | null = null
    for (const seat of this.#seats) {
      const due = seat.timers[0]?.at
      if (due === undefined) continue
      if (next !== null && due >= next) continue
      const held = seat.heldUntil === null ? due : Math.max(due, seat.heldUntil)
      const at = isAlone ? held : this.#onGrid(held, this.#groupOf(seat).slack)
      if (next === null || at < next) next = at
    }
    return next
  }

  #onGrid(at: Micros, grid: Micros): Micros {
    const { origin } = this.#before
    return grid <= 1 ? at : origin + Math.ceil((at - origin) / grid) * grid
  }
}

/** Parts in their order, each load as full as may be. */
function loads(parts: readonly Part[], { most, weigh }: Room): readonly (readonly Part[])[] {
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
