/**
 * The levels of adaptive timing that get a guarantee card: the best, the present one of a running group, and the worst.
 * A card describes one level. So its simulations use bounds that leave only this level, in a world that is as slow as
 * the level allows.
 */
import { msOf } from '../../core/index.ts'
import type { Plan, PlannedLevel } from '../planning.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { HIGHEST_LEVEL, lockAt } from './levels.ts'
import { type LocalLeaderOptions, votersIn } from './options.ts'
import type { AdaptiveTiming } from './settings.ts'
import { planFor, spanMicros } from './trials.ts'

function adaptiveIn({ asked, options }: Plan): AdaptiveTiming | null {
  const chosen = options as unknown as LocalLeaderOptions
  return adaptiveTimingOf(chosen, votersIn(chosen, asked.nodes).length)
}

/** The configuration with one level. */
function atLevel({ asked, options }: Plan, level: number): Plan {
  const leaseMs = msOf(lockAt(level))
  return { asked, options: { ...options, leaseMinMs: leaseMs, leaseMaxMs: leaseMs } }
}

/** The configuration with its highest level only, and this level; null if the timing is fixed. */
export function atWorstLevel(plan: Plan): Plan & { readonly level: number | null } {
  const adaptive = adaptiveIn(plan)
  if (adaptive === null) return { ...plan, level: null }
  return { ...atLevel(plan, adaptive.bounds.most), level: adaptive.bounds.most }
}

export function plannedLevels(plan: Plan, present: number | null): readonly PlannedLevel[] | null {
  const adaptive = adaptiveIn(plan)
  if (adaptive === null) return null
  const named = [
    ['best', bestLevel(plan, adaptive)],
    ...(present === null ? [] : [['present', Math.min(Math.max(present, 0), HIGHEST_LEVEL)] as const]),
    ['worst', adaptive.bounds.most],
  ] as const
  const levels = [...new Set(named.map(([, level]) => level))].toSorted((a, b) => a - b)
  return levels.map((level) => ({
    names: named.flatMap(([name, each]) => (each === level ? [name] : [])),
    level,
    lease: adaptive.timingAt(level).lease,
    plan: atLevel(plan, level),
  }))
}

/** With the given delays, messages must be fast: a level with shorter leases would not last. */
function bestLevel(plan: Plan, { bounds: { least, most }, timingAt }: AdaptiveTiming): number {
  const { delayMs } = planFor(plan.asked, plan.options as unknown as LocalLeaderOptions)
  if (delayMs === null) return least
  const [, longest] = spanMicros(delayMs)
  let level = least
  while (level < most && timingAt(level).delay < longest) level += 1
  return level
}
