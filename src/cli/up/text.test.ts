import { describe, expect, it } from 'vitest'
import type { LocalGroup } from './local-group.ts'
import { describeEvent, formatState, parseLogLine } from './text.ts'

describe('formatState', () => {
  const agent = (id: string, state: string, token: number | null) => ({
    id,
    state,
    status: token === null ? null : { leader: { id, token } },
  })
  const state = (...agents: readonly ReturnType<typeof agent>[]): string =>
    formatState({
      agents,
      leaders: agents.filter(({ status }) => status !== null),
    } as unknown as LocalGroup)

  it('names the leaders, and the nodes that are not up', () => {
    expect(state(agent('n1', 'up', 7), agent('n2', 'paused', null), agent('n3', 'down', null))).toBe(
      'n1 (token 7) leads, n2 paused, n3 down',
    )
    expect(state(agent('n1', 'up', 7), agent('n2', 'up', 8))).toBe('n1 (token 7) and n2 (token 8) leads')
    expect(state(agent('n1', 'up', null))).toBe('no leader')
  })
})

describe('describeEvent', () => {
  it.each<[object, string | null]>([
    [{ event: 'elected', token: 3, reason: 'elected' }, 'n1 leads with token 3 (elected)'],
    [{ event: 'revoked', token: 3, reason: 'expired' }, 'n1 no longer leads with token 3 (expired)'],
    [
      { event: 'revoked', token: 3, reason: 'expired', cause: { text: 'n1 was late by 93 ms (σ is 30 ms)' } },
      'n1 no longer leads with token 3 (expired: n1 was late by 93 ms (σ is 30 ms))',
    ],
    [{ event: 'warning', reason: 'storage: slow' }, 'n1 warning (storage: slow)'],
    [{ event: 'change', leader: 'n2' }, null],
    [
      { event: 'view', leader: 'n1', view: { id: [3, 'n1'], members: ['n1'], joined: [], left: ['n2'] } },
      'view 3.n1: n1 (-n2)',
    ],
    [{ event: 'view', leader: 'n2', view: { id: [3, 'n2'], members: ['n2'], joined: [], left: [] } }, null],
  ])('describes %j', (event, text) => {
    expect(describeEvent('n1', event)).toBe(text)
  })

  it('is read from a line of JSON', () => {
    expect(parseLogLine('{"event":"elected"}')).toEqual({ event: 'elected' })
    expect(parseLogLine('a crash')).toBeNull()
  })
})
