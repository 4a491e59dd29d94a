/** Profiles for common networks: the period and the access time (T and r of the paper). */
import type { PlainObject } from '../../core/index.ts'
import type { Problem } from '../hosting.ts'

const PROFILES = {
  lan: { periodMs: 500, accessMs: 25 },
  region: { periodMs: 1000, accessMs: 50 },
  wan: { periodMs: 3000, accessMs: 150 },
} as const

/** The options of a profile. Given options override it. */
export function profileOptions(
  profile: keyof typeof PROFILES,
  given: { readonly [name: string]: unknown },
): PlainObject {
  return { ...PROFILES[profile], ...given }
}

/** What is wrong with options of a real node: some are for searches only. */
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
