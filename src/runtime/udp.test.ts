import { createSocket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { sent } from '../../test/support/messages.ts'
import { until } from '../../test/support/wait.ts'
import type { NodeId, Output } from '../core/index.ts'
import { protocolNamed } from '../protocols/index.ts'
import { checkedOptions } from '../sim/index.ts'
import { openHostClock } from './clock.ts'
import { Loop } from './loop.ts'
import { sealer } from './seal.ts'
import { memoryStorage } from './storage.ts'
import { type DropReason, Udp } from './udp.ts'

const HERE = '127.0.0.1'
const KEY = new Uint8Array(32).fill(9)

type Member = {
  readonly id: NodeId
  readonly udp: Udp
  readonly loop: Loop
  readonly outputs: Output[]
  readonly drops: DropReason[]
}

let members: Member[] = []

afterEach(async () => {
  for (const { loop } of members) loop.stop()
  await Promise.all(members.map(({ udp }) => udp.close()))
  members = []
})

/** Real loops over real datagrams, in this one process. */
async function gather(ids: readonly NodeId[], options: object = {}): Promise<Member[]> {
  const definition = protocolNamed('local-leader')
  if (definition === null) throw new Error('local-leader is missing')
  const settings = checkedOptions(definition, ids, { mode: 'majority', ...options })
  members = await Promise.all(
    ids.map(async (id): Promise<Member> => {
      const outputs: Output[] = []
      const drops: DropReason[] = []
      const peers = ids
        .filter((other) => other !== id)
        .map((other) => ({ id: other, address: { host: HERE, port: 1 } }))
      const udp = await Udp.open(
        { group: 'test', self: id, listen: { host: HERE, port: 0 }, peers, sealer: sealer([KEY], false) },
        { message: (from, body) => loop.message(from, body), dropped: (reason) => drops.push(reason) },
      )
      const loop = new Loop(
        definition.create({ self: id, nodes: ids }, settings),
        openHostClock(),
        memoryStorage(),
        {
          send: (to, body) => udp.send(to, body),
          output: (event) => outputs.push(event),
          trouble: (error) => expect.unreachable(error.message),
          failed: (error) => expect.unreachable(error.message),
        },
      )
      return { id, udp, loop, outputs, drops }
    }),
  )
  for (const { udp, id } of members) {
    for (const other of members)
      if (other.id !== id) udp.reach(other.id, { host: HERE, port: other.udp.port })
  }
  for (const { loop } of members) loop.start()
  return members
}

const leaders = (): readonly NodeId[] =>
  members.filter(({ loop }) => loop.view().role === 'leader').map(({ id }) => id)

const allFollow = (leader: NodeId): boolean => members.every(({ loop }) => loop.view().leader === leader)

// A busy machine must not make healthy processes look dead.
const PATIENT = { sigmaMs: 300, renewalIntervalMs: 100 }

describe('real datagrams', () => {
  it('elect one leader; when it is gone the next leads, with a larger token', async () => {
    await gather(['a', 'b', 'c'], PATIENT)
    await until(() => allFollow('a'))
    expect(leaders()).toEqual(['a'])
    const first = members[1]?.loop.view().token as number
    const [gone] = members.splice(0, 1)
    gone?.loop.stop()
    await gone?.udp.close()
    await until(() => allFollow('b'))
    expect(members[0]?.loop.view().token as number).toBeGreaterThan(first)
  }, 30_000)

  it('hand the lead over', async () => {
    await gather(['a', 'b', 'c'], PATIENT)
    await until(() => allFollow('a'))
    members[0]?.loop.command({ do: 'stepDown' })
    await until(() => allFollow('b'))
    expect(members[1]?.outputs.filter(({ type }) => type === 'elected')).toMatchObject([
      { cause: 'handed over' },
    ])
  }, 30_000)

  it('of strangers are dropped, counted, and reported once for each reason', async () => {
    const [member] = await gather(['a'], PATIENT)
    if (member === undefined) throw new Error('nobody is there')
    const stranger = createSocket('udp4')
    const flood = (bytes: Uint8Array): void => {
      for (let each = 0; each < 50; each++) stranger.send(bytes, member.udp.port, HERE)
    }
    flood(new Uint8Array(3))
    flood(new Uint8Array(100))
    flood(sealer([new Uint8Array(32)], false).seal(new Uint8Array(20)))
    flood(sealer([KEY], false).seal(new Uint8Array(20)))
    await until(() => member.udp.counts.dropped === 200)
    expect(member.drops.toSorted()).toEqual(['too short', 'unknown format', 'unknown key', 'unreadable'])
    expect(leaders().length).toBeLessThanOrEqual(1)
    stranger.close()
  }, 30_000)
})

describe('closing', () => {
  it('lets out what was sent before: the last word of a leader is that it hands over', async () => {
    const receiver = createSocket('udp4')
    let received = 0
    receiver.on('message', () => (received += 1))
    await new Promise<void>((resolve) => receiver.bind(0, HERE, resolve))
    const peers = [{ id: 'b', address: { host: HERE, port: receiver.address().port } }]
    const udp = await Udp.open(
      { group: 'test', self: 'a', listen: { host: HERE, port: 0 }, peers, sealer: sealer([KEY], false) },
      { message: () => {}, dropped: () => {} },
    )
    for (const body of sent('local-leader', {}).slice(0, 20)) udp.send('b', body)
    await udp.close()
    await until(() => received >= 20)
    expect(received).toBe(20)
    await new Promise<void>((resolve) => receiver.close(() => resolve()))
  })
})
