import { describe, expect, it } from 'vitest'
import type { StatusResponse } from '../../service/client/index.ts'
import { escapeControls, measureWidth } from '../output.ts'
import { Failovers } from './failover.ts'
import { renderScreen, type Selected } from './frame.ts'
import type { LocalAgent } from './local-agent.ts'
import type { LocalGroup } from './local-group.ts'

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
    resolvedAddress: null,
    role: 'voter' as const,
    priority: null,
    version: null,
    page: null,
    canStore: null,
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
  const failovers = new Failovers()
  failovers.all.push({ ms: 197, from: 'n2', to: leader, after: 'n2 was killed' })
  return { agents: agents as unknown as readonly LocalAgent[], log, ids, failovers } as unknown as LocalGroup
}

const START: Selected = { chosen: 0, typed: null, scrolled: 0, isHelp: false }

describe('the screen of conclave up', () => {
  it.each([1, 3, 5, 9, 25])('fits every terminal, with %i nodes', (nodes) => {
    const group = groupOf(nodes)
    const states = [
      {},
      { typed: 'partition n1,n2 n3,n4,n5 and some more words that are typed' },
      { isHelp: true },
    ]
    const scrolls = [0, 7]
    const wrong: string[] = []
    for (const columns of [1, 2, 3, 7, 20, 33, 47, 60, 61, 66, 80, 99, 120, 140, 200]) {
      for (const rows of [1, 2, 3, 5, 8, 12, 20, 24, 40, 60]) {
        for (const state of states.flatMap((each) => scrolls.map((scrolled) => ({ ...each, scrolled })))) {
          const lines = renderScreen(group, { ...START, chosen: nodes - 1, ...state }, { columns, rows })
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
      const text = renderScreen(groupOf(5), { ...START, chosen: 1 }, { columns, rows: 24 }).join(' ')
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
        '? help',
        'last failover: n1 leads 197 ms after n2 was killed',
      ])
        expect(text).toContain(word)
      // The address of the selected node, if not all addresses fit.
      expect(text).toContain('http://127.0.0.1:7481')
      expect(text).toContain('n1 warning')
    }
  })

  it('drops columns before it clips any', () => {
    const head = (columns: number): string =>
      renderScreen(groupOf(5), START, { columns, rows: 24 }).find((line) => line.includes('node')) ?? ''
    expect(head(100)).toMatch(/node +role +leader +token +lease left +reaches +address$/)
    expect(head(60)).toMatch(/node +role +leader +token +lease left +reaches$/)
    expect(head(48)).toMatch(/node +role +leader +token +lease left$/)
    expect(head(30)).toMatch(/node +role +lease left$/)
  })

  it('shows the selected node if not all of them fit', () => {
    for (const chosen of [0, 12, 24]) {
      const lines = renderScreen(groupOf(25), { ...START, chosen }, { columns: 80, rows: 10 })
      expect(lines.filter((line) => line.startsWith('>  '))).toHaveLength(1)
      expect(lines.find((line) => line.startsWith('>'))).toContain(`n${chosen + 1} `)
    }
  })

  it('fills the space with the newest events, and shows earlier ones when scrolled', () => {
    const group = groupOf(3, { entries: 100 })
    const seconds = (scrolled: number, rows: number): readonly number[] =>
      renderScreen(group, { ...START, scrolled }, { columns: 200, rows }).flatMap(
        (line) => /^ +(\d+)\.00 s/.exec(line)?.slice(1).map(Number) ?? [],
      )
    for (const rows of [20, 24, 40, 60]) {
      expect(seconds(0, rows).at(-1)).toBe(99)
      expect(seconds(0, rows)).toHaveLength(rows - 10)
    }
    expect(seconds(10, 24).at(-1)).toBe(89)
    expect(seconds(10, 24)).toHaveLength(13)
    expect(renderScreen(group, { ...START, scrolled: 10 }, { columns: 200, rows: 24 }).join('\n')).toContain(
      '10 later events: PgDn',
    )
    expect(seconds(1000, 24)[0]).toBe(0)
  })

  it('leaves out the end of an event that does not fit, never its beginning', () => {
    const group = groupOf(3, { entries: 3 })
    const screen = (rows: number): readonly string[] => renderScreen(group, START, { columns: 60, rows })
    for (let rows = 12; rows < 22; rows++) {
      const first = screen(rows).find((line) => /^ {12}\S|n1 warning/.test(line))
      expect(first ?? 'n1 warning').toContain('n1 warning')
    }
    const cut = screen(13).filter((line) => line.includes('n1 warning'))
    expect(cut).toEqual([expect.stringMatching(/^ *2\.00 s {2}n1 warning .* …$/)])
  })

  it('continues long events in the next line', () => {
    const lines = renderScreen(groupOf(3, { entries: 1 }), START, { columns: 60, rows: 24 })
    const at = lines.findIndex((line) => line.includes('n1 warning'))
    expect(lines.slice(at, at + 3).map((line) => line.slice(12))).toEqual([
      'n1 warning (storage: something that takes many',
      'words to tell, more than fit into a narrow',
      'terminal)',
    ])
  })

  it('explains every key and command in its help', () => {
    for (const columns of [60, 80, 200]) {
      const text = renderScreen(groupOf(3), { ...START, isHelp: true }, { columns, rows: 80 }).join('\n')
      for (const word of [
        'Keys',
        'kill the selected node',
        'PgUp PgDn',
        'partition n1,n2',
        'reaches',
        '? close',
      ])
        expect(text).toContain(word)
      expect(text).not.toContain('\u2026')
    }
    const [first, ...more] = renderScreen(groupOf(3), { ...START, isHelp: true }, { columns: 60, rows: 20 })
    expect([first, more.at(-1)]).toEqual(['Keys', '? close  PgUp PgDn scroll'])
  })

  it('shows the banner and the table before anything else if there are few rows', () => {
    const lines = renderScreen(groupOf(5), START, { columns: 60, rows: 8 })
    expect(lines[0]).toMatch(/^degraded: n1 leads/)
    expect(lines.filter((line) => /^[> ] +n\d /.test(line))).toHaveLength(5)
    expect(lines.at(-1)).toContain('? help')
  })
})
