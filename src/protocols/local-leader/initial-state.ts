/** The state of a node that starts, given what it stored before. */
import type { Identity, Micros } from '../../core/index.ts'
import { lockAt } from './levels.ts'
import { initialPace } from './pace.ts'
import { CLEAN_RECORD } from './record.ts'
import type { LocalLeaderSettings } from './settings.ts'
import type { LocalLeaderStable } from './stable.ts'
import type { LocalLeaderState } from './state.ts'
import { initialConfiguration } from './voters.ts'

export function initialState(
  { nodes }: Identity,
  { rules, timing, adaptive, priority, voters }: LocalLeaderSettings,
  stable: LocalLeaderStable | null,
  now: Micros,
): LocalLeaderState {
  const stored = stable?.lockTime ?? 0
  const longestLock = Math.max(stored, adaptive === null ? timing.lockTime : lockAt(adaptive.bounds.least))
  const outlasted = adaptive === null ? longestLock : rules.lockToOutlast(longestLock, lockAt(adaptive.start))
  const promised = rules.recallPromise(stable)
  return {
    incarnation: (stable?.incarnation ?? 0) + 1,
    longestLock,
    pace: adaptive === null ? null : initialPace(adaptive.bounds, adaptive.start, nodes.length, now),
    silentUntil: rules.mustStaySilent(stable) ? now + Math.ceil(outlasted * (1 + 2 * timing.rho)) : null,
    known: { peers: nodes.map(() => null), seen: promised, following: null, holdUntil: null },
    eligibility: {
      willing: true,
      priority,
      lowUntil: null,
      candidate: false,
      record: CLEAN_RECORD,
      deferringSince: null,
      lastRequestAt: null,
      announced: null,
    },
    vote: {
      lock: null,
      released: nodes.map(() => null),
      certificate: null,
      promised,
      revocable: null,
      config: stable?.config ?? initialConfiguration(voters),
    },
    requests: 0,
    candidacy: null,
    term: null,
    largestLedEpoch: promised.number,
    wanted: null,
    isContested: false,
    gathering: null,
    mismatches: [],
    reportedConfig: null,
    epochGrowth: null,
  }
}
