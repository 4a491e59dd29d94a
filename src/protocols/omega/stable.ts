/** Stable data of a real process, checked before it takes part again. */
import type { Plain } from '../../core/index.ts'
import { fields, stable, whole } from './wire.ts'

/** Stable data that cannot be what a process of Omega+ once wrote. It must not start: it may have promised anything. */
export class CorruptStableDataError extends Error {
  override readonly name = 'CorruptStableDataError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_STABLE_DATA'

  constructor(field: string, problem: string) {
    super(
      `the stable data of this process is not that of omega, or corrupt (${field === '' ? 'as a whole' : field}: ${problem}). ` +
        'It does not know what it has promised, so it must not take part: give it the data directory that it had, ' +
        'or stop all nodes of the group and run "conclave recover" on the data directory of each',
    )
  }
}

const kept = fields({ layer: whole(1), upper: stable })

export function checkedStable(data: Plain): Plain {
  const wrong = data === null ? null : kept(data)
  if (wrong === null) return data
  const [field, problem] = wrong.split(': ', 2) as [string, string]
  throw new CorruptStableDataError(field.slice(1), problem)
}
