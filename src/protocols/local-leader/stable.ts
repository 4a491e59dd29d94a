/** What must survive a crash, and what to do when it has not. */
import type { NodeId } from '../../core/index.ts'
import { configFault, epochFault, type Fault, numberFault } from './bounds.ts'
import type { Epoch } from './messages.ts'
import { type Configuration, initialConfiguration } from './voters.ts'

export type LocalLeaderStable = {
  readonly incarnation: number
  /** The longest lock that it may ever have given. */
  readonly lockTime: number
  readonly promised: Epoch
  readonly config: Configuration
}

/** Stable data that this node cannot have written. It must not start, because it may have promised anything. */
export class CorruptStableDataError extends Error {
  override readonly name = 'CorruptStableDataError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_STABLE_DATA'

  constructor(field: string, problem: string) {
    super(
      `the stable data of this node is corrupt (${field === '' ? 'as a whole' : field}: ${problem}), so it does not ` +
        'know what it has promised: run "conclave recover" on its data directory, which makes it promise everything so far',
    )
  }
}

const FIELDS = ['incarnation', 'lockTime', 'promised', 'config'] as const

/** Checked by the bounds of the wire: what was accepted there is accepted here. */
export function stableFault(data: unknown): Fault {
  if (!isObject(data)) return ['', 'must be an object']
  const { incarnation, lockTime, promised, config } = data
  const wrong = numberFault('incarnation', incarnation, 1) ?? numberFault('lockTime', lockTime, 1)
  if (wrong !== null) return wrong
  const unknown = Object.keys(data).find((field) => !(FIELDS as readonly string[]).includes(field))
  if (unknown !== undefined) return [unknown, 'is unknown']
  if (!isObject(promised)) return ['promised', 'must be an object']
  if (!isObject(config) || !Array.isArray(config['id']) || !Array.isArray(config['sets'])) {
    return ['config', 'must have an id and sets of voters']
  }
  if (!config['sets'].every((voters) => Array.isArray(voters))) return ['config.sets', 'must be lists of ids']
  return epochFault('promised', promised as Epoch) ?? configFault('config', config as Configuration)
}

function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

export function checkedStable(data: unknown): LocalLeaderStable {
  const wrong = stableFault(data)
  if (wrong === null) return data as LocalLeaderStable
  throw new CorruptStableDataError(...wrong)
}

/**
 * The stable data of a node without storage: as if it had just restarted, and had promised everything up to now. It is
 * silent until every lock that it may have given has expired, and supports larger epochs only. `moment` must
 * be larger than at every start before, here and elsewhere: milliseconds of the wall clock. `longestLock`: the longest
 * lock that it may have given, where that does not follow from its constants.
 */
export function forgetfulStable(
  self: NodeId,
  voters: readonly NodeId[],
  moment: number,
  longestLock = 1,
): LocalLeaderStable {
  return {
    incarnation: moment,
    lockTime: longestLock,
    promised: { number: moment, owner: self },
    config: initialConfiguration(voters),
  }
}
