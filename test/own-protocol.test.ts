/**
 * A protocol is one folder. Seniority lives only in test/own-protocol. It runs in the library and in agents, has a
 * guarantee card, keeps a black box, and replays. Nothing in src/ knows its name.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type ConclaveNode, InvalidOptionsError, join, loadProtocol } from '../src/service/node/index.ts'
import { Workplace } from './support/agents.ts'
import { conclave } from './support/cli.ts'
import { freePorts } from './support/ports.ts'
import { until } from './support/wait.ts'

const MODULE = fileURLToPath(new URL('./own-protocol/hosting.mjs', import.meta.url))
const IDS = ['a', 'b', 'c']
/** Long timeouts, because the machine that runs tests is busy. */
const OPTIONS = { periodMs: 100, patienceMs: 2000 }

const place = new Workplace()
afterAll(() => place.close())

describe('a protocol that lives in one folder', () => {
  it('is unknown until its module is loaded', async () => {
    const asked = { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: [], key: new Uint8Array(32) }
    await expect(join({ ...asked, protocol: 'seniority' })).rejects.toThrow(
      /protocol: "seniority" is not a protocol/,
    )
  })

  it('runs in the library, in a worker and in the thread of the application', async () => {
    await loadProtocol(MODULE)
    const ports = await freePorts(IDS.length)
    const nodes = await Promise.all(
      IDS.map((id, own) =>
        join({
          group: 'g',
          id,
          listen: `127.0.0.1:${ports[own]}`,
          peers: IDS.flatMap((peer, at) => (peer === id ? [] : [`${peer}=127.0.0.1:${ports[at]}`])),
          key: new Uint8Array(32).fill(7),
          protocol: 'seniority',
          options: OPTIONS,
          isolation: id === 'b' ? 'thread' : 'worker',
        }),
      ),
    )
    onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.close()))))
    const [a, b, c] = nodes as unknown as readonly [ConclaveNode, ConclaveNode, ConclaveNode]
    const tokens: [string, number | null][] = []
    for (const [node, id] of [
      [b, 'b'],
      [a, 'a'],
    ] as const) {
      void node.lead(async (term) => {
        tokens.push([id, term.token])
        await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve()))
      })
      // oxlint-disable-next-line no-await-in-loop -- one candidate after the other
      await until(() => tokens.at(-1)?.[0] === id && c.view().leader?.id === id)
    }
    expect(c.view().leader?.token).toBe(tokens.at(-1)?.[1])
    await a.close()
    await until(() => tokens.length === 3 && c.view().leader?.id === 'b')
    expect(tokens.map(([id]) => id)).toEqual(['b', 'a', 'b'])
    const numbers = tokens.map(([, token]) => Number(token))
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other))
    expect(new Set(numbers).size).toBe(3)
  })

  it('has its options checked by its own rules', async () => {
    await loadProtocol(MODULE)
    const refused = join({
      group: 'g',
      id: 'a',
      listen: '127.0.0.1:0',
      peers: ['b=127.0.0.1:9'],
      key: new Uint8Array(32),
      protocol: 'seniority',
      options: { periodMs: 100, patienceMs: 150 },
    })
    await expect(refused).rejects.toThrow(InvalidOptionsError)
    await expect(refused).rejects.toThrow('options.patienceMs: must be more than twice options.periodMs')
  })

  it('runs in agents, whose black boxes replay to the same effects', async () => {
    const ports = await freePorts(IDS.length)
    const options = Object.entries(OPTIONS).flatMap(([name, value]) => ['--option', `${name}=${value}`])
    const shared = ['--load', MODULE, '--protocol', 'seniority', ...options]
    const agents = IDS.map((id, own) => {
      const self = ['--group', 'g', '--id', id, '--key-file', place.path('key'), '--data', place.path(id)]
      const addresses = ['--listen', `127.0.0.1:${ports[own]}`, '--http', '127.0.0.1:0']
      const peers = IDS.flatMap((peer, at) =>
        peer === id ? [] : ['--peer', `${peer}=127.0.0.1:${ports[at]}`],
      )
      return place.start([...shared, ...self, ...addresses, ...peers])
    })
    const urls = await Promise.all(agents.map((agent) => agent.url()))
    const leaderAt = async (url: string): Promise<string | null> => {
      const answer = (await (await fetch(`${url}/v1/leader`)).json()) as { leader: { id: string } | null }
      return answer.leader?.id ?? null
    }
    const allFollow = async (id: string, of: readonly string[]): Promise<void> => {
      const leaders = await Promise.all(of.map(leaderAt))
      if (leaders.some((leader) => leader !== id)) await allFollow(id, of)
    }
    await allFollow('a', urls)
    const status = await (await fetch(`${urls[2]}/v1/status`)).json()
    expect(status).toMatchObject({ mode: 'majority', voters: IDS, leader: { id: 'a' } })
    const files = await Promise.all(
      urls.map(async (url, index) => {
        const file = place.path(`${IDS[index]}.ndjson`)
        writeFileSync(file, await (await fetch(`${url}/v1/trace`)).text())
        return file
      }),
    )
    await agents[0]?.kill('SIGKILL')
    await allFollow('b', urls.slice(1))
    const merged = place.path('merged.ndjson')
    const replayed = await conclave(['replay', '--load', MODULE, '--json', '--merged', merged, ...files])
    expect(replayed.stderr).toBe('')
    const report = JSON.parse(replayed.stdout)
    expect(report).toMatchObject({ identical: true, difference: null })
    expect(report.steps).toBeGreaterThan(10)
    expect(report.specs.map(({ name }: { name: string }) => name)).toEqual(['live-leader'])
    const again = await conclave(['replay', '--load', MODULE, '--json', merged])
    expect(JSON.parse(again.stdout)).toMatchObject({ identical: true, steps: report.steps })
    const unknown = place.path('unknown.ndjson')
    writeFileSync(unknown, '{"trace":1,"protocol":"juniority","nodes":["a"],"options":{},"seed":0}\n')
    expect(await conclave(['replay', '--load', MODULE, unknown])).toMatchObject({ code: 2 })
  })

  it('has a guarantee card, computed and measured, in any number of threads', async () => {
    const words = ['plan', '--load', MODULE, '--protocol', 'seniority', '--nodes', '3', '--seeds', '30']
    const one = await conclave([...words, '--json', '--workers', '1'])
    const card = JSON.parse(one.stdout)
    expect(card).toMatchObject({ protocol: 'seniority', runs: 30, exceeded: [], tolerance: { spare: 1 } })
    expect(card.figures).toMatchObject([{ name: 'fail-over', exceeded: false }])
    expect(one.code).toBe(0)
    expect((await conclave([...words, '--json', '--workers', '2'])).stdout).toBe(one.stdout)
    expect((await conclave([...words, '--workers', '1'])).stdout).toContain('seniority: 3 nodes')
  })

  it('cannot take the name of a protocol of this package', async () => {
    const impostor = place.path('impostor.mjs')
    writeFileSync(
      impostor,
      `import { protocolNamed } from '${new URL('../dist/protocols/public.js', import.meta.url).href}'\nexport const protocol = protocolNamed('local-leader')\n`,
    )
    await expect(loadProtocol(impostor)).rejects.toThrow(
      /local-leader is a protocol of this package: choose another name/,
    )
    const empty = place.path('empty.mjs')
    writeFileSync(empty, 'export const nothing = 1\n')
    await expect(loadProtocol(empty)).rejects.toThrow(/the module must export `protocol`/)
  })
})
