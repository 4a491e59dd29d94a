/** Helpers for views, members and majorities. */
import { compareIds, type NodeId } from '../../core/index.ts'
import type { Members, OmegaView, ViewId } from './state.ts'

export function compareViewIds(a: ViewId, b: ViewId): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] === b[1]) return 0
  if (a[1] === null) return -1
  return b[1] === null ? 1 : compareIds(a[1], b[1])
}

export function isNewer(a: ViewId, b: ViewId): boolean {
  return compareViewIds(a, b) > 0
}

export function sameViewId(a: ViewId, b: ViewId): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

/** The life of this node in a view, or 0 if it is not a member. */
export function lifeIn(members: Members, id: NodeId): number {
  for (const [member, life] of members) if (member === id) return life
  return 0
}

export function sameMembers(a: Members, b: Members): boolean {
  return (
    a === b ||
    (a.length === b.length &&
      a.every(
        ([id, life], place) =>
          id === (b[place] as Members[number])[0] && life === (b[place] as Members[number])[1],
      ))
  )
}

export function membersOf(pairs: readonly (readonly [NodeId, number])[]): Members {
  return [...pairs].sort(([a], [b]) => compareIds(a, b))
}

export function idsOf(members: Members): readonly NodeId[] {
  return members.map(([id]) => id)
}

/** Keeps attempts sorted by id, without duplicates. */
export function withAttempt(attempts: readonly OmegaView[], view: OmegaView): readonly OmegaView[] {
  if (hasAttempt(attempts, view.id)) return attempts
  return [...attempts, view].sort((a, b) => compareViewIds(a.id, b.id))
}

export function withoutAttempt(attempts: readonly OmegaView[], gone: ViewId): readonly OmegaView[] {
  const left = attempts.filter(({ id }) => !sameViewId(id, gone))
  return left.length === attempts.length ? attempts : left
}

export function newest(a: OmegaView, b: OmegaView): OmegaView {
  return isNewer(b.id, a.id) ? b : a
}

export function hasAttempt(attempts: readonly OmegaView[], id: ViewId): boolean {
  return attempts.some((attempt) => sameViewId(attempt.id, id))
}

/** More than half of `whole`; with `tie`, also exactly half of it if that includes the least node. */
export function isMajority(of: readonly NodeId[], whole: readonly NodeId[], tie: boolean): boolean {
  const count = whole.filter((id) => of.includes(id)).length
  if (2 * count > whole.length) return true
  if (!tie || 2 * count !== whole.length || count === 0) return false
  return of.includes(whole.reduce((least, id) => (compareIds(id, least) < 0 ? id : least)))
}

/** The members that left and the members that joined. A member with a new life is in both lists. */
export function diffMembers(
  old: Members,
  next: Members,
): { readonly left: Members; readonly joined: Members } {
  return {
    left: old.filter(([id, life]) => lifeIn(next, id) !== life),
    joined: next.filter(([id, life]) => lifeIn(old, id) !== life),
  }
}
