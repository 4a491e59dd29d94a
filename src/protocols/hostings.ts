/** The hostings of all protocols that real processes can run, by name: of this package, and of added protocols. */
import { epochsHosting } from './epochs/hosting.ts'
import type { Hosting } from './hosting.ts'
import { localLeaderHosting } from './local-leader/hosting.ts'
import { omegaHosting } from './omega/hosting.ts'
import { recoveryHosting } from './recovery/hosting.ts'

const hostings = new Map<string, Hosting>(
  [localLeaderHosting, omegaHosting, epochsHosting, recoveryHosting].map((hosting) => [
    hosting.name,
    hosting,
  ]),
)

/** The protocol that real processes run by default. */
export const DEFAULT_PROTOCOL = localLeaderHosting.name

/** Null if real processes cannot run the protocol. */
export function hostingOf(name: string): Hosting | null {
  return hostings.get(name) ?? null
}

/** The names of all hosted protocols, the default first. */
export function hostedNames(needs?: Hosting['needs']): readonly string[] {
  return [...hostings.values()].flatMap((each) =>
    needs === undefined || each.needs === needs ? [each.name] : [],
  )
}

/** Makes a protocol runnable in this thread. `addProtocol` refuses the names of this package's protocols. */
export function addHosting(hosting: Hosting): void {
  hostings.set(hosting.name, hosting)
}
