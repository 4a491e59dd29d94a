/**
 * Memory shared by the specifications of leases: which nodes lead, until when, and with whose support.
 *
 * A lease is over at its end in true time, whether or not its holder, which may be paused, has noticed. A
 * lease without an end is unlimited, as in untimed worlds.
 */
import { compareIds, type Micros, type NodeId, type Role, sortIds } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold } from '../spec.ts'

export type Lease = {
  readonly node: NodeId
  readonly until: Micros | null
  readonly token: number | null
  /** Its support set. */
  readonly members: readonly NodeId[] | null
}

type ViewSeen = Observation & { readonly type: 'view' }

/** Each node's last lease, in id order. Removed once its node was seen not to lead, or crashed. */
export const leases: Fold<readonly Lease[]> = {
  begin: () => [],
  next(memory, seen) {
    switch (seen.type) {
      case 'view':
        return leadsNow(seen) ? recordGrant(memory, seen) : without(memory, seen.node)
      case 'down':
      case 'up':
        return without(memory, seen.node)
      default:
        return memory
    }
  },
}

/** Whether a view is that of a leader whose lease has not ended. */
export function leadsNow({ view, until, at }: ViewSeen): boolean {
  return view.role === 'leader' && (until === null || until > at)
}

export function isOn({ until }: Lease, at: Micros): boolean {
  return until === null || until > at
}

/** The end of this lease, at most `at`. */
export function endOf({ until }: Lease, at: Micros): Micros {
  return until === null || until > at ? at : until
}

export function leaseOf(memory: readonly Lease[], node: NodeId): Lease | null {
  for (const lease of memory) if (lease.node === node) return lease
  return null
}

/** Another node that leads at the instant of this observation. */
export function otherLeader(memory: readonly Lease[], { node, at }: ViewSeen): Lease | null {
  if (memory.length < 2) return null
  return memory.find((lease) => lease.node !== node && isOn(lease, at)) ?? null
}

/** A node that supports the observed leader and, at this instant, another one. */
export function supporterOfTwo(
  memory: readonly Lease[],
  { node, at, view }: ViewSeen,
): { readonly supporter: NodeId; readonly other: NodeId } | null {
  if (memory.length < 2 || view.members === null) return null
  for (const lease of memory) {
    if (lease.node === node || lease.members === null || !isOn(lease, at)) continue
    const supporter = commonMember(view.members, lease.members)
    if (supporter !== null) return { supporter, other: lease.node }
  }
  return null
}

/** The nodes last seen as observers; the same list if nothing changed. */
export function withObserver(
  observers: readonly NodeId[],
  node: NodeId,
  role: Role | null,
): readonly NodeId[] {
  const isKnown = observers.includes(node)
  if ((role === 'observer') === isKnown) return observers
  return isKnown ? observers.filter((other) => other !== node) : sortIds([...observers, node])
}

/** From this size on a set is faster. */
const LARGE = 16

/** A fast membership test. */
export function memberTest(members: readonly NodeId[]): (node: NodeId) => boolean {
  if (members.length < LARGE) return (node) => members.includes(node)
  const set = new Set(members)
  return (node) => set.has(node)
}

/** Whether more than half of a set pass a test. */
export function isMajority(set: readonly NodeId[], test: (node: NodeId) => boolean): boolean {
  let passed = 0
  for (const node of set) if (test(node)) passed += 1
  return passed * 2 > set.length
}

export function commonMember(a: readonly NodeId[], b: readonly NodeId[]): NodeId | null {
  return a.find(memberTest(b)) ?? null
}

export function sameMembers(a: readonly NodeId[] | null, b: readonly NodeId[] | null): boolean {
  if (a === b) return true
  if (a === null || b === null || a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

function recordGrant(memory: readonly Lease[], { node, view, until }: ViewSeen): readonly Lease[] {
  const { token, members } = view
  const place = placeOf(memory, node)
  const was = memory[place]
  if (was === undefined) {
    return [...memory, { node, until, token, members }].sort((a, b) => compareIds(a.node, b.node))
  }
  const isSame = sameMembers(was.members, members)
  if (isSame && was.until === until && was.token === token) return memory
  return memory.with(place, { node, until, token, members: isSame ? was.members : members })
}

function without(memory: readonly Lease[], node: NodeId): readonly Lease[] {
  const place = placeOf(memory, node)
  return place < 0 ? memory : memory.toSpliced(place, 1)
}

function placeOf(memory: readonly Lease[], node: NodeId): number {
  for (let place = 0; place < memory.length; place++) if (memory[place]?.node === node) return place
  return -1
}
