/** The demonstration with real processes. */
import { describe, expect, it } from 'vitest'
import { openDemo } from '../../../test/support/demo.ts'
import { isAlive } from '../supervise/processes.ts'
import { DemoFailedError, DemoRefusedError } from './demo.ts'

const TIMEOUT_MS = 240_000

describe('kills', () => {
  it(
    'are refused when the group would not survive them, and end the process otherwise',
    async () => {
      const { demo, pids, end } = await openDemo({ nodes: 3, tiles: 2, pauseMs: 1000 })
      try {
        await expect(demo.kill('n1')).rejects.toThrow(new DemoRefusedError('n1 is down'))
        const running = demo.run(AbortSignal.timeout(TIMEOUT_MS)).catch((error: Error) => error)
        await demo.until(() => demo.observed.view?.members.length === 3)
        await demo.kill('n3')
        expect(isAlive(pids[2] ?? 0)).toBe(false)
        await expect(demo.kill('n2')).rejects.toThrow('n2 must not be killed now: n3 must return first')
        expect(() => demo.revive('n2')).toThrow('n2 is up')
        expect(() => demo.revive('n9')).toThrow('no node is called "n9"')
        await demo.close()
        expect(pids.filter((pid) => isAlive(pid))).toEqual([])
        expect(await running).toBeInstanceOf(DemoFailedError)
      } finally {
        await end()
      }
    },
    TIMEOUT_MS,
  )
})

it(
  'reports the problem of a node that cannot start',
  async () => {
    const { demo, end } = await openDemo({ nodes: 2, tiles: 1, pauseMs: 0, data: '\0' })
    try {
      await expect(demo.run(AbortSignal.timeout(TIMEOUT_MS))).rejects.toThrow(/n[12] failed: /)
    } finally {
      await end()
    }
  },
  TIMEOUT_MS,
)
