import { describe, expect, it } from 'vitest'
import type { Plain, PlainObject } from '../../core/index.ts'
import { omegaHosting } from './hosting.ts'
import { type OmegaRecovery, recoverOmega } from './recover.ts'
import { checkedStable } from './stable.ts'
import { BRAND_NEW, MOST_LEADERS, MOST_VIEWS } from './state.ts'

const REMEDY: OmegaRecovery = { self: 'a', second: 1_700_000_000, above: 0 }
const sound = { layer: 7, upper: { ...BRAND_NEW, life: 3, promised: [40, 'b'] } } as unknown as Plain
const broken = { layer: 7, upper: { ...BRAND_NEW, life: 3, promised: [-1, 'b'] } } as unknown as Plain
const promisedBy = (recovered: { readonly stable: Plain } | null): Plain => {
  const { upper = null } = (recovered?.stable ?? {}) as { readonly upper?: PlainObject | null }
  return upper?.['promised'] ?? null
}

describe('stable data', () => {
  it('that is usable stays as it is, unless all nodes are recovered together', () => {
    expect(recoverOmega(sound, REMEDY, false)).toBeNull()
    expect(recoverOmega(sound, REMEDY, true)?.changes).toEqual([
      'forgets all views, and promises every view up to number 1700000000',
    ])
  })

  it('that is unusable is replaced by data with which the node may start', () => {
    const recovered = recoverOmega(broken, REMEDY, false)
    expect(recovered?.stable).toEqual({
      layer: 7,
      upper: { ...BRAND_NEW, life: 3, promised: [1_700_000_000, 'a'] },
    })
    expect(checkedStable(recovered?.stable ?? null)).toBe(recovered?.stable)
    expect(recovered?.changes).toHaveLength(2)
  })

  it.each<[string, Plain]>([
    ['is missing', null],
    ['has no life', { layer: 7, upper: { life: 0 } }],
    ['has a life beyond the limit', { layer: 7, upper: { life: 2 ** 52 } }],
    ['has no incarnation', { layer: 0, upper: { life: 'x' } }],
  ])('that %s gets lives from the wall clock', (_what, data) => {
    const recovered = recoverOmega(data, REMEDY, true)?.stable as {
      layer: number
      upper: { life: number }
    }
    expect(recovered.upper.life).toBe(1_700_000_000)
    expect(checkedStable(recovered as unknown as Plain)).toBe(recovered)
  })
})

describe('the promise of a recovered node', () => {
  it('is above its last promise and above every token that was seen', () => {
    const later = { layer: 7, upper: { ...BRAND_NEW, life: 3, promised: [1_800_000_000, 'b'] } }
    expect(promisedBy(recoverOmega(later as unknown as Plain, REMEDY, true))).toEqual([1_800_000_000, 'a'])
    const above = 1_900_000_000 * MOST_LEADERS + 1
    expect(promisedBy(recoverOmega(sound, { ...REMEDY, above }, true))).toEqual([1_900_000_001, 'a'])
  })

  it('is refused if no larger number is left', () => {
    const above = MOST_VIEWS * MOST_LEADERS
    expect(() => recoverOmega(sound, { ...REMEDY, above }, true)).toThrow(`above: must be below ${above}`)
  })
})

describe('the recovery of a group', () => {
  const remedy = { self: 'a', moment: 1_700_000_000_500, above: 0, voters: null, together: false }
  const { recovery } = omegaHosting

  it('needs all nodes to be stopped', () => {
    expect(() => recovery?.recover(broken, remedy)).toThrow(/^all-stopped: .*--all-stopped on each$/)
    expect(promisedBy(recovery?.recover(broken, { ...remedy, together: true }) ?? null)).toEqual([
      1_700_000_000,
      'a',
    ])
    expect(recovery?.recover(sound, remedy)).toBeNull()
  })

  it('takes no voters', () => {
    expect(() => recovery?.recover(sound, { ...remedy, voters: ['a'] })).toThrow(
      'voters: under omega all nodes vote; remove it',
    )
  })

  it('recognizes its own data', () => {
    expect([recovery?.isOwn(sound), recovery?.isOwn(null), recovery?.isOwn({ lockTime: 5 })]).toEqual([
      true,
      false,
      false,
    ])
  })
})
