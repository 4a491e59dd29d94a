import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { formatArguments } from '../node-flags.ts'
import { describeAgents, type GroupPlan } from './agents.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-up-agents-'))
afterAll(() => rmSync(folder, { recursive: true }))

const FLAGS = { protocol: 'local-leader', mode: 'majority', profile: 'lan', option: [] }
const plan = (flags: Partial<GroupPlan['flags']> = {}): GroupPlan => ({
  flags: { ...FLAGS, ...flags },
  count: 3,
  udp: [7001, 7002, 7003],
  http: [8001, 8002, 8003],
})

it('describes nodes that know each other, with one key and one admin token', () => {
  const agents = describeAgents(folder, plan())
  expect(agents.map(({ id, url }) => `${id} ${url}`)).toEqual([
    'n1 http://127.0.0.1:8001',
    'n2 http://127.0.0.1:8002',
    'n3 http://127.0.0.1:8003',
  ])
  expect(agents[1]?.flags).toMatchObject({
    id: 'n2',
    listen: '127.0.0.1:7002',
    peer: ['n1=127.0.0.1:7001', 'n3=127.0.0.1:7003'],
    data: join(folder, 'n2'),
  })
  expect(new Set(agents.map(({ adminToken }) => adminToken))).toEqual(
    new Set([readFileSync(join(folder, 'admin-token'), 'utf8')]),
  )
  expect(statSync(join(folder, 'key')).mode % 0o1000).toBe(0o600)
})

it('tolerates longer scheduling delays with fixed timing, unless the option is set', () => {
  const options = (flags: Partial<GroupPlan['flags']>) =>
    describeAgents(folder, plan(flags))[0]?.flags.option ?? []
  expect(options({ timing: 'fixed' })).toEqual(['sigmaMs=60'])
  expect(options({ mode: 'local' })).toEqual(['sigmaMs=60'])
  expect(options({})).toEqual([])
  expect(options({ option: ['sigmaMs=300'] })).toEqual(['sigmaMs=300'])
  expect(options({ profile: 'region' })).toEqual([])
})

it('describes nodes that share a store without peers', () => {
  const [agent] = describeAgents(folder, plan({ protocol: 'epochs' }))
  expect(agent?.flags).toMatchObject({ peer: [], keyFile: [], store: join(folder, 'registers') })
  expect(agent?.flags).not.toHaveProperty('listen')
})

it('refuses options that an agent would refuse', () => {
  expect(() => describeAgents(folder, plan({ option: ['bogus=1'] }))).toThrow(/bogus/)
})

it('formats flags as the arguments of an agent', () => {
  const flags = { id: 'a', peer: ['b=h:1', 'c=h:2'], keyFile: [], option: [], observer: true, witness: false }
  expect(formatArguments(flags)).toEqual(['--id', 'a', '--peer', 'b=h:1', '--peer', 'c=h:2', '--observer'])
})
