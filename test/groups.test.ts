import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { leaderOf } from '../src/client/index.ts'
import { type AgentProcess, conclave, Workplace } from './support/agents.ts'
import { freePorts } from './support/ports.ts'
import { until } from './support/wait.ts'

const IDS = ['a', 'b', 'c'] as const
const GROUPS = ['billing', 'reports', 'mail'] as const

let place: Workplace

beforeEach(() => {
  place = new Workplace()
})

afterEach(() => place.close())

/** A file for each of three, with three groups at one address; each process is preferred in one of them. */
async function started(): Promise<readonly AgentProcess[]> {
  const ports = await freePorts(IDS.length)
  const peers = IDS.map((id, index) => `${id}=127.0.0.1:${ports[index]}`)
  return IDS.map((id, index) => {
    const file = place.path(`${id}.json`)
    const groups = GROUPS.map((group, preferred) => ({ group, priority: preferred === index ? 5 : 0 }))
    const keyFile = place.path('key')
    const common = { id, keyFile, listen: `127.0.0.1:${ports[index]}`, peers, http: '127.0.0.1:0' }
    writeFileSync(
      file,
      JSON.stringify({ ...common, data: place.path(id), options: { sigmaMs: 300 }, groups }),
    )
    return place.start(['--config', file])
  })
}

const leader = async (agent: string, group: string) =>
  (await leaderOf({ agent, group }).catch(() => ({ leader: null }))).leader

/** All groups are led, by these, as all these agents see it. */
async function untilLed(agents: readonly string[], by: (group: string) => readonly string[]): Promise<void> {
  let isSo = false
  await until(() => {
    void Promise.all(
      agents.flatMap((agent) =>
        GROUPS.map(async (group) => by(group).includes(String((await leader(agent, group))?.id))),
      ),
    ).then((all) => {
      isSo = all.every(Boolean)
    })
    return isSo
  })
}

it('agents with several groups at one address lead each of them, and a killed one is replaced in all', async () => {
  const agents = await started()
  const urls = await Promise.all(agents.map((agent) => agent.url()))
  const [first = '', ...others] = urls
  await untilLed(urls, (group) => [IDS[GROUPS.indexOf(group as 'mail')] as string])
  const before = await leader(others[0] as string, 'billing')

  const unnamed = await fetch(`${first}/v1/leader`)
  expect([unnamed.status, await unnamed.json()]).toMatchObject([400, { error: { name: 'GroupNeeded' } }])
  const asked = await conclave(['leader', '--agent', first, '--group', 'mail', '--json'])
  expect(JSON.parse(asked.out)).toMatchObject({ group: 'mail', leader: { id: 'c' }, self: { id: 'a' } })

  // Each agent has one black box; the trace of a group is that, seen as the group.
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

  // One of its groups is handed over; in the others nothing happens.
  await agents[0]?.kill('SIGKILL')
  await untilLed(others, (group) => (group === 'billing' ? ['b', 'c'] : group === 'reports' ? ['b'] : ['c']))
  expect((await leader(others[0] as string, 'billing'))?.token).toBeGreaterThan(before?.token as number)
  await agents[1]?.kill('SIGTERM')
  const log = agents[1]?.log.filter(({ event }) => event === 'revoked').map((line) => line['group'])
  expect(log).toContain('reports')
  // One of three is no majority.
  let isLed = true
  await until(() => {
    void Promise.all(GROUPS.map((group) => leader(others[1] as string, group))).then((all) => {
      isLed = all.some((each) => each !== null)
    })
    return !isLed
  })
}, 60_000)
