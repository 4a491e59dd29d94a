import { describe, expect, it } from 'vitest'
import { protocols } from '../../../../src/protocols/index.ts'
import { createSession } from '../engine/session.ts'
import { PROTOCOLS } from './protocols.ts'

describe('the list of protocols', () => {
  it('has every protocol of the package, and names each card once', () => {
    const offered = new Set(PROTOCOLS.map(({ scenario }) => scenario['protocol']))
    expect(offered).toEqual(new Set(protocols.map(({ name }) => name)))
    expect(new Set(PROTOCOLS.map(({ name }) => name)).size).toBe(PROTOCOLS.length)
  })

  it.each(PROTOCOLS.map((card) => [card.name, card] as const))(
    '%s runs',
    async (_, { scenario, isPrinted }) => {
      const { picture } = await createSession().ask({ type: 'run', scenario, module: null })
      expect(picture.moments.length).toBeGreaterThan(5)
      expect(picture.cutShort).toBeNull()
      const violated = picture.verdicts.filter(({ verdict }) => verdict === 'violated')
      if (!isPrinted) expect(violated).toEqual([])
    },
  )
})
