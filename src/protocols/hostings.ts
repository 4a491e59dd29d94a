/** The hosting of every protocol that real processes run, by name: those of this package, and those that were added. */
import { epochsHosting } from './epochs/hosting.ts'
import type { Hosting } from './hosting.ts'
import { localLeaderHosting } from './local-leader/hosting.ts'
import { omegaHosting } from './omega/hosting.ts'

/** The first is the default. */
const hostings = new Map<string, Hosting>(
  [localLeaderHosting, omegaHosting, epochsHosting].map((hosting) => [hosting.name, hosting]),
)

/** What real processes run unless they are told otherwise. */
export const DEFAULT_PROTOCOL = localLeaderHosting.name

/** Null where real processes do not run that protocol. */
export function hostingOf(name: string): Hosting | null {
  return hostings.get(name) ?? null
}

/** The names of all hosted protocols, the default first. */
export function hostedNames(needs?: Hosting['needs']): readonly string[] {
  return [...hostings.values()].flatMap((each) =>
    needs === undefined || each.needs === needs ? [each.name] : [],
  )
}

/** Makes a protocol runnable in this thread, for good. The names of this package's protocols cannot be taken. */
export function addHosting(hosting: Hosting): void {
  hostings.set(hosting.name, hosting)
}
