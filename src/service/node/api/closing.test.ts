/** A backend that cannot be closed cleanly: no caller waits for it. */
import { expect, it } from 'vitest'
import { workSettings } from '../../config/join-options.ts'
import { type ElectionBackend, NO_VIEW } from '../election/election.ts'
import { REAL_TIMERS } from '../election/timers.ts'
import { type NodeSettings, openNode } from './node.ts'

const ABOUT: NodeSettings = {
  group: 'g',
  id: 'a',
  mode: 'majority',
  lease: { lengthMs: 100, marginMs: 50 },
  work: workSettings({}),
  timers: REAL_TIMERS,
  role: null,
}

const UNCLOSABLE: ElectionBackend = {
  view: () => NO_VIEW,
  status() {
    throw new Error('the status is not used')
  },
  lease: () => ({ until: null, now: 0, token: null, reason: null }),
  command: async () => null,
  async stepDown() {},
  injectFaults() {},
  announce() {},
  explain: () => null,
  handOverProblem: async () => null,
  async *trace() {},
  async close() {
    throw new Error('the disk is gone')
  },
}

it('lead and observe end although the backend cannot be closed, and close rejects with the reason', async () => {
  const member = await openNode(ABOUT, async () => UNCLOSABLE)
  const leading = member.lead(() => {})
  const views = member.observe()
  await views.next()
  const watching = views.next()
  await expect(member.close()).rejects.toThrow('the disk is gone')
  await leading
  expect((await watching).value).toEqual(NO_VIEW)
  expect((await views.next()).done).toBe(true)
})
