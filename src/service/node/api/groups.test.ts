import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { until } from '../../../../test/support/wait.ts'
import type { Effect } from '../../../core/index.ts'
import type { Bundle, Datagram } from '../../../links/index.ts'
import { readTrace } from '../../../workbench/trace/index.ts'
import { type ConclaveNode, InvalidOptionsError, type JoinOptions, join, type Term } from '../index.ts'

const ISOLATIONS = ['worker', 'thread'] as const
const KEY = new Uint8Array(32).fill(3)
/** A busy machine must not make healthy processes look dead. */
const PATIENT = { sigmaMs: 300, renewalIntervalMs: 100 }
const IDS = ['a', 'b', 'c']

let members: ConclaveNode[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(members.map((member) => member.close()))
  members = []
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const newFolder = (): string => {
  const folder = mkdtempSync(pathJoin(tmpdir(), 'conclave-groups-'))
  folders.push(folder)
  return folder
}

function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

/** The options of each of three processes, for any group. */
async function three(more: Partial<JoinOptions> = {}) {
  const ports = await freePorts(IDS.length)
  const at = (index: number): string => `127.0.0.1:${ports[index]}`
  return (index: number, group: string): JoinOptions => ({
    group,
    id: IDS[index] as string,
    listen: at(index),
    peers: IDS.flatMap((peer, place) => (place === index ? [] : [`${peer}=${at(place)}`])),
    key: KEY,
    options: PATIENT,
    ...more,
  })
}

const into = async (options: JoinOptions): Promise<ConclaveNode> => {
  const member = await join(options)
  members.push(member)
  return member
}

const leads = (member: ConclaveNode | undefined): unknown => member?.view().leader?.id ?? null

it.each(ISOLATIONS)(
  'warn of a peer in the groups that have it (%s)',
  { timeout: 30_000 },
  async (isolation) => {
    const [own, nowhere] = await freePorts(2)
    const common = { id: 'a', listen: `127.0.0.1:${own}`, key: KEY, options: PATIENT, isolation }
    const groups = { alone: [], two: [`b=127.0.0.1:${nowhere}`], three: [`b=127.0.0.1:${nowhere}`] }
    const warned: string[] = []
    for (const [group, peers] of Object.entries(groups)) {
      // oxlint-disable-next-line no-await-in-loop -- the first one opens the address
      const member = await into({ ...common, group, peers })
      member.on('warning', ({ what }) => warned.push(`${group} ${what}`))
    }
    await until(() => warned.includes('three peers'))
    expect(warned.filter((each) => each.endsWith('peers')).toSorted()).toEqual(['three peers', 'two peers'])
    expect(members.map((member) => member.status().warnings.some(({ what }) => what === 'peers'))).toEqual([
      false,
      true,
      true,
    ])
  },
)

it('are closed at any moment without an error in the worker that they share', async () => {
  const errors: unknown[] = []
  const watch = (worker: Worker): void => void worker.on('error', (error) => errors.push(error))
  process.on('worker', watch)
  onTestFinished(() => void process.off('worker', watch))
  const of = await three({ isolation: 'worker' })
  const leader = await into(of(1, 'led'))
  void leader.lead(untilItEnds)
  await into(of(2, 'led'))
  await until(() => leads(leader) === 'b')
  for (let round = 0; round < 6; round++) {
    // oxlint-disable no-await-in-loop -- one round after the other
    const member = await join(of(0, 'led'))
    await until(() => leads(member) === 'b')
    const [other] = await Promise.all([join(of(0, `other ${round}`)), member.close()])
    await other.close()
    // oxlint-enable no-await-in-loop
  }
  expect(errors).toEqual([])
}, 60_000)

describe.each(ISOLATIONS)('several groups at one address, in a %s', (isolation) => {
  it('have their own leaders over one session per pair, and closing one does not affect the others', async () => {
    const of = await three({ isolation, traceSteps: 20_000 })
    const groups = ['one', 'two', 'three']
    const all = await Promise.all(
      groups.map((group) => Promise.all(IDS.map((_, index) => into(of(index, group))))),
    )
    // Each process leads one of the groups.
    for (const [place, group] of all.entries()) void group[place]?.lead(untilItEnds)
    await until(() => all.every((group, place) => group.every((member) => leads(member) === IDS[place])))
    const [one = [], two = [], third = []] = all
    const token = two[1]?.view().leader?.token
    await Promise.all(one.map((member) => member.close()))
    expect(one.map(leads)).toEqual([null, null, null])
    await until(() => two.every((each) => leads(each) === 'b') && third.every((each) => leads(each) === 'c'))
    // A leader whose process leaves the group is replaced in that group only.
    void two[0]?.lead(untilItEnds)
    await two[1]?.close()
    await until(() => leads(two[0]) === 'a' && leads(two[2]) === 'a')
    expect(two[0]?.view().leader?.token).toBeGreaterThan(token as number)
    await until(() => third.every((each) => leads(each) === 'c'))

    // All datagrams from a to b, of any group, are one numbered sequence of one incarnation.
    const sent = await vi.waitUntil(
      async () => {
        const so = await datagramsTo('b', two[0] as ConclaveNode)
        return so.length > 10 && so
      },
      { timeout: 25_000, interval: 50 },
    )
    expect(new Set(sent.map(({ by }) => by)).size).toBe(1)
    expect(sent.every(({ number }, index) => index === 0 || number > (sent[index - 1]?.number ?? 0))).toBe(
      true,
    )
    const named = new Set(
      sent.flatMap(({ body }) => (body as Bundle | null)?.parts.map(({ group }) => group) ?? []),
    )
    expect([...named].sort()).toEqual(['one', 'three', 'two'])
    // After the last group is closed, another process may listen there.
    await Promise.all(members.map((member) => member.close()))
    await into(of(0, 'another'))
  }, 60_000)

  it('are refused where they disagree on shared settings, and the error names the field', async () => {
    const of = await three({ isolation })
    await into(of(0, 'one'))
    const other = isolation === 'worker' ? 'thread' : 'worker'
    const cases: readonly (readonly [string, Partial<JoinOptions>])[] = [
      ['group', { group: 'one' }],
      ['id', { id: 'x' }],
      ['key', { key: new Uint8Array(32).fill(4) }],
      ['key', { key: [KEY, KEY] }],
      ['secrecy', { secrecy: true }],
      ['isolation', { isolation: other }],
      ['peers', { peers: ['b=127.0.0.1:1'] }],
      ['peers[0]', { peers: ['127.0.0.1:1'] }],
    ]
    for (const [field, difference] of cases) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const refused = await join({ ...of(0, 'two'), ...difference }).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(InvalidOptionsError)
      expect((refused as InvalidOptionsError).field).toBe(field)
    }
    // The refused groups left nothing behind.
    const two = await into({ ...of(0, 'two'), peers: [] })
    await two.lead(async ({ token }) => expect(token).toBeGreaterThan(0), { once: true })
  }, 30_000)

  it('may have different processes; a peer is removed with the last group that names it', async () => {
    const of = await three({ isolation })
    const pair = (index: number): JoinOptions => ({
      ...of(index, 'pair'),
      peers: of(index, 'pair').peers.filter((peer) => !peer.startsWith('c=')),
    })
    const trio = await Promise.all(IDS.map((_, index) => into(of(index, 'trio'))))
    const duo = await Promise.all([0, 1].map((index) => into(pair(index))))
    void trio[2]?.lead(untilItEnds)
    void duo[1]?.lead(untilItEnds)
    await until(() => trio.every((each) => leads(each) === 'c') && duo.every((each) => leads(each) === 'b'))
    expect(duo[0]?.members().map(({ id }) => id)).toEqual(['a', 'b'])
    await trio[0]?.close()
    await until(() => leads(trio[1]) === 'c' && leads(duo[0]) === 'b')
  }, 30_000)

  it('keep their data in their own folders, and the process gets a new incarnation at each start', async () => {
    const of = await three({ isolation })
    const [first, second] = [newFolder(), newFolder()]
    const alone = (group: string, data: string): JoinOptions => ({ ...of(0, group), peers: [], data })
    const incarnation = (data: string): number =>
      JSON.parse(readFileSync(pathJoin(data, 'stable.json'), 'utf8')).data.layer
    const led = async (...joining: readonly JoinOptions[]): Promise<readonly number[]> => {
      const nodes: ConclaveNode[] = []
      // oxlint-disable-next-line no-await-in-loop -- the first opens
      for (const options of joining) nodes.push(await into(options))
      const tokens = await Promise.all(
        nodes.map(
          (node) =>
            new Promise<number>((resolve) => {
              void node.lead(async ({ token }) => resolve(token as number), { once: true })
            }),
        ),
      )
      await Promise.all(nodes.map((node) => node.close()))
      return tokens
    }
    const before = await led(alone('one', first), alone('two', second))
    expect(incarnation(first)).toBe(incarnation(second))
    const between = await led(alone('two', second))
    const after = await led(alone('one', first), alone('two', second))
    expect(incarnation(first)).toBe(incarnation(second))
    expect(after[0]).toBeGreaterThan(before[0] as number)
    expect(between[0]).toBeGreaterThan(before[1] as number)
    expect(after[1]).toBeGreaterThan(between[0] as number)
  }, 30_000)
})

describe('joining at an address', () => {
  it('waits for earlier calls, and may be aborted meanwhile', async () => {
    const of = await three()
    const given = new AbortController()
    // Its peers never answer with their ids.
    const first = join({ ...of(0, 'one'), peers: ['127.0.0.1:9'], signal: given.signal })
    const second = new AbortController()
    const waiting = join({ ...of(0, 'two'), signal: second.signal })
    second.abort(new Error('second'))
    await expect(waiting).rejects.toThrow('second')
    given.abort(new Error('first'))
    await expect(first).rejects.toThrow('first')
    await into(of(0, 'three'))
  })

  it('again is possible as soon as the last node is closed', async () => {
    const of = await three({ isolation: 'thread' })
    const one = await into(of(0, 'one'))
    const closed = one.close()
    await into(of(0, 'two'))
    await closed
    const again = await into(of(0, 'one'))
    expect([one.isClosed, again.isClosed]).toEqual([true, false])
  })
})

async function datagramsTo(to: string, member: ConclaveNode): Promise<readonly Datagram[]> {
  let text = ''
  for await (const piece of member.trace()) text += piece
  const effects = readTrace(text).records.flatMap((record): readonly Effect[] =>
    record.type === 'step' || record.type === 'start' ? record.effects : [],
  )
  return effects.flatMap((effect) =>
    effect.type === 'send' && effect.to === to ? [effect.body as unknown as Datagram] : [],
  )
}
