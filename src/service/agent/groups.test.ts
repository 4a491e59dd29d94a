import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type AgentProcess, conclave, Workplace } from '../../../test/support/agents.ts'
import { freePorts } from '../../../test/support/ports.ts'
import { getLeader } from '../client/index.ts'

const IDS = ['a', 'b', 'c'] as const
const NO_LEADER = 'none'
const GROUPS = ['billing', 'reports', 'mail'] as const

let place: Workplace

beforeEach(() => {
  place = new Workplace()
})

afterEach(() => place.close())

/** Configuration files for three agents with three groups at one address. Each node is preferred in one group. */
async function started(): Promise<readonly AgentProcess[]> {
  const ports = await freePorts(IDS.length)
  const peers = IDS.map((id, index) => `${id}=127.0.0.1:${ports[index]}`)
  return IDS.map((id, index) => {
    const file = place.path(`${id}.json`)
    const groups = GROUPS.map((group, preferred) => ({ group, priority: preferred === index ? 5 : 0 }))
    const keyFile = place.path('key')
    const adminTokenFile = place.path('admin')
    const at = { listen: `127.0.0.1:${ports[index]}`, http: '127.0.0.1:0' }
    const common = { id, keyFile, adminTokenFile, peers, ...at }
    writeFileSync(
      file,
      JSON.stringify({ ...common, data: place.path(id), options: { sigmaMs: 300 }, groups }),
    )
    return place.start(['--config', file])
  })
}

const leader = async (agent: string, group: string) => (await getLeader({ agent, group })).leader

/** Polls until the condition holds, one request at a time. */
const PATIENCE = { timeout: 40_000, interval: 100 }

/** Whether all these agents report these leaders for all groups. */
function untilLed(agents: readonly string[], by: (group: string) => readonly string[]): Promise<void> {
  return vi.waitFor(async () => {
    const all = await Promise.all(
      agents.flatMap((agent) =>
        GROUPS.map(async (group) => ({ group, led: String((await leader(agent, group))?.id ?? NO_LEADER) })),
      ),
    )
    const wrong = all.filter(({ group, led }) => !by(group).includes(led))
    if (wrong.length > 0) throw new Error(`not yet: ${JSON.stringify(wrong)}`)
  }, PATIENCE)
}

/** The token of the current leader. On a loaded machine there may be none for a moment. */
function tokenOf(agent: string, group: string): Promise<number> {
  return vi.waitFor(async () => {
    const token = (await leader(agent, group))?.token ?? null
    if (token === null) throw new Error(`no leader in ${group}`)
    return token
  }, PATIENCE)
}

it('elects a leader per group at one address, and replaces a killed agent in all groups', async () => {
  const agents = await started()
  const urls = await Promise.all(agents.map((agent) => agent.url()))
  const [first = '', ...others] = urls
  await untilLed(urls, (group) => [IDS[GROUPS.indexOf(group as 'mail')] as string])
  const before = await tokenOf(others[0] as string, 'billing')

  const unnamed = await fetch(`${first}/v1/leader`)
  expect([unnamed.status, await unnamed.json()]).toMatchObject([400, { error: { code: 'GroupRequired' } }])
  const result = await conclave(['leader', '--agent', first, '--group', 'mail', '--json'])
  expect(JSON.parse(result.out)).toMatchObject({ group: 'mail', leader: { id: 'c' }, self: { id: 'a' } })

  // A command runs under the term of the named group only.
  const running = ['run', '--agent', urls[2] as string, '--admin-token-file', place.path('admin'), '--quiet']
  const ran = await conclave([
    ...running,
    '--group',
    'mail',
    '--',
    'sh',
    '-c',
    'echo $CONCLAVE_GROUP; exit 4',
  ])
  expect([ran.code, ran.out]).toEqual([4, 'mail\n'])
  expect((await conclave([...running, '--', 'true'])).said).toContain('add ?group=NAME (--group NAME)')

  // Each agent has one black box; the trace of a group is a projection of it.
  const files = await Promise.all(
    urls.map(async (url, index) => {
      const file = place.path(`${IDS[index]}.ndjson`)
      writeFileSync(file, await (await fetch(`${url}/v1/trace?group=mail`)).text())
      return file
    }),
  )
  const replayed = await conclave(['replay', ...files, '--json'])
  const verdict = JSON.parse(replayed.out) as { leaderships: readonly { node: string }[] }
  expect([replayed.code, verdict]).toMatchObject([0, { identical: true }])
  expect(new Set(verdict.leaderships.map(({ node }) => node))).toContain('c')
  expect(verdict.leaderships.at(-1)).toMatchObject({ node: 'c', ended: null })

  // One group steps down; the others are unaffected.
  await agents[0]?.kill('SIGKILL')
  await untilLed(others, (group) => (group === 'billing' ? ['b', 'c'] : group === 'reports' ? ['b'] : ['c']))
  expect(await tokenOf(others[0] as string, 'billing')).toBeGreaterThan(before)
  await agents[1]?.kill('SIGTERM')
  const log = agents[1]?.log.filter(({ event }) => event === 'revoked').map((line) => line['group'])
  expect(log).toContain('reports')
  // One of three is no majority.
  await untilLed([others[1] as string], () => [NO_LEADER])
}, 120_000)
