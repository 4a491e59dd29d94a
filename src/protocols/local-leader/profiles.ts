/** Networks that people have, and the constants for each. */
import type { ProfileName } from '../hosting.ts'

type Profile = {
  readonly deltaMs: number
  readonly deltaMinMs: number
  readonly fastMs: number
  readonly sigmaMs: number
  readonly renewalIntervalMs: number
  /** With adaptive timing: the shortest and the longest lease. */
  readonly leaseMinMs: number
  readonly leaseMaxMs: number
}

/** Networks that people have. σ = 10 ms is for a process of its own; a busy one needs more. */
export const PROFILES: { readonly [name in ProfileName]: Profile } = {
  fast: {
    deltaMs: 1.8,
    deltaMinMs: 0.02,
    fastMs: 3.75,
    sigmaMs: 1.5,
    renewalIntervalMs: 12,
    leaseMinMs: 20,
    leaseMaxMs: 2000,
  },
  lan: {
    deltaMs: 5,
    deltaMinMs: 0.02,
    fastMs: 10.1,
    sigmaMs: 10,
    renewalIntervalMs: 40,
    leaseMinMs: 60,
    leaseMaxMs: 5000,
  },
  region: {
    deltaMs: 15,
    deltaMinMs: 0.2,
    fastMs: 30,
    sigmaMs: 20,
    renewalIntervalMs: 100,
    leaseMinMs: 150,
    leaseMaxMs: 10_000,
  },
  wan: {
    deltaMs: 150,
    deltaMinMs: 10,
    fastMs: 291,
    sigmaMs: 25,
    renewalIntervalMs: 300,
    leaseMinMs: 800,
    leaseMaxMs: 30_000,
  },
}
