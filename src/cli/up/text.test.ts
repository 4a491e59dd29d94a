import { describe, expect, it } from 'vitest'
import type { StatusResponse } from '../../service/client/index.ts'
import { escapeControls, measureWidth } from '../output.ts'
import type { LocalAgent } from './local-agent.ts'
import type { LocalGroup } from './local-group.ts'
import { describeLogLine, formatState, renderScreen } from './text.ts'

const ENTRY =
  'n1 warning (storage: something that takes many words to tell, more than fit into a narrow terminal)'

/** A group whose agents have all answered, with some log entries. */
function groupOf(nodes: number, { leader = 'n1', entries = 20 } = {}): LocalGroup {
  const ids = Array.from({ length: nodes }, (_, index) => `n${index + 1}`)
  const members = ids.map((id) => ({
    id,
    voter: true,
    leader: id === leader,
    reachable: true,
    evidenceMsAgo: 3,
    heardMsAgo: 3,
    address: null,
    role: 'voter' as const,
    priority: null,
    version: null,
    page: null,
    rttMs: null,
    hears: null,
    measured: null,
  }))
  const agents = ids.map((id, index) => {
    const status: Partial<StatusResponse> = {
      banner: `degraded: ${leader} leads up with token 1234; n4 and n5 are unreachable; the group can survive 0 more failures`,
      leader: { id: leader, token: 1234, expiresInMs: 83.1 },
      self: { id, role: id === leader ? 'leader' : 'follower' },
      nodes: members,
    }
    return { id, url: `http://127.0.0.1:${7480 + index}`, state: 'up', isLeader: id === leader, status }
  })
  const log = Array.from({ length: entries }, (_, index) => ({ atMs: index * 1000, text: ENTRY }))
  return { agents: agents as unknown as readonly LocalAgent[], log, ids } as unknown as LocalGroup
}

describe('the screen of conclave up', () => {
  it.each([1, 3, 5, 9, 25])('fits every terminal, with %i nodes', (nodes) => {
    const group = groupOf(nodes)
    const wrong: string[] = []
    for (let columns = 1; columns <= 140; columns++) {
      for (const rows of [1, 2, 3, 5, 8, 12, 24, 50]) {
        for (const typed of [null, 'partition n1,n2 n3,n4,n5 and some more words that are typed']) {
          const lines = renderScreen(group, nodes - 1, typed, { columns, rows })
          if (lines.length > rows || lines.length === 0)
            wrong.push(`${columns}x${rows}: ${lines.length} lines`)
          if (lines.some((line) => measureWidth(line) > columns)) wrong.push(`${columns}x${rows}: too wide`)
          if (lines.some((line) => escapeControls(line).includes('\n')))
            wrong.push(`${columns}x${rows}: two in one`)
        }
      }
    }
    expect(wrong).toEqual([])
  })

  it('shows every node, the leader, reachability and all keys from 60 columns', () => {
    for (const columns of [60, 66, 80, 107, 108, 200]) {
      const text = renderScreen(groupOf(5), 1, null, { columns, rows: 24 }).join('\n')
      expect(text.match(/degraded: n1 leads/g)).toHaveLength(1)
      for (const word of [
        'n1',
        'n2',
        'n3',
        'n4',
        'n5',
        'reaches',
        'lease left',
        '1234',
        'q quit',
        'd step down',
      ])
        expect(text).toContain(word)
      // The address of the selected node, if not all addresses fit.
      expect(text).toContain('http://127.0.0.1:7481')
      expect(text).toContain('n1 warning')
    }
  })

  it('drops columns before it clips any', () => {
    const head = (columns: number): string =>
      renderScreen(groupOf(5), 0, null, { columns, rows: 24 }).find((line) => line.includes('node')) ?? ''
    expect(head(100)).toMatch(/node +role +leader +token +lease left +reaches +address$/)
    expect(head(60)).toMatch(/node +role +leader +token +lease left +reaches$/)
    expect(head(48)).toMatch(/node +role +leader +token +lease left$/)
    expect(head(30)).toMatch(/node +role +lease left$/)
  })

  it('shows the selected node if not all of them fit', () => {
    for (const chosen of [0, 12, 24]) {
      const lines = renderScreen(groupOf(25), chosen, null, { columns: 80, rows: 10 })
      expect(lines.filter((line) => line.startsWith('>  '))).toHaveLength(1)
      expect(lines.find((line) => line.startsWith('>'))).toContain(`n${chosen + 1} `)
    }
  })
})

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

describe('describeLogLine', () => {
  it.each<[object, string | null]>([
    [{ event: 'elected', token: 3, reason: 'elected' }, 'n1 leads with token 3 (elected)'],
    [{ event: 'revoked', token: 3, reason: 'expired' }, 'n1 no longer leads with token 3 (expired)'],
    [{ event: 'warning', reason: 'storage: slow' }, 'n1 warning (storage: slow)'],
    [{ event: 'change', leader: 'n2' }, null],
    [
      { event: 'view', leader: 'n1', view: { id: [3, 'n1'], members: ['n1'], joined: [], left: ['n2'] } },
      'view 3.n1: n1 (-n2)',
    ],
    [{ event: 'view', leader: 'n2', view: { id: [3, 'n2'], members: ['n2'], joined: [], left: [] } }, null],
  ])('describes %j', (event, text) => {
    expect(describeLogLine('n1', JSON.stringify(event))).toBe(text)
  })

  it('shows a line that is not JSON as it is', () => {
    expect(describeLogLine('n1', 'a crash')).toBe('n1: a crash')
  })
})
