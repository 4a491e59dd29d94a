import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { type NodeId, type Output, type Plain, type PlainObject, present } from '../../core/index.ts'
import { type GroupSpec, protocolNamed } from '../../protocols/index.ts'
import { checkedOptions } from '../../workbench/sim/index.ts'
import { Endpoint } from './endpoint.ts'
import type { EndpointSettings } from './endpoint-settings.ts'
import { sealer } from './seal.ts'
import { memoryStorage, type Storage, volatileStorage } from './storage.ts'

const HERE = '127.0.0.1'
const KEY = new Uint8Array(32).fill(9)
// A busy machine must not make healthy processes look dead.
const PATIENT = { sigmaMs: 300, renewalIntervalMs: 100 }

type Running = {
  readonly id: NodeId
  readonly endpoint: Endpoint
  readonly outputs: (Output & { readonly of: string })[]
  readonly warnings: string[]
  readonly groupWarnings: string[]
}

let running: Running[] = []

afterEach(async () => {
  await Promise.all(running.map(({ endpoint }) => endpoint.close()))
  running = []
})

function specOf(nodes: readonly NodeId[], options: PlainObject = {}): GroupSpec {
  const definition = present(protocolNamed('local-leader'), 'local-leader')
  const chosen = checkedOptions(definition, nodes, { ...PATIENT, ...options })
  return { protocol: 'local-leader', nodes, options: chosen }
}

async function opened(id: NodeId, more: Partial<EndpointSettings> = {}): Promise<Running> {
  const warnings: string[] = []
  const endpoint = await Endpoint.open(
    {
      self: id,
      listen: { host: HERE, port: 0 },
      peers: [],
      sealer: sealer([KEY], false),
      storage: volatileStorage(),
      ...more,
    },
    {
      dropped: ({ reason, count }) => warnings.push(`${count} ${reason}`),
      warning: (_what, detail) => warnings.push(detail),
      failed: (error) => expect.unreachable(error.message),
    },
  )
  const one = { id, endpoint, outputs: [], warnings, groupWarnings: [] }
  running.push(one)
  return one
}

/** Endpoints with real sockets in this process that know each other. */
async function gather(
  ids: readonly NodeId[],
  more: Partial<EndpointSettings> = {},
): Promise<readonly Running[]> {
  const all = await Promise.all(ids.map((id) => opened(id, more)))
  await Promise.all(
    all.flatMap((one) =>
      all
        .filter(({ id }) => id !== one.id)
        .map(({ id, endpoint: { port } }) => one.endpoint.addPeer({ id, address: { host: HERE, port } })),
    ),
  )
  return all
}

function join({ endpoint, outputs, groupWarnings }: Running, group: string, spec: GroupSpec): void {
  endpoint.join(group, spec, {
    output: (event) => outputs.push({ ...event, of: group }),
    warn: (_what, detail) => groupWarnings.push(`${group}: ${detail}`),
  })
}

const leaderOf = ({ endpoint }: Running, group: string): NodeId | null => endpoint.view(group).leader
const allFollow = (all: readonly Running[], group: string, leader: NodeId): boolean =>
  all.every((one) => leaderOf(one, group) === leader)
const prefer = (id: string): PlainObject => ({ priorities: { [id]: 1 } })

describe('groups over one socket', () => {
  it('elect their own leaders over one session per pair; when a process ends, the next one leads', async () => {
    const all = await gather(['a', 'b', 'c'])
    const [a, b, c] = all as [Running, Running, Running]
    for (const one of all) {
      join(one, 'orders', specOf(['a', 'b', 'c'], prefer('a')))
      join(one, 'bills', specOf(['a', 'b', 'c'], prefer('b')))
      join(one, 'mail', specOf(['a', 'b', 'c'], { ...prefer('c'), mode: 'local', fastMs: 12 }))
    }
    await until(
      () => allFollow(all, 'orders', 'a') && allFollow(all, 'bills', 'b') && allFollow(all, 'mail', 'c'),
    )
    expect(all.map(({ endpoint }) => endpoint.counts.sessions)).toEqual([2, 2, 2])
    const token = a.endpoint.view('orders').token as number
    await a.endpoint.close()
    running = [b, c]
    await until(() => allFollow([b, c], 'orders', 'b'))
    expect(b.endpoint.view('orders').token as number).toBeGreaterThan(token)
    await until(() => allFollow([b, c], 'bills', 'b'))
  }, 30_000)

  it('hand over, are left, and joined again, without an effect on other groups', async () => {
    const all = await gather(['a', 'b', 'c'])
    const [a, b, c] = all as [Running, Running, Running]
    for (const one of all) {
      join(one, 'orders', specOf(['a', 'b', 'c']))
      join(one, 'bills', specOf(['a', 'b', 'c'], prefer('a')))
    }
    await until(() => allFollow(all, 'orders', 'a') && allFollow(all, 'bills', 'a'))
    const elections = (): readonly Output[] => b.outputs.filter(({ type }) => type === 'elected')
    const earlier = elections().length
    a.endpoint.command('orders', { do: 'stepDown' })
    await until(() => allFollow(all, 'orders', 'b'))
    expect(elections()[earlier]).toMatchObject({ of: 'orders', cause: 'handed over' })
    b.endpoint.leave('orders')
    await until(() => allFollow([a, c], 'orders', 'a') || allFollow([a, c], 'orders', 'c'))
    join(b, 'orders', specOf(['a', 'b', 'c']))
    await until(() => leaderOf(b, 'orders') !== null)
    await until(() => allFollow(all, 'bills', 'a'))
    expect(a.outputs.filter(({ of, type }) => of === 'bills' && type === 'demoted')).toEqual([])
    expect(() => b.endpoint.leave('never')).toThrow('group: this process has not joined "never"')
    expect(() => join(b, 'bills', specOf(['a', 'b', 'c']))).toThrow(
      'group: this process has already joined "bills"',
    )
  }, 30_000)

  it('with different configurations ignore each other, and both report which setting differs', async () => {
    const all = await gather(['a', 'b'])
    const [a, b] = all as [Running, Running]
    join(a, 'same', specOf(['a', 'b']))
    join(b, 'same', specOf(['a', 'b']))
    join(a, 'other', specOf(['a', 'b'], { mode: 'local', fastMs: 12 }))
    join(b, 'other', specOf(['a', 'b'], { mode: 'local', fastMs: 12, renewalTries: 3 }))
    join(a, 'nodes', specOf(['a', 'b', 'c'], { mode: 'local', fastMs: 12 }))
    join(b, 'nodes', specOf(['b', 'c'], { mode: 'local', fastMs: 12 }))
    const reported = (one: Running): readonly string[] =>
      one.outputs.filter(({ type }) => type === 'mismatch').map(({ of, field }) => `${of} ${field as string}`)
    await until(() => allFollow(all, 'same', 'a') && reported(a).length >= 2 && reported(b).length >= 2)
    expect(reported(a).toSorted()).toEqual(['nodes nodes', 'other renewalTries'])
    expect(reported(b).toSorted()).toEqual(['nodes nodes', 'other renewalTries'])
    await until(() => leaderOf(a, 'other') === 'a' && leaderOf(b, 'other') === 'b')
  }, 30_000)
})

describe('peers', () => {
  it('are added and removed while a group runs; a voter is not removed before its vote', async () => {
    const [a, b] = (await gather(['a', 'b'])) as [Running, Running]
    for (const one of [a, b]) join(one, 'g', specOf(['a', 'b']))
    await until(() => allFollow([a, b], 'g', 'a'))
    const c = await opened('c', {
      peers: [a, b].map(({ id, endpoint: { port } }) => ({ id, address: { host: HERE, port } })),
    })
    join(c, 'g', specOf(['a', 'b', 'c'], { voters: ['a', 'b'] }))
    for (const { endpoint } of [a, b]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await endpoint.addPeer({ id: 'c', address: { host: HERE, port: c.endpoint.port } })
      endpoint.regroup('g', { ...specOf(['a', 'b', 'c']), nodes: ['a', 'b', 'c'] })
    }
    await until(() => allFollow([a, b, c], 'g', 'a'))
    expect(a.outputs.filter(({ type }) => type === 'demoted')).toEqual([])
    expect(c.endpoint.view('g').role).toBe('observer')
    a.endpoint.command('g', { do: 'addVoter', voter: 'c' })
    await until(() => c.endpoint.view('g').role === 'follower')
    expect(() => a.endpoint.regroup('g', specOf(['a', 'b']))).toThrow('nodes: c is a voter')
    a.endpoint.command('g', { do: 'removeVoter', voter: 'c' })
    await until(() => a.endpoint.insight('g').named.join() === 'a,b')
    a.endpoint.regroup('g', specOf(['a', 'b']))
    a.endpoint.removePeer('c')
    expect(a.endpoint.peerIds()).toEqual(['b'])
    await until(() => leaderOf(a, 'g') === 'a')
  }, 30_000)

  it('are added although the constants of the group change with the number of its nodes', async () => {
    const all = await gather(['a', 'b', 'c'])
    const options = { mode: 'local', fastMs: 12, treeFrom: 3 }
    for (const one of all.slice(0, 2)) join(one, 'g', specOf(['a', 'b'], options))
    await until(() => allFollow(all.slice(0, 2), 'g', 'a'))
    for (const { endpoint } of all.slice(0, 2)) endpoint.regroup('g', specOf(['a', 'b', 'c'], options))
    join(all[2] as Running, 'g', specOf(['a', 'b', 'c'], options))
    // Whom a node hears by the messages of the group, and not those of before.
    const hearsAll = ({ id, endpoint }: Running): boolean =>
      endpoint.insight('g').heard.filter((other) => other !== id).length === 2
    await until(() => all.every(hearsAll))
    await until(() => allFollow(all, 'g', 'a'))
    expect(all.map(({ warnings }) => warnings)).toEqual([[], [], []])
  }, 30_000)

  it('given without an id introduce themselves; two with the same id cause a warning', async () => {
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((id) => opened(id)))
    const twin = await opened('b')
    const at = (one: Running | undefined) => ({ host: HERE, port: present(one, 'endpoint').endpoint.port })
    const all = [a, b, c] as [Running, Running, Running]
    await Promise.all(
      all.flatMap((one) =>
        all
          .filter((other) => other !== one)
          .map((other) => one.endpoint.addPeer({ id: null, address: at(other) })),
      ),
    )
    await Promise.all(all.map(({ endpoint }) => endpoint.introduced()))
    expect(all.map(({ endpoint }) => endpoint.peerIds()?.toSorted())).toEqual([
      ['b', 'c'],
      ['a', 'c'],
      ['a', 'b'],
    ])
    for (const one of all) join(one, 'g', specOf(['a', 'b', 'c']))
    await until(() => allFollow(all, 'g', 'a'))
    await twin.endpoint.addPeer({ id: null, address: at(a) })
    await (a as Running).endpoint.addPeer({ id: null, address: at(twin) })
    await until(() => (a as Running).warnings.some((text) => text.includes('both have the id "b"')))
    expect((a as Running).endpoint.unknown()).toEqual([at(twin)])
    const gaveUp = await (a as Running).endpoint.introduced(AbortSignal.timeout(10))
    expect(gaveUp).toBeNull()
  }, 30_000)
})

describe('a full disk', () => {
  /** A storage that can be full, for chosen groups. */
  function fickle(): Storage & { full: (group: string) => boolean; saved: string[] } {
    const inner = memoryStorage()
    let last: PlainObject = {}
    return {
      full: () => false,
      saved: [],
      load: () => inner.load(),
      save(data: Plain) {
        const groups = (data as { upper: PlainObject | null }).upper ?? {}
        const touched = Object.keys(groups).filter((name) => groups[name] !== last[name])
        if (touched.some((name) => this.full(name))) throw new Error('ENOSPC: no space left on device')
        last = groups
        this.saved.push(...touched)
        inner.save(data)
      },
      close() {},
    }
  }

  it('costs the vote of the group that must write, with one warning; other groups continue, and it recovers', async () => {
    const disk = fickle()
    const [a, b] = [await opened('a', { storage: disk }), await opened('b')]
    await a.endpoint.addPeer({ id: 'b', address: { host: HERE, port: b.endpoint.port } })
    await b.endpoint.addPeer({ id: 'a', address: { host: HERE, port: a.endpoint.port } })
    for (const one of [a, b]) join(one, 'calm', specOf(['a', 'b'], prefer('a')))
    await until(() => allFollow([a, b], 'calm', 'a'))
    for (const one of [a, b]) join(one, 'hit', specOf(['a', 'b'], prefer('b')))
    disk.full = (group) => group === 'hit'
    await until(() => a.groupWarnings.length > 0)
    const saves = disk.saved.length
    const renewals = a.endpoint.counts.sent
    await until(() => a.endpoint.counts.sent > renewals + 60)
    expect(leaderOf(b, 'hit')).toBeNull()
    expect(disk.saved.slice(saves)).not.toContain('hit')
    expect(a.groupWarnings).toEqual(['hit: ENOSPC: no space left on device: no vote was given'])
    await until(() => allFollow([a, b], 'calm', 'a'))
    expect(a.outputs.filter(({ type }) => type === 'demoted')).toEqual([])
    disk.full = () => false
    await until(() => allFollow([a, b], 'hit', 'b'))
    expect(a.warnings).toContain('stable data can be written again')
  }, 30_000)

  it('prevents joining, and the error says why', async () => {
    const disk = fickle()
    const a = await opened('a', { storage: disk })
    disk.full = () => true
    expect(() => join(a, 'g', specOf(['a']))).toThrow('ENOSPC')
    disk.full = () => false
    join(a, 'g', specOf(['a']))
    await until(() => leaderOf(a, 'g') === 'a')
  }, 30_000)

  it('invalid stable data is refused for its group alone', async () => {
    const storage = memoryStorage({ layer: 4, upper: { bad: { incarnation: 0 } } })
    const a = await opened('a', { storage })
    expect(() => join(a, 'bad', specOf(['a']))).toThrow('is corrupt (incarnation')
    join(a, 'good', specOf(['a']))
    await until(() => leaderOf(a, 'good') === 'a')
  }, 30_000)
})
