/** Validation of the stable data of a real process, before the process takes part again. */
import type { Plain } from '../../core/index.ts'
import { fields, whole } from '../message-checks.ts'
import { stable } from './wire.ts'

/** The stable data cannot have been written by Omega+. The node must not start: it does not know what it has promised. */
export class CorruptStableDataError extends Error {
  override readonly name = 'CorruptStableDataError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_STABLE_DATA'

  constructor(field: string, problem: string) {
    super(
      `the stable data of this process is corrupt, or was not written by omega (${field === '' ? 'as a whole' : field}: ${problem}). ` +
        'The node does not know what it has promised, so it must not take part. Use the data directory that it had, ' +
        'or stop all nodes of the group and run "conclave recover" on the data directory of each',
    )
  }
}

const checkData = fields({ layer: whole(1), upper: stable })

export function checkedStable(data: Plain): Plain {
  const wrong = data === null ? null : checkData(data)
  if (wrong === null) return data
  const [field, problem] = wrong.split(': ', 2) as [string, string]
  throw new CorruptStableDataError(field.slice(1), problem)
}
