import { describe, expect, it } from 'vitest'
import { checkedOptions } from '../../workbench/sim/index.ts'
import type { Plan, PlanAsked } from '../planning.ts'
import { localLeaderDefinition } from './index.ts'
import { atWorstLevel, plannedLevels } from './plan-levels.ts'

function planOf(options: object, more: Partial<PlanAsked> = {}): Plan {
  const nodes = [1, 2, 3]
  const asked = { nodes, options: {}, chosen: {}, seeds: 1, ...more }
  return { asked, options: checkedOptions(localLeaderDefinition, nodes, { timing: 'adaptive', ...options }) }
}

const namesOf = (plan: Plan, present: number | null = null) =>
  plannedLevels(plan, present)?.map(({ names, level }) => [...names, level])

describe('the levels that get a card', () => {
  it('are none with fixed timing', () => {
    const plan = planOf({ timing: 'fixed' })
    expect(plannedLevels(plan, 9)).toBeNull()
    expect(atWorstLevel(plan)).toEqual({ ...plan, level: null })
  })

  it('are the lowest and the highest between the bounds, and the present one between them', () => {
    const plan = planOf({ leaseMinMs: 60, leaseMaxMs: 500 })
    expect(namesOf(plan)).toEqual([
      ['best', 9],
      ['worst', 18],
    ])
    expect(namesOf(plan, 12)).toEqual([
      ['best', 9],
      ['present', 12],
      ['worst', 18],
    ])
    expect(namesOf(plan, 18)).toEqual([
      ['best', 9],
      ['present', 'worst', 18],
    ])
  })

  it('are in order of length, even if a group has other bounds', () => {
    const plan = planOf({ leaseMinMs: 60, leaseMaxMs: 500 })
    expect(namesOf(plan, 4)?.[0]).toEqual(['present', 4])
    expect(namesOf(plan, 999)?.at(-1)).toEqual(['present', 40])
  })

  it('leave one level to the simulation, whose lease is a little shorter than its lock', () => {
    const [best] = plannedLevels(planOf({ leaseMinMs: 60 }), null) ?? []
    const { leaseMinMs, leaseMaxMs } = best?.plan.options ?? {}
    expect([leaseMinMs, leaseMaxMs]).toEqual([61.037, 61.037])
    expect(best?.lease).toBe(61_024)
    expect(best === undefined ? null : atWorstLevel(best.plan)).toMatchObject({ level: best?.level })
  })

  it('begin where the given delays are timely', () => {
    const slow = (delayMs: number) => namesOf(planOf({}, { network: { delayMs: [0.1, delayMs] } }))
    expect(slow(1)?.[0]).toEqual(['best', 9])
    expect(slow(14)?.[0]?.[1]).toBeGreaterThan(14)
    // Slower than the highest level allows: the card says so.
    expect(slow(5000)).toEqual([['best', 'worst', 28]])
  })
})
