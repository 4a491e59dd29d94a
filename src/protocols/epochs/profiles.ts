/** How long a period and an access may be (T and r of the paper) on the networks that people have. */
import type { PlainObject } from '../../core/index.ts'
import type { Problem } from '../hosting.ts'

const PROFILES = {
  lan: { periodMs: 500, accessMs: 25 },
  region: { periodMs: 1000, accessMs: 50 },
  wan: { periodMs: 3000, accessMs: 150 },
} as const

/** Single options override the profile. */
export function profileOptions(
  profile: keyof typeof PROFILES,
  given: { readonly [name: string]: unknown },
): PlainObject {
  return { ...PROFILES[profile], ...given }
}

/** Options that only searches understand. */
export function problemsInHosted({ clock, epochs = null, ballots = null }: PlainObject): readonly Problem[] {
  return [
    ...(clock === 'own'
      ? []
      : [
          {
            field: 'options.clock',
            message: 'is for searches only; remove it, because real nodes have clocks',
          },
        ]),
    ...(epochs === null && ballots === null
      ? []
      : [{ field: 'options.epochs', message: 'and ballots limit searches only; remove them' }]),
  ]
}
