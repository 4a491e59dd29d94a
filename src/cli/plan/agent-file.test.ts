import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/cli.ts'
import type { PlainObject } from '../../core/index.ts'
import { isAgentFile, planOfAgent } from './agent-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-agent-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const SHARED = `
id: a
listen: 10.0.0.1:7400
http: 127.0.0.1:7480
keyFile: /nowhere/key
data: /nowhere/data
`
const PEERS = 'peers: [b=10.0.0.2:7400, {id: c, address: "10.0.0.3:7400", witness: true}]\n'

describe('the file of an agent', () => {
  it('is distinguished from the file of a plan', () => {
    expect(isAgentFile({ peers: [] })).toBe(true)
    expect(isAgentFile({ group: 'g', peeers: [] })).toBe(true)
    expect(isAgentFile({ id: 'a', leaseMinMs: 20 })).toBe(true)
    expect(isAgentFile({ voters: ['a'], options: {} })).toBe(false)
  })

  it('gives the nodes, their roles and the options that the agent would use', () => {
    const path = file('one.yaml', `group: g\n${SHARED}${PEERS}profile: region\noptions: { sigmaMs: 40 }\n`)
    const plan = planOfAgent(path, null) as PlainObject & { readonly options: PlainObject }
    expect(plan).toMatchObject({ protocol: 'local-leader', nodes: ['a', 'b', 'c'] })
    expect(plan.options).toMatchObject({ profile: 'region', sigmaMs: 40, witnesses: ['c'], mode: 'majority' })
    for (const name of ['link', 'requests', 'hostedGroup']) expect(plan.options).not.toHaveProperty(name)
  })

  it('gives the store of a group in a store', () => {
    const path = file(
      'store.yaml',
      'group: g\nid: a\nprotocol: epochs\nstore: file:/srv\nhttp: 127.0.0.1:1\n',
    )
    expect(planOfAgent(path, null)).toEqual({ protocol: 'epochs', store: 'file:/srv' })
  })

  it('may be shared by all nodes, whose ids are in their environment', () => {
    const shared = 'peers: [a=10.0.0.1:7400, b=10.0.0.2:7400, c=10.0.0.3:7400]\n'
    const path = file('shared.yaml', `group: g\nkeyFile: /nowhere/key\n${shared}`)
    expect(planOfAgent(path, null, { CONCLAVE_ID: 'b' })).toMatchObject({ nodes: ['a', 'b', 'c'] })
    expect(() => planOfAgent(path, null, {})).toThrow(
      `${path}: id is missing: set CONCLAVE_ID to the id of a node`,
    )
    const own = file('own.yaml', `group: g\nid: a\n${shared}`)
    expect(planOfAgent(own, null, { CONCLAVE_ID: 'd' })).toMatchObject({ nodes: ['a', 'b', 'c', 'd'] })
  })

  it('with several groups needs --group', () => {
    const path = file('two.yaml', `${SHARED}${PEERS}groups: [{group: one}, {group: two, profile: wan}]\n`)
    expect(planOfAgent(path, 'two')).toMatchObject({ options: { profile: 'wan' } })
    expect(() => planOfAgent(path, null)).toThrow('has several groups; choose one of one, two with --group')
    expect(() => planOfAgent(path, 'three')).toThrow('has no group three')
  })
})

describe('conclave plan --config', () => {
  it.each(['local-leader', 'omega'])(
    'accepts the file of an agent that runs %s',
    async (protocol) => {
      const path = file(
        `${protocol}.yaml`,
        `group: g\nprotocol: ${protocol}\n${SHARED}peers: [b=10.0.0.2:7400, c=10.0.0.3:7400]\n`,
      )
      const { code, stdout } = await conclave(['plan', '--config', path, '--seeds', '4', '--workers', '1'])
      expect(code).toBe(0)
      expect(stdout).toContain(`${protocol}, `)
    },
    60_000,
  )

  it.each([
    ['bad.yaml', `group: g\n${SHARED}peer: []\n`, 'peer'],
    ['typo.yaml', 'group: g\npeeers: [a]\n', 'peeers: unknown field; did you mean peers?'],
    ['plan.json', '{"nodes": [1, 2, 3]}', '--group: needs the configuration file of an agent'],
  ])('refuses %s', async (name, content, problem) => {
    const { code, stderr } = await conclave(['plan', '--config', file(name, content), '--group', 'g'])
    expect([code, stderr.includes(problem)]).toEqual([2, true])
  })
})
