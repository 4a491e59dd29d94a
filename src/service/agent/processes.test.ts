import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Workplace } from '../../../test/support/agents.ts'
import { freePorts } from '../../../test/support/ports.ts'
import { until } from '../../../test/support/wait.ts'
import { getLeader, getStatus, type StatusResponse, type WatchEvent, watch } from '../client/index.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname
const IDS = ['a', 'b', 'c'] as const

type Agent = { readonly id: string; readonly process: ChildProcess; url: string; log: string }

let folder: string
let agents: Agent[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-agent-'))
  writeFileSync(join(folder, 'key'), 'a key that is long enough for this')
  writeFileSync(join(folder, 'admin'), 'an admin token of some length\n')
  agents = []
})

afterEach(async () => {
  await Promise.all(
    agents.map(async ({ process: child }) => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended
    }),
  )
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  const ports = await freePorts(IDS.length)
  const at = (index: number): string => `127.0.0.1:${ports[index]}`
  agents = IDS.map((id, index) => {
    const peers = IDS.flatMap((peer, place) => (peer === id ? [] : ['--peer', `${peer}=${at(place)}`]))
    const words = ['agent', '--group', 'g', '--id', id, '--listen', at(index), ...peers]
    const files = ['--key-file', join(folder, 'key'), '--data', join(folder, id)]
    const more = [
      '--http',
      '127.0.0.1:0',
      '--admin-token-file',
      join(folder, 'admin'),
      // On a busy machine, messages are late by hundreds of milliseconds.
      '--profile',
      'region',
      '--option',
      'sigmaMs=1000',
    ]
    const child = spawn(CONCLAVE, [...words, ...files, ...more], { stdio: ['ignore', 'ignore', 'pipe'] })
    const agent: Agent = { id, process: child, url: '', log: '' }
    child.stderr?.on('data', (data: Buffer) => {
      agent.log += data.toString()
      agent.url = /"http":"([^"]*)"/.exec(agent.log)?.[1] ?? ''
    })
    return agent
  })
  await until(() => agents.every(({ url }) => url !== ''))
}

async function conclave(
  ...words: readonly string[]
): Promise<{ code: number | null; out: string; said: string }> {
  const child = spawn(CONCLAVE, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let said = ''
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', (ended) => resolve(ended)))
  return { code, out, said }
}

type Led = { readonly leader: Agent; readonly token: number }

/** Waits until all agents report the same leader, with a token above the given one. */
function agreement(among: readonly Agent[], after = 0): Promise<Led> {
  return vi.waitUntil(
    async () => {
      const answers = await Promise.all(among.map(({ url }) => getLeader({ agent: url })))
      const [first] = answers
      const leader = among.find(({ id }) => id === first?.leader?.id)
      const token = first?.leader?.token ?? 0
      const isSame = answers.every((each) => each.leader?.id === leader?.id && each.leader?.token === token)
      return leader !== undefined && isSame && token > after && { leader, token }
    },
    { timeout: 60_000, interval: 50 },
  )
}

describe('conclave agent, three real processes', () => {
  it('elects one leader; agents and commands agree; exactly one agent answers 200 at /leader', async () => {
    await start()
    // On a loaded machine the leader may change in between: then ask again.
    await vi.waitFor(
      async () => {
        const { leader, token } = await agreement(agents)
        const said = await Promise.all(agents.map(({ url }) => conclave('leader', '--agent', url)))
        expect(said.map(({ code, out }) => [code, out])).toEqual(IDS.map(() => [0, `${leader.id}\n`]))
        const codes = await Promise.all(agents.map(async ({ url }) => (await fetch(`${url}/leader`)).status))
        expect(codes.toSorted((x, y) => x - y)).toEqual([200, 503, 503])

        const status = await conclave('status', '--agent', leader.url)
        const banner = `healthy: ${leader.id} leads g with token ${token}; all 3 voters are reachable; the group can survive 1 failure`
        expect(status.out.split('\n')[0]).toBe(banner)
        const json = await conclave('status', '--agent', agents[0]?.url ?? '', '--json')
        expect((JSON.parse(json.out) as StatusResponse).banner).toBe(banner)
        const members = await conclave('members', '--agent', leader.url)
        expect(members.out).toMatch(/^id +role +reachable +last message\na +/)
        expect(JSON.parse(leader.log.split('\n')[0] ?? '')).toMatchObject({ group: 'g', id: leader.id })
      },
      { timeout: 40_000, interval: 100 },
    )
  }, 60_000)

  it('steps down on an admin request, and is replaced when it is killed', async () => {
    await start()
    const first = await agreement(agents)
    const admin = ['--admin-token-file', join(folder, 'admin')]
    const follower = agents.find((agent) => agent !== first.leader) as Agent
    expect((await conclave('step-down', '--agent', first.leader.url)).code).toBe(5)
    expect((await conclave('step-down', '--agent', follower.url, ...admin)).code).toBe(3)
    const result = await conclave('step-down', '--agent', first.leader.url, ...admin)
    expect([result.code, result.out]).toEqual([
      0,
      `${first.leader.id} stepped down with token ${first.token}\n`,
    ])
    // On a loaded machine the successor may lose its lease at once: then the first leads again and is asked again.
    const second = await vi.waitFor(
      async () => {
        const led = await agreement(agents, first.token)
        if (led.leader === first.leader) await conclave('step-down', '--agent', first.leader.url, ...admin)
        expect(led.leader).not.toBe(first.leader)
        return led
      },
      { timeout: 80_000, interval: 50 },
    )

    second.leader.process.kill('SIGKILL')
    const left = agents.filter((agent) => agent !== second.leader)
    // On a loaded machine the leader may change in between: then ask again.
    const third = await vi.waitFor(
      async () => {
        const led = await agreement(left, second.token)
        expect(led.leader).not.toBe(second.leader)
        const status = await conclave('status', '--agent', led.leader.url)
        expect(status.out).toContain(`at risk: ${led.leader.id} leads g`)
        return led
      },
      { timeout: 80_000, interval: 50 },
    )
    // However late a response is, it never calls a node reachable whose evidence has expired.
    const { nodes, evidenceTtlMs } = await getStatus({ agent: third.leader.url })
    for (const { reachable, evidenceMsAgo } of nodes) {
      if (reachable) expect(evidenceMsAgo).toBeLessThan(evidenceTtlMs ?? 0)
    }
    expect(nodes.find(({ id }) => id === second.leader.id)).toMatchObject({
      reachable: false,
      evidenceMsAgo: null,
    })
    expect(await conclave('leader', '--agent', second.leader.url)).toMatchObject({ code: 4, out: '' })

    const ended = new Promise<number | null>((resolve) => third.leader.process.once('exit', resolve))
    third.leader.process.kill('SIGTERM')
    expect(await ended).toBe(0)
    const [last] = left.filter((agent) => agent !== third.leader) as [Agent]
    await vi.waitUntil(async () => (await getLeader({ agent: last.url })).leader === null, {
      timeout: 25_000,
    })
    // A killed node becomes unreachable when its evidence expires.
    await vi.waitFor(
      async () => {
        const alone = await conclave('status', '--agent', last.url)
        expect(alone.code).toBe(3)
        expect(alone.out).toMatch(
          /^no leader in g for \d+\.\d s: 1 of 3 voters is reachable, 2 are needed(?:; [^\n]+)?\n/,
        )
      },
      { timeout: 25_000, interval: 50 },
    )
  }, 120_000)

  it('streams events to a watcher, and after an interruption the events in between', async () => {
    await start()
    const { leader, token } = await agreement(agents)
    const follower = agents.find((agent) => agent !== leader) as Agent
    const seen = async (after: string | null, enough: (all: readonly WatchEvent[]) => boolean) => {
      const all: WatchEvent[] = []
      const stop = new AbortController()
      for await (const each of watch({ agent: follower.url, after, signal: stop.signal })) {
        all.push(each)
        if (enough(all)) stop.abort()
      }
      return all
    }
    const tellsOf = (all: readonly WatchEvent[]): boolean =>
      all.some((each) => each.type === 'event' && (each.event.token ?? 0) > token)

    let hasSeenTerm = false
    // The stream is resumed after its first event, so a later event has to show the new term.
    const showsLater = (all: readonly WatchEvent[]): boolean =>
      tellsOf(all.filter(({ type }) => type === 'event').slice(1))
    const watching = seen(null, showsLater).finally(() => {
      hasSeenTerm = true
    })
    const admin = ['--admin-token-file', join(folder, 'admin')]
    await new Promise((resolve) => setTimeout(resolve, 100))
    // On a loaded machine another node may lead by now, and the first may lead again before the request arrives.
    const stepDown = async (): Promise<void> => {
      if (hasSeenTerm) return
      const { leader: present } = await agreement(agents)
      await conclave('step-down', '--agent', present.url, ...admin)
      await Promise.race([watching, new Promise((resolve) => setTimeout(resolve, 2000))])
      return stepDown()
    }
    await stepDown()
    const live = await watching
    expect(live[0]).toMatchObject({ type: 'snapshot' })
    const events = live.flatMap((each) => (each.type === 'event' ? [each] : []))
    const firstId = events[0]?.id ?? ''
    const replayed = await seen(firstId, tellsOf)
    const again = replayed.flatMap((each) => (each.type === 'event' ? [each] : []))
    expect(again.slice(0, events.length - 1)).toEqual(events.slice(1))
  }, 60_000)
})

describe('requests to an agent', () => {
  it.each<[readonly string[], number, string]>([
    [['leader', '--agent', 'http://127.0.0.1:2'], 4, 'no agent responds at http://127.0.0.1:2'],
    [['status', '--agent', 'nonsense'], 2, '--agent nonsense: write a URL'],
    [
      ['step-down', '--admin-token-file', '/no/such/file'],
      2,
      '--admin-token-file: there is no file /no/such/file',
    ],
    [['agent', '--group', 'g'], 2, 'id is missing: give --id'],
  ])('%j ends with %i', async (words, code, message) => {
    const { code: ended, said } = await conclave(...words)
    expect([ended, said]).toEqual([code, expect.stringContaining(message)])
  })

  type Failed = {
    readonly error: { readonly name: string; readonly message: string; readonly field: unknown }
  }

  it('prints every failure as one JSON object with --json, with the field that is wrong', async () => {
    const place = new Workplace()
    const agent = place.start(place.alone('--admin-token-file', place.path('admin')))
    const url = await agent.url()
    const stranger = createServer((_, answer) => answer.end('<p>not an agent</p>')).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    const token = ['--admin-token-file', place.path('admin')]
    const tries: readonly (readonly [
      words: readonly string[],
      code: number,
      name: string,
      field: unknown,
    ])[] = [
      [['status', '--agent', 'http://127.0.0.1:2'], 4, 'AgentUnreachableError', null],
      [['watch', '--agent', 'http://127.0.0.1:2'], 4, 'AgentUnreachableError', null],
      [['leader', '--agent', elsewhere], 4, 'AgentUnreachableError', null],
      [['leader', '--agent', 'nonsense'], 2, 'UsageError', '--agent'],
      [['members', '--agent', url, '--group', 'x'], 5, 'UnknownGroup', 'group'],
      [['watch', '--agent', url, '--group', 'x'], 5, 'UnknownGroup', 'group'],
      [['step-down', '--agent', url], 5, 'InvalidAdminToken', 'Authorization'],
      [['remove', 'z', '--agent', url, ...token], 5, 'UnknownNode', 'id'],
      [['remove', '--agent', url], 2, 'UsageError', 'id'],
      [['status', '--colour'], 2, 'UsageError', '--colour'],
      [['status', 'twice'], 2, 'UsageError', null],
    ]
    try {
      const result = await Promise.all(tries.map(([words]) => conclave(...words, '--json')))
      for (const [index, [words, code, name, field]] of tries.entries()) {
        const { out, code: ended } = result[index] as (typeof result)[number]
        const { error } = JSON.parse(out) as Failed
        expect([words[0], ended, error.name, error.field]).toEqual([words[0], code, name, field])
        expect(error.message).not.toContain('\n')
        if (name === 'UsageError' && !error.message.includes('nonsense'))
          expect(error.message).toContain(`(see conclave ${words[0]} --help)`)
      }
    } finally {
      stranger.close()
      await place.close()
    }
  }, 60_000)
})
