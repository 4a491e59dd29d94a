/** Memory of how calm a group is: renewals of one leader that all running voters supported since the last change. */
import type { Micros, NodeId } from '../../../core/index.ts'
import type { Observation, Reach } from '../../trace/index.ts'
import { configOf } from './electorate.ts'

export type Calm = { readonly leader: NodeId; readonly until: Micros; readonly rounds: number }

/**
 * After the view of a leader. A renewal moves the end of the lease; other changes of the view are not counted. Null: a
 * running voter did not support the renewal.
 */
export function calmAfterRound(
  calm: Calm | null,
  reach: Reach | null,
  seen: Observation & { readonly type: 'view' },
): Calm | null {
  const { node, view, until } = seen
  if (until === null || reach === null) return calm
  const was = calm !== null && calm.leader === node ? calm : null
  if (was !== null && until <= was.until) return calm
  const voters = (configOf(seen)?.sets ?? []).flat()
  const isSupported = reach.running.every((each) => !voters.includes(each) || view.members?.includes(each))
  return isSupported ? { leader: node, until, rounds: (was?.rounds ?? 0) + 1 } : null
}

/** Whether this leader has renewed so often, and all nodes that run are linked, with every message timely. */
export function isCalm(calm: Calm | null, reach: Reach | null, leader: NodeId, rounds: number): boolean {
  if (reach === null || reach.byChance || reach.timely !== 'full') return false
  return calm !== null && calm.leader === leader && calm.rounds >= rounds
}
