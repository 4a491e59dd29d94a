/** One group in a bundle: its protocol's state and its timers. */
import type { Micros, Plain, PlainObject, Protocol, TermRecord } from '../../core/index.ts'
import type { Stranger } from '../fail-aware/strangers.ts'

export type Timer = { readonly name: string; readonly at: Micros }

export type Tenant = {
  readonly name: string
  readonly spec: PlainObject
  readonly state: Plain
  /** Sorted by deadline, then by name. */
  readonly timers: readonly Timer[]
  /** When the first timer fires, after coalescing. */
  readonly due: Micros | null
  /** The last term of this node in the group; null before the first. */
  readonly term: TermRecord | null
  /** The number of instants that were chosen from ranges so far. */
  readonly draws: number
  readonly strangers: readonly Stranger[]
  /** The group is excluded until then. */
  readonly heldUntil: Micros | null
}

/** A tenant with changes. Every tenant has the same shape, which keeps property access fast. */
export function changeTenant(tenant: Tenant, change: Partial<Tenant>): Tenant {
  return {
    name: tenant.name,
    spec: change.spec ?? tenant.spec,
    state: change.state === undefined ? tenant.state : change.state,
    timers: change.timers ?? tenant.timers,
    due: change.due === undefined ? tenant.due : change.due,
    term: change.term === undefined ? tenant.term : change.term,
    draws: change.draws ?? tenant.draws,
    strangers: change.strangers ?? tenant.strangers,
    heldUntil: change.heldUntil === undefined ? tenant.heldUntil : change.heldUntil,
  }
}

export function withTimer(timers: readonly Timer[], name: string, at: Micros): readonly Timer[] {
  const next = timers.filter((timer) => timer.name !== name)
  let place = next.length
  while (place > 0 && isBefore(name, at, next[place - 1] as Timer)) place -= 1
  next.splice(place, 0, { name, at })
  return next
}

function isBefore(name: string, at: Micros, other: Timer): boolean {
  return at < other.at || (at === other.at && name < other.name)
}

/** The same list if there is no such timer. */
export function withoutTimer(timers: readonly Timer[], name: string): readonly Timer[] {
  return timers.some((timer) => timer.name === name) ? timers.filter((timer) => timer.name !== name) : timers
}

/** The index of a group, found by binary search; -1 if it is not joined. */
export function findTenant(tenants: readonly Tenant[], name: string): number {
  let [low, high] = [0, tenants.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = (tenants[middle] as Tenant).name
    if (found === name) return middle
    if (found < name) low = middle + 1
    else high = middle - 1
  }
  return -1
}

export function shiftTenant(tenant: Tenant, { shift }: Protocol, by: Micros): Tenant {
  return changeTenant(tenant, {
    state: shift(tenant.state, by),
    timers: tenant.timers.map(({ name, at }) => ({ name, at: at + by })),
    due: tenant.due === null ? null : tenant.due + by,
    strangers: tenant.strangers.map((stranger) => ({ ...stranger, notifiedAt: stranger.notifiedAt + by })),
    heldUntil: tenant.heldUntil === null ? null : tenant.heldUntil + by,
  })
}
