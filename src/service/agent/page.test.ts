import { describe, expect, it } from 'vitest'
import type { StatusResponse } from '../client/index.ts'
import { PAGE_POLICY, renderPage } from './page.ts'

const GROUP: StatusResponse = {
  group: 'billing',
  leader: { id: 'a', token: 7, expiresInMs: 83.14 },
  self: { id: 'b', role: 'follower' },
  banner: 'healthy: a leads billing',
  level: 'healthy',
  mode: 'majority',
  voters: ['a', 'b'],
  failureTolerance: 1,
  evidenceTtlMs: 100,
  leaderlessMs: null,
  lease: { lengthMs: 100, marginMs: 40 },
  version: '1.2.3',
  leaderSince: { msAgo: 1000 },
  measured: null,
  warnings: [],
  nodes: [],
  at: '2030-01-02T03:04:05.678Z',
}

const NODE: StatusResponse['nodes'][number] = {
  id: 'n',
  voter: true,
  leader: false,
  reachable: true,
  evidenceMsAgo: 3,
  heardMsAgo: 12,
  address: null,
  role: 'voter',
  priority: null,
  version: null,
  page: null,
  rttMs: null,
  hears: null,
  measured: null,
}

const pageOf = async (...groups: readonly Partial<StatusResponse>[]): Promise<string> =>
  String(await renderPage(groups.map((group) => ({ ...GROUP, ...group }))))

/** The cells of the rows, as a browser would show them. */
const rowsOf = (page: string): readonly string[] =>
  Array.from(page.matchAll(/<tr>(.*?)<\/tr>/g), ([, row = '']) =>
    row.replaceAll(/<[^>]+>/g, '|').replaceAll(/\|+/g, '|'),
  )

describe('the table of a group', () => {
  it.each<[string, Partial<StatusResponse>, readonly string[]]>([
    ['with a leader', {}, ['|leader|a|', '|token|7|', '|lease left|83.1 ms|']],
    ['without a leader', { leader: null }, ['|leader|none|', '|token|none|', '|lease left|none|']],
    [
      'without a token, in local mode',
      { leader: { id: 'a', token: null, expiresInMs: 5 } },
      ['|leader|a|', '|token|none|', '|lease left|5.0 ms|'],
    ],
    [
      'under a protocol without leases',
      { leader: { id: 'a', token: 7, expiresInMs: null } },
      ['|leader|a|', '|token|7|', '|lease left|not applicable: this protocol has no leases|'],
    ],
  ])('%s', async (_what, change, expected) => {
    expect(rowsOf(await pageOf(change)).slice(0, 3)).toEqual(expected)
  })

  it('has a view only under a protocol with views', async () => {
    expect(await pageOf()).not.toContain('>view<')
    expect(rowsOf(await pageOf({ view: null }))).toContain('|view|none|')
    const view = { id: [4, 'a'] as const, members: ['a', 'b'], incarnations: [1, 1] }
    expect(rowsOf(await pageOf({ view }))).toContain('|view|4.a: a, b|')
  })
})

it.each<[string, Partial<StatusResponse['nodes'][number]>, string]>([
  ['the leader', { leader: true }, '|n|reachable (3 ms ago), leader|12 ms ago|'],
  ['a voter', {}, '|n|reachable (3 ms ago)|12 ms ago|'],
  ['an observer', { voter: false }, '|n|reachable (3 ms ago), observer|12 ms ago|'],
  ['a node without evidence of its own', { evidenceMsAgo: null }, '|n|reachable|12 ms ago|'],
  ['a lost node', { reachable: false }, '|n|unreachable|12 ms ago|'],
  ['a node that never answered', { reachable: false, heardMsAgo: null }, '|n|unreachable|never|'],
])('shows %s', async (_what, change, row) => {
  expect(rowsOf(await pageOf({ nodes: [{ ...NODE, ...change }] })).at(-1)).toBe(row)
})

it('escapes everything that a node may have chosen', async () => {
  const evil = '<img src=x onerror="alert(1)">'
  const page = await pageOf({
    group: evil,
    banner: evil,
    self: { id: evil, role: evil },
    nodes: [{ ...NODE, id: evil }],
  })
  expect(page).not.toContain('<img')
  expect(page.match(/&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;/g)).toHaveLength(6)
})

it('has the level of each group in its title, and the time of each observation', async () => {
  const page = await pageOf({}, { group: 'mail', level: 'no-leader' })
  expect(page).toContain('<title>healthy: billing, no-leader: mail</title>')
  expect(page.match(/<time datetime="2030-01-02T03:04:05.678Z">/g)).toHaveLength(2)
  expect(page).toContain('As observed by b (follower)')
})

it('allows the browser nothing but inline styles, and uses no scripts', async () => {
  expect(PAGE_POLICY.split('; ')).toEqual([
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
  ])
  expect(await pageOf()).not.toMatch(/<script|<link|javascript:|\son\w+=/)
})
