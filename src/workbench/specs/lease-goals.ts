/** What a thorough run of a protocol with leases must have seen. */
import { type NodeId, withId, withoutId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { isOn, type Lease, leadsNow, leaseOf, leases, memberTest } from './memory/leases.ts'
import type { Fold, Goal } from './spec.ts'

/** For goals that a single observation shows. */
const nothing: Fold<null> = { begin: () => null, next: (memory) => memory }

export const renewed: Goal<readonly Lease[]> = {
  name: 'renewed',
  title: 'a leader extends its lease before it ends',
  fold: leases,
  reached(memory, seen) {
    if (seen.type !== 'view' || !leadsNow(seen) || seen.until === null) return false
    const was = leaseOf(memory, seen.node)
    if (was === null || was.until === null || was.token !== seen.view.token) return false
    return was.until > seen.at && seen.until > was.until
  },
}

export const lost: Goal<readonly Lease[]> = {
  name: 'lost',
  title: 'a leader loses its lease, by a crash or because the lease ran out',
  fold: leases,
  reached(memory, seen) {
    if (seen.type !== 'view' && seen.type !== 'down') return false
    const was = leaseOf(memory, seen.node)
    return was !== null && (seen.type === 'down' || !isOn(was, seen.at))
  },
}

export const handedOver: Goal<null> = {
  name: 'handed-over',
  title: 'a leader steps down and its successor takes over at once',
  fold: nothing,
  reached: (_memory, seen) =>
    seen.type === 'output' && seen.event.type === 'elected' && seen.event['cause'] === 'handed over',
}

export const reconfigured: Goal<null> = {
  name: 'reconfigured',
  title: 'a change of voters is committed',
  fold: nothing,
  reached: (_memory, seen) => seen.type === 'output' && seen.event.type === 'config',
}

export const split: Goal<readonly Lease[]> = {
  name: 'split',
  title: 'two processes lead at once, each its own partition',
  fold: leases,
  reached: (memory, seen) =>
    seen.type === 'view' && leaseOf(memory, seen.node) === null && isSplit(memory, seen),
}

type Union = {
  readonly leases: readonly Lease[]
  readonly up: readonly NodeId[]
  /** Two nodes have led at once, and no node has led all nodes since. */
  readonly isSplit: boolean
}

export const merged: Goal<Union> = {
  name: 'merged',
  title: 'after two have led at once, one leads all that are alive',
  fold: {
    begin: (run) => ({ leases: leases.begin(run), up: [], isSplit: false }),
    next(memory, seen) {
      const after = leases.next(memory.leases, seen)
      const up =
        seen.type === 'up'
          ? withId(memory.up, seen.node)
          : seen.type === 'down'
            ? withoutId(memory.up, seen.node)
            : memory.up
      if (after === memory.leases && up === memory.up) return memory
      const wasSplit = memory.isSplit && !leadsAll(memory, seen)
      return { leases: after, up, isSplit: wasSplit || isSplit(after, seen) }
    },
  },
  reached: (memory, seen) => memory.isSplit && leadsAll(memory, seen),
}

function isSplit(memory: readonly Lease[], seen: Observation): boolean {
  if (seen.type !== 'view' || !leadsNow(seen)) return false
  return memory.some((lease) => lease.node !== seen.node && isOn(lease, seen.at))
}

function leadsAll({ leases: before, up }: Union, seen: Observation): boolean {
  if (seen.type !== 'view' || !leadsNow(seen) || seen.view.members === null) return false
  return !isSplit(before, seen) && up.every(memberTest(seen.view.members))
}
