/** One step of a bundle: collects the steps of its groups and combines their effects. */
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
import type { ConfiguredGroup, Part, Room } from './group.ts'
import { changeTenant, type Tenant, type Timer, withoutTimer, withTimer } from './tenant.ts'

/** The bundle's own timer. */
export const TICK = 'bundle/tick'

export class BundleStep {
  readonly now: Micros
  readonly #before: BundleState
  readonly #self: NodeId
  readonly #groupOf: (tenant: Tenant) => ConfiguredGroup
  #tenants: readonly Tenant[]
  #changes: { [group: string]: Plain } | null = null
  readonly #effects: Effect[] = []
  readonly #outbox = new Map<NodeId, Part[]>()
  #alarm: Micros | null

  constructor(before: BundleState, self: NodeId, groupOf: (tenant: Tenant) => ConfiguredGroup, now: Micros) {
    this.now = now
    this.#self = self
    this.#before = before
    this.#groupOf = groupOf
    this.#tenants = before.tenants
    this.#alarm = before.alarm
  }

  get tenants(): readonly Tenant[] {
    return this.#tenants
  }

  stableOf(name: string): Plain {
    return (this.#changes ?? this.#before.kept)[name] ?? null
  }

  /** Replaces all groups: one was joined or left. */
  setTenants(tenants: readonly Tenant[]): void {
    this.#tenants = tenants
  }

  /** The bundle's own timer has fired. */
  clearAlarm(): void {
    this.#alarm = null
  }

  setTenant(index: number, tenant: Tenant): void {
    // Copied once per step.
    if (this.#tenants === this.#before.tenants) this.#tenants = this.#tenants.slice()
    ;(this.#tenants as Tenant[])[index] = tenant
  }

  emit(event: Output): void {
    this.#effects.push(output(event))
  }

  queueMessage(to: NodeId, part: Part): void {
    const parts = this.#outbox.get(to)
    if (parts === undefined) this.#outbox.set(to, [part])
    else parts.push(part)
  }

  /** Gives a group an input. */
  giveInput(index: number, input: Input): void {
    const tenant = this.#tenants[index] as Tenant
    this.carryOut(index, this.#groupOf(tenant).protocol.step(tenant.state, input, this.now))
  }

  /** Collects the effects of a group's step. */
  carryOut(index: number, { state, effects }: Step<Plain>): void {
    const tenant = this.#tenants[index] as Tenant
    const { name } = tenant
    let { timers, draws, term } = tenant
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          this.store(name, effect.stable)
          break
        case 'send':
          this.queueMessage(effect.to, {
            group: name,
            config: this.#groupOf(tenant).config,
            body: effect.body,
          })
          break
        case 'setTimer':
          timers = withTimer(timers, effect.name, this.#instantIn(name, effect.at, draws))
          if (typeof effect.at !== 'number') draws += 1
          break
        case 'stopTimer':
          timers = withoutTimer(timers, effect.name)
          break
        case 'output':
          term = nextTerm(term, effect.event)
          this.emit({ ...effect.event, group: name })
          break
        case 'register':
          assert(false, 'a group in a bundle has no shared registers')
          break
        default:
          effect satisfies never
      }
    }
    if (state === tenant.state && timers === tenant.timers && term === tenant.term) return
    this.setTenant(
      index,
      changeTenant(tenant, {
        state,
        timers,
        term,
        draws,
        due: this.#dueOf(tenant, timers, tenant.heldUntil),
      }),
    )
  }

  /** Removes a timer that fires now. */
  expireTimer(index: number, { name }: Timer): void {
    const tenant = this.#tenants[index] as Tenant
    const timers = withoutTimer(tenant.timers, name)
    this.setTenant(
      index,
      changeTenant(tenant, { timers, due: this.#dueOf(tenant, timers, tenant.heldUntil) }),
    )
  }

  /** Excludes a group until then: its messages are lost, its timers wait. */
  hold(index: number, heldUntil: Micros | null): void {
    const tenant = this.#tenants[index] as Tenant
    this.setTenant(
      index,
      changeTenant(tenant, { heldUntil, due: this.#dueOf(tenant, tenant.timers, heldUntil) }),
    )
  }

  /**
   * The combined step. Stable data comes first, in one write: each group's messages still follow its own data. Messages
   * to the same process are batched.
   */
  finish(room: Room): Step<BundleState, Message, PlainObject> {
    const { origin } = this.#before
    const next = this.#nextAlarm()
    const effects: Effect<Message, PlainObject>[] = []
    if (this.#changes !== null) effects.push(persist(this.#changes))
    effects.push(...(this.#effects as Effect<Message, PlainObject>[]))
    for (const [to, parts] of this.#outbox) {
      for (const load of batches(parts, room)) effects.push(send(to, { kind: 'bundle', parts: load }))
    }
    if (next !== this.#alarm) effects.push(next === null ? stopTimer(TICK) : setTimer(TICK, next))
    const state = { origin, tenants: this.#tenants, kept: this.#changes ?? this.#before.kept, alarm: next }
    return { state: this.#isSame(next) ? this.#before : state, effects }
  }

  /** Sets the stable data of a group. */
  store(name: string, stable: Plain): void {
    this.#changes ??= { ...this.#before.kept }
    this.#changes[name] = stable
  }

  #isSame(alarm: Micros | null): boolean {
    const { tenants, alarm: was } = this.#before
    return this.#tenants === tenants && this.#changes === null && alarm === was
  }

  /** A bundle is the world of its groups, so it chooses within a timer's range: by a hash, different for every process. */
  #instantIn(name: string, at: Micros | readonly [Micros, Micros], draws: number): Micros {
    if (typeof at === 'number') return at
    const [earliest, latest] = at
    return earliest + (hashPlain([this.#self, name, draws]) % (latest - earliest + 1))
  }

  /** The deadline of a group's first timer, rounded up to the grid when there are several groups. */
  #dueOf(tenant: Tenant, timers: readonly Timer[], heldUntil: Micros | null): Micros | null {
    const first = timers[0]?.at
    if (first === undefined) return null
    const at = heldUntil === null ? first : Math.max(first, heldUntil)
    const { slack } = this.#groupOf(tenant)
    if (slack <= 1 || this.#tenants.length === 1) return at
    const { origin } = this.#before
    return origin + Math.ceil((at - origin) / slack) * slack
  }

  #nextAlarm(): Micros | null {
    let next: Micros | null = null
    for (const { due } of this.#tenants) if (due !== null && (next === null || due < next)) next = due
    return next
  }
}

/** Packs parts in order, as many as fit into each message. */
function batches(parts: readonly Part[], { most, weigh }: Room): readonly (readonly Part[])[] {
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
