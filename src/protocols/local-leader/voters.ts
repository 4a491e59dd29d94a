/**
 * The voters, and how they change while the service runs.
 *
 * A configuration is a set of voters, or two at once while one replaces the other. A leader needs a majority of
 * every set. A leader changes its voters in three renewals, each of which must succeed before the next: it writes the
 * present configuration again under its own epoch, so that no node that missed an earlier change can be elected; then old
 * and new set together; then the new one alone. A configuration is only ever written by a renewal, so the leader holds
 * leases in the very quorums by which it is judged. A change that a leader did not live to complete is superseded: where
 * few know of it, the next leader writes its own configuration again under its epoch. Other nodes may copy it: a voter
 * that never heard of its own admission learns it from a candidate, and a candidate that missed the end of a change
 * learns it from the node that lost its vote.
 */
import { equalPlain, type NodeId, sortIds } from '../../core/index.ts'

export type Configuration = {
  /** The epoch of the leader that wrote it, and its number among those. */
  readonly id: readonly [epoch: number, counter: number]
  readonly sets: readonly (readonly NodeId[])[]
}

export function initialConfiguration(voters: readonly NodeId[]): Configuration {
  return { id: [0, 0], sets: [sortIds(voters)] }
}

export function isNewer(a: Configuration, b: Configuration): boolean {
  return a.id[0] > b.id[0] || (a.id[0] === b.id[0] && a.id[1] > b.id[1])
}

/** The same id must mean the same voters: if not, two nodes are configured differently. */
export function contradicts(a: Configuration, b: Configuration): boolean {
  return a.id[0] === b.id[0] && a.id[1] === b.id[1] && !equalPlain(a.sets, b.sets)
}

export function isVoter({ sets }: Configuration, node: NodeId): boolean {
  for (const voters of sets) if (voters.includes(node)) return true
  return false
}

export function votersOf({ sets }: Configuration): readonly NodeId[] {
  return sets.length === 1 ? (sets[0] as readonly NodeId[]) : sortIds(new Set(sets.flat()))
}

export function holdsMajorities({ sets }: Configuration, supporters: readonly NodeId[]): boolean {
  for (const voters of sets) {
    let count = 0
    for (const voter of voters) if (supporters.includes(voter)) count += 1
    if (count * 2 <= voters.length) return false
  }
  return true
}

/**
 * The configuration to write next on the way to `wanted`; the present one when it is reached. `isContested`: some voter
 * has a newer one, which never came into force, or its voters would not have elected this leader. The same voters
 * under the leader's own epoch are newer still.
 */
export function nextConfiguration(
  present: Configuration,
  wanted: readonly NodeId[] | null,
  epoch: number,
  isContested = false,
): Configuration {
  const [current, next] = present.sets
  const counter = present.id[0] === epoch ? present.id[1] + 1 : 1
  const id = [epoch, counter] as const
  const isMine = present.id[0] === epoch
  if (current === undefined) return present
  if (next !== undefined) return isMine ? { id, sets: [next] } : { id, sets: present.sets }
  if (wanted === null || equalPlain(current, wanted)) {
    return isContested && !isMine ? { id, sets: [current] } : present
  }
  return isMine ? { id, sets: [current, wanted] } : { id, sets: [current] }
}
