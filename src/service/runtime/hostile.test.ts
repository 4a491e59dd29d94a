/**
 * Hostile senders on the network: nothing that they send to a real socket adds a node or stops one. Each kind is logged
 * once.
 */
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { type Message, type NodeId, type Output, type PlainObject, present } from '../../core/index.ts'
import type { Part } from '../../links/index.ts'
import { type GroupSpec, peerHosting, protocolNamed } from '../../protocols/index.ts'
import { checkedOptions } from '../../workbench/sim/index.ts'
import { InvalidBytesError } from './bytes.ts'
import { Codec } from './codec.ts'
import { Endpoint } from './endpoint.ts'
import { type Sealer, sealer } from './seal.ts'
import { memoryStorage, type Storage } from './storage.ts'

const HERE = '127.0.0.1'
const KEY = new Uint8Array(32).fill(9)
const IDS = ['a', 'b', 'c']
// A busy machine must not make healthy processes look dead.
const PATIENT = { deltaMs: 200, fastMs: 401, sigmaMs: 2000, renewalIntervalMs: 100 }
const SPEC: GroupSpec = {
  protocol: 'local-leader',
  nodes: IDS,
  options: checkedOptions(present(protocolNamed('local-leader'), 'local-leader'), IDS, PATIENT),
}

type Running = {
  readonly id: NodeId
  readonly endpoint: Endpoint
  readonly storage: Storage
  readonly outputs: Output[]
  readonly refused: string[]
  readonly details: string[]
}

let running: Running[] = []
let stranger: Socket

afterEach(async () => {
  stranger.close()
  await Promise.all(running.map(({ endpoint }) => endpoint.close()))
  running = []
})

/** The number of steps that all nodes have taken. */
let steps = 0

/** The datagrams that went over the wire, for replay. */
const recorded: Buffer[] = []
const recording = (inner: Sealer): Sealer => ({
  seal(datagram) {
    const sealed = inner.seal(datagram)
    recorded.push(sealed)
    return sealed
  },
  flaw: (sealed) => inner.flaw(sealed),
  open: (sealed) => inner.open(sealed),
})

async function opened(id: NodeId, storage: Storage, port = 0): Promise<Running> {
  const outputs: Output[] = []
  const refused: string[] = []
  const details: string[] = []
  const endpoint = await Endpoint.open(
    {
      self: id,
      listen: { host: HERE, port },
      peers: [],
      sealer: recording(sealer([KEY], false)),
      storage,
    },
    {
      dropped({ reason, from, detail }) {
        refused.push(reason)
        details.push(`${from}: ${detail}`)
      },
      // A replayed datagram comes from another address, which is reported.
      warning(what, detail) {
        if (what !== 'conflict' && what !== 'address') expect.unreachable(detail)
      },
      failed: (error) => expect.unreachable(error.message),
      record() {
        steps += 1
      },
    },
  )
  const one = { id, endpoint, storage, outputs, refused, details }
  running.push(one)
  return one
}

async function gathered(): Promise<readonly Running[]> {
  stranger = createSocket('udp4')
  recorded.length = 0
  const all = await Promise.all(IDS.map((id) => opened(id, memoryStorage())))
  for (const { id, endpoint } of all) {
    for (const other of all) {
      if (other.id === id) continue
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await endpoint.addPeer({ id: other.id, address: { host: HERE, port: other.endpoint.port } })
    }
  }
  for (const { endpoint, outputs } of all) {
    endpoint.join('g', SPEC, {
      output: (event) => outputs.push(event),
      warn: (_what, detail) => expect.unreachable(detail),
    })
  }
  await until(() => all.every(({ endpoint }) => endpoint.view('g').leader === 'a'))
  return all
}

/** As many datagrams as the system takes, without filling its buffers. */
async function send(
  all: readonly Running[],
  count: number,
  make: (index: number) => Uint8Array,
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const { endpoint } = all[index % all.length] as Running
    stranger.send(make(index), endpoint.port, HERE)
    // oxlint-disable-next-line no-await-in-loop -- buffers must be emptied in between
    if (index % 60 === 59) await setImmediate()
  }
}

function receiverOf(sealed: Buffer): NodeId | null {
  const bytes = sealer([KEY], false).open(sealed)
  const envelope = typeof bytes === 'string' ? null : new Codec().decode(bytes)
  return envelope === null || envelope instanceof InvalidBytesError ? null : envelope.to
}

/** A message of a process that has the key, in its ninth incarnation. */
function strange(from: NodeId, to: NodeId, group: string): Uint8Array {
  const part = { group, config: 1, body: { kind: 'x' } }
  const session = { config: 0, by: 9, for: 1, number: 1, sent: 1, awake: null, echo: null }
  const body = { kind: 'datagram', ...session, body: { kind: 'bundle', parts: [part] } }
  return sealer([KEY], false).seal(new Codec().encode({ from, to, body }))
}

/** All nodes support a renewal that starts now: no session was harmed. */
async function renewedByAll(all: readonly Running[]): Promise<void> {
  const { endpoint } = all[2] as Running
  const rounds = new Set([endpoint.view('g').until])
  await until(() => {
    // Each round reports the supporters of the previous one. The first may have started earlier.
    const { until: end, members } = endpoint.view('g')
    rounds.add(end)
    return rounds.size > 3 && members?.join() === IDS.join()
  })
}

const dropped = (all: readonly Running[]): number =>
  all.reduce((sum, { endpoint }) => sum + endpoint.counts.dropped, 0)

describe('50,000 datagrams of unknown senders', () => {
  it('change nothing: garbage, truncated, with another key, for other nodes, of other groups, replayed', async () => {
    const all = await gathered()
    const { token } = (all[0] as Running).endpoint.view('g')
    const good = recorded.slice(0, 200)
    const right = sealer([KEY], false)
    const wrong = sealer([new Uint8Array(32).fill(1)], false)
    const changed = (bytes: Buffer, index: number): Buffer => {
      const copy = Buffer.from(bytes)
      const at = 5 + (index % (copy.length - 5))
      copy[at] = (copy[at] as number) ^ 1
      return copy
    }
    const made: Uint8Array[] = good.flatMap((bytes, index) => [
      randomBytes(1 + index),
      bytes.subarray(0, (index * 7) % bytes.length),
      changed(bytes, index * 13),
      wrong.seal(new Uint8Array(40)),
      right.seal(randomBytes(50)),
      strange('mallory', IDS[index % 3] as string, 'g'),
      strange('a', 'another', 'g'),
      strange('a', 'b', 'another group'),
      bytes,
    ])
    const before = dropped(all)
    const began = performance.now()
    // Each of them goes to each process. A busy system loses some, so more are sent until enough were refused.
    for (let sent = 0; sent < 50_000 || dropped(all) - before < 20_000; sent += 5000) {
      // oxlint-disable-next-line no-await-in-loop -- one part after the other
      await send(all, 5000, (index) => made[Math.floor((sent + index) / 3) % made.length] as Uint8Array)
    }
    const intervals = Math.ceil((performance.now() - began) / 10_000)
    for (const { endpoint, outputs, refused } of all) {
      expect(endpoint.counts.sessions).toBe(2)
      expect(outputs.filter(({ type }) => type === 'demoted' || type === 'mismatch')).toEqual([])
      // Each reason is reported at once, and again after ten seconds at the earliest.
      for (const reason of new Set(refused)) {
        expect(refused.filter((each) => each === reason).length).toBeLessThanOrEqual(1 + intervals)
      }
      for (const reason of ['too short', 'unknown format', 'unknown key', 'not authentic']) {
        expect(refused).toContain(reason)
      }
    }
    await renewedByAll(all)
    expect(all.map(({ endpoint }) => endpoint.view('g').leader)).toEqual(['a', 'a', 'a'])
    expect((all[0] as Running).endpoint.view('g').token).toBe(token)
  }, 60_000)

  it.each<[string, string, (recorded: readonly Buffer[]) => readonly Uint8Array[]]>([
    ['replayed', 'heard before', (good) => good],
    [
      'with another key',
      'unknown key',
      (good) => good.map((bytes) => sealer([new Uint8Array(32).fill(1)], false).seal(bytes)),
    ],
    [
      'with the right key and a wrong seal',
      'not authentic',
      (good) =>
        good.map((bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) ?? 0) ^ 1)])),
    ],
    ['of another group', 'another group', () => [strange('b', 'a', 'another group')]],
  ])(
    '%s, from the address of a peer, do not depose the leader, and are reported once',
    async (_, why, made) => {
      const all = await gathered()
      const [a] = all as [Running]
      await new Promise<void>((resolve) => stranger.bind(0, HERE, () => resolve()))
      await a.endpoint.addPeer({ id: 'd', address: { host: HERE, port: stranger.address().port } })
      const { token } = a.endpoint.view('g')
      const flood = made(recorded.filter((bytes) => receiverOf(bytes) === 'a').slice(-50))
      const began = performance.now()
      const before = a.endpoint.counts.dropped
      while (a.endpoint.counts.dropped - before < 5000) {
        // oxlint-disable-next-line no-await-in-loop -- one part after the other
        await send([a], 1000, (index) => flood[index % flood.length] as Uint8Array)
      }
      await renewedByAll(all)
      expect(a.outputs.filter(({ type }) => type === 'demoted')).toEqual([])
      expect(a.endpoint.view('g').token).toBe(token)
      const intervals = Math.ceil((performance.now() - began) / 10_000)
      expect(new Set(a.refused)).toEqual(new Set([why]))
      expect(a.refused.length).toBeLessThanOrEqual(1 + intervals)
    },
    60_000,
  )

  it('of another group, whose sender has the key and the id of a peer, do not replace it', async () => {
    const all = await gathered()
    const b = all[1] as Running
    await send([b], 1, () => strange('a', 'b', 'another group'))
    await until(() => b.refused.includes('another group'))
    await renewedByAll(all)
    expect(b.endpoint.counts.sessions).toBe(2)
  }, 60_000)

  it('that were recorded are also refused after a restart', async () => {
    const all = await gathered()
    await Promise.all(all.map(({ endpoint }) => endpoint.close()))
    running = []
    const { storage } = all[1] as Running
    const again = await opened('b', storage)
    // As if they came from the addresses of the peers.
    await new Promise<void>((resolve) => stranger.bind(0, HERE, () => resolve()))
    const address = { host: HERE, port: stranger.address().port }
    await Promise.all(['a', 'c'].map((id) => again.endpoint.addPeer({ id, address })))
    again.endpoint.join('g', SPEC, { output: (event) => again.outputs.push(event), warn: () => {} })
    const { received } = again.endpoint.counts
    const meant = recorded.filter((bytes) => receiverOf(bytes) === 'b')
    const before = steps
    for (let round = 0; again.endpoint.counts.received - received < 3000; round++) {
      // oxlint-disable-next-line no-await-in-loop -- one part after the other
      await send([again], 60, (index) => meant[(60 * round + index) % meant.length] as Buffer)
    }
    // All but the few that a restarted process answers, because it knows no session yet.
    expect(again.endpoint.counts.dropped).toBeGreaterThan(2900)
    expect([...again.endpoint.heard.keys()]).toEqual([])
    // A replay takes no step, except for an occasional answer, so the black box keeps its history.
    expect(steps - before).toBeLessThan(500)
    expect(again.endpoint.counts.sessions).toBe(0)
    expect(again.endpoint.insight('g').heard).toEqual([])
    expect(again.endpoint.view('g').leader).toBeNull()
  }, 60_000)
})

describe('a node with the right key that sends implausible messages', () => {
  type Session = PlainObject & {
    readonly number: number
    readonly body: { readonly parts: readonly Part[] } | null
  }

  /** The last message of b to a, changed, as if b sent it next. */
  function changed(change: (part: Part) => Part, number: (last: number) => number): Uint8Array {
    const codec = new Codec()
    codec.learn('g', peerHosting('local-leader').wire)
    const right = sealer([KEY], false)
    for (const sealed of recorded.toReversed()) {
      const bytes = right.open(sealed)
      const envelope = typeof bytes === 'string' ? null : codec.decode(bytes)
      if (envelope === null || envelope instanceof InvalidBytesError) continue
      const { from, to, body } = envelope
      const session = body as unknown as Session
      if (from !== 'b' || to !== 'a' || session.body === null || session.body.parts.length === 0) continue
      const parts = session.body.parts.map(change)
      const next = { ...session, number: number(session.number), body: { kind: 'bundle', parts } }
      return right.seal(codec.encode({ from, to, body: next as unknown as Message }))
    }
    throw new Error('b has sent nothing to a')
  }

  const withSeen =
    (seen: number) =>
    (part: Part): Part => {
      const beacon = part.body['beacon'] as PlainObject
      return {
        ...part,
        body: { ...part.body, beacon: { ...beacon, seen: { number: seen, owner: 'b' } } },
      }
    }

  it('is refused, counted and named, and the group keeps its token', async () => {
    const all = await gathered()
    const a = all[0] as Running
    const { token } = a.endpoint.view('g')
    await renewedByAll(all)
    const { dropped: before } = a.endpoint.counts
    await send([a], 3, () => changed(withSeen(2 ** 51), (last) => last + 2 ** 40))
    await until(() => a.refused.includes('implausible'))
    expect(a.endpoint.counts.dropped).toBeGreaterThan(before)
    expect(a.details.find((detail) => detail.includes('beacon.seen.number is 2251799813685248'))).toMatch(
      /^node b: g: /,
    )
    await renewedByAll(all)
    expect(a.endpoint.view('g').token).toBe(token)
  }, 60_000)
})
