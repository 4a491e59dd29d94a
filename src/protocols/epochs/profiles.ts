/** How long a period and an access may be (T and r of the paper) on the networks that people have. */
import type { PlainObject } from '../../core/index.ts'
import type { Problem } from '../hosting.ts'

const PROFILES = {
  lan: { periodMs: 500, accessMs: 25 },
  region: { periodMs: 1000, accessMs: 50 },
  wan: { periodMs: 3000, accessMs: 150 },
} as const

/** Single options win over the profile. */
export function profileOptions(
  profile: string,
  given: { readonly [name: string]: unknown },
): { readonly options: PlainObject } | Problem {
  const constants = (PROFILES as { readonly [name: string]: PlainObject })[profile]
  if (constants === undefined) return { field: 'profile', problem: `${profile} is none of lan, region, wan` }
  return { options: { ...constants, ...given } as PlainObject }
}

/** Options that only searches understand. */
export function problemInHosted(options: PlainObject): Problem | null {
  const { clock, epochs = null, ballots = null } = options
  if (clock !== 'own')
    return { field: 'options.clock', problem: 'is for searches: real processes have clocks' }
  if (epochs !== null || ballots !== null)
    return { field: 'options.epochs', problem: 'and ballots bound searches: real processes run on' }
  return null
}
