/**
 * Recovers stable data that is undamaged but unusable: numbers out of range, or voters that can never elect a leader.
 * Such data can come from an older version, or from a faulty node that an older version believed.
 *
 * The node keeps its id, because it forgets nothing that binds it. It promises every epoch up to a number larger than
 * any epoch under which a node led. After its start it is silent until every lock that it may have given has expired.
 * So it never supports two leaders, and no token is used twice.
 */
import { type NodeId, type Plain, sortIds } from '../../core/index.ts'
import { configFault, epochFault, MOST_NUMBER, numberFault } from './bounds.ts'
import type { Epoch } from './messages.ts'
import { type LocalLeaderStable, stableFault } from './stable.ts'
import type { Configuration } from './voters.ts'

export type Remedy = {
  readonly self: NodeId
  /** Milliseconds of the wall clock: larger than any epoch of a correct group. */
  readonly moment: number
  /** The largest token that any node has seen; 0 when none is larger than `moment`. */
  readonly above: number
  /** The voters from now on; null: as stored. Recover all nodes with the same voters, while none of them runs. */
  readonly voters: readonly NodeId[] | null
}

export type Recovered = {
  readonly stable: Plain
  /** What was wrong, and what replaced it. */
  readonly changes: readonly string[]
}

/** Used when the lock time is lost: no lock is longer, fixed or chosen (lease-options.ts). */
const LONG_LOCK = 60_000_000

/**
 * Null when the data is usable as it is, and promises every epoch up to `above`. Throws a RangeError that names the
 * missing argument.
 */
export function recoverLocalLeader(data: Plain, remedy: Remedy): Recovered | null {
  const { self, moment, above, voters } = remedy
  const wrong = stableFault(data)
  const isAbove = wrong === null && (data as LocalLeaderStable).promised.number >= above
  if (isAbove && voters === null) return null
  const kept = (isTable(data) ? data : {}) as { readonly [field in keyof LocalLeaderStable]?: Plain }
  const hasPromised =
    isTable(kept.promised ?? null) && epochFault('', kept.promised as unknown as Epoch) === null
  const promised = hasPromised ? (kept.promised as unknown as Epoch) : null
  const config = soundConfig(kept.config ?? null)
  const floor = Math.max(moment, above, promised?.number ?? 0, config?.id[0] ?? 0)
  if (floor >= MOST_NUMBER) throw new RangeError(`above: must be below ${MOST_NUMBER}`)
  if (voters === null && config === null) {
    throw new RangeError('voters: the stored voters are unusable; name all voters of the group')
  }
  const incarnation = numberFault('', kept.incarnation, 1) === null ? (kept.incarnation as number) : moment
  const lockTime = numberFault('', kept.lockTime, 1) === null ? (kept.lockTime as number) : LONG_LOCK
  const stable: LocalLeaderStable = {
    incarnation,
    lockTime,
    promised: { number: floor, owner: self },
    config:
      voters === null ? (config as Configuration) : { id: [floor, 0], sets: [sortIds(new Set(voters))] },
  }
  const changes = [
    ...(wrong === null ? [] : [`${wrong[0] === '' ? 'the data' : wrong[0]} ${wrong[1]}`]),
    `every epoch up to ${floor} is promised`,
    ...(voters === null ? [] : [`the voters are ${sortIds(new Set(voters)).join(', ')}`]),
  ]
  return { stable, changes }
}

function soundConfig(value: Plain): Configuration | null {
  if (!isTable(value)) return null
  const { id, sets } = value as { readonly id?: Plain; readonly sets?: Plain }
  const isShaped = Array.isArray(id) && Array.isArray(sets) && sets.every((voters) => Array.isArray(voters))
  const config = value as unknown as Configuration
  return isShaped && configFault('', config) === null ? config : null
}

function isTable(value: Plain): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
