import { expect, it } from 'vitest'
import type { JoinOptions } from '../../service/node/index.ts'
import { resolveOwnNode } from './lease.ts'

const OPTIONS: JoinOptions = {
  group: 'g',
  id: 'a',
  listen: '127.0.0.1:0',
  peers: ['b=127.0.0.1:1', 'c=127.0.0.1:2'],
  key: new Uint8Array(32),
}

it('keeps leases that tune themselves long enough for the value that the user asks for', () => {
  const { options, killBefore } = resolveOwnNode({ ...OPTIONS, profile: 'fast' }, 40)
  expect(killBefore.ms).toBe(40)
  expect((options as JoinOptions).leaseMinMs).toBeGreaterThan(60)
  expect(killBefore.leaseMs).toBeGreaterThanOrEqual(((options as JoinOptions).leaseMinMs ?? 0) * 0.99)
})

it('does not change leases without such a value, and kills earlier before the end of longer ones', () => {
  const asked = { ...OPTIONS, profile: 'fast' as const }
  const { options, killBefore } = resolveOwnNode(asked, null)
  expect(options).toBe(asked)
  expect(killBefore).toMatchObject({ mostMs: 15 })
  expect(killBefore.ms).toBeLessThan(15)
})

it.each<[string, Partial<JoinOptions>, number]>([
  ['leases would be longer than leaseMaxMs', { leaseMaxMs: 100 }, 90],
  ['the timing is fixed', { timing: 'fixed' }, 90],
])('refuses the value if %s', (_what, given, ms) => {
  expect(() => resolveOwnNode({ ...OPTIONS, ...given }, ms)).toThrow(/^--kill-before-ms 90: must be at most/)
})
