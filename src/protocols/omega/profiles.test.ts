/** The timing of the links: the values of each profile, and refused values. */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import type { Observation } from '../../workbench/trace/index.ts'
import { brokenBound, profileOptions } from './profiles.ts'

const NAMES = ['lan', 'region', 'wan'] as const

describe('the timing of the links', () => {
  it('follows from δ, σ and the ping interval', () => {
    expect(NAMES.map((name) => profileOptions(name))).toEqual([
      { pingMs: 205, alphaMs: 230, timeoutMs: 500, retransmitMs: 40 },
      { pingMs: 300, alphaMs: 355, timeoutMs: 800, retransmitMs: 90 },
      { pingMs: 1000, alphaMs: 1200, timeoutMs: 2400, retransmitMs: 375 },
    ])
    expect(profileOptions('lan', { pingMs: 100 })).toMatchObject({ alphaMs: 125, timeoutMs: 300 })
    expect(profileOptions('lan', { alphaMs: 900 })).toMatchObject({ pingMs: 205, timeoutMs: 1200 })
  })

  it.each(NAMES)('satisfies its own bounds with every detector: %s', (name) => {
    for (const detector of ['nfd-e', 'fixed', 'phi', 'bertier'] as const) {
      expect(brokenBound(name, { ...profileOptions(name), detector })).toBeNull()
    }
  })

  it.each([
    [
      { alphaMs: 229 },
      'alphaMs',
      /^229 is too small: it must be at least 230 \(pingMs \+ δ \+ 2σ; profile lan/,
    ],
    [
      { timeoutMs: 459 },
      'timeoutMs',
      /^459 .* at least 460 \(pingMs \+ alphaMs \+ δ \+ 2σ; .*before the detector/,
    ],
    [{ retransmitMs: 29 }, 'retransmitMs', /^29 .* at least 30 \(2δ \+ 2σ; .*δ = 5, σ = 10/],
    [{ detector: 'fixed', timeoutMs: 434 }, 'timeoutMs', /^434 .* at least 435 \(2 pingMs \+ δ \+ 2σ/],
  ] as const)('refuses %j, and names the bound', (given, field, problem) => {
    const broken = brokenBound('lan', { ...profileOptions('lan'), detector: 'nfd-e', ...given })
    expect(broken).toMatchObject({ field, problem: expect.stringMatching(problem) })
  })
})

/** The number of views that a group of three installs in 100 seconds while every hundredth datagram is lost. */
function viewsUnderLoss(options: ReturnType<typeof profileOptions>, delayMs: number): number {
  let views = 0
  simulate(
    {
      protocol: 'omega',
      nodes: [1, 2, 3],
      initial: { leader: 1 },
      seed: 1,
      options,
      network: { delayMs: [0.1, delayMs], loss: 0.01 },
      events: [],
      untilMs: 100_000,
    },
    {
      observe(seen: Observation) {
        if (seen.type === 'output' && seen.event.type === 'view') views += 1
      },
    },
  )
  return views
}

describe('a network that loses one datagram in a hundred', () => {
  it.each([
    ['lan', 5],
    ['region', 15],
    ['wan', 150],
  ] as const)('takes no link down because of one lost ping: %s', (name, delayMs) => {
    expect(viewsUnderLoss(profileOptions(name), delayMs)).toBe(0)
  })

  it('takes links down with a shorter alphaMs than the bound', () => {
    expect(viewsUnderLoss({ ...profileOptions('lan'), alphaMs: 200 }, 5)).toBeGreaterThan(0)
  })
})
