/** A flood of datagrams from unknown addresses, and a peer that sends from an unlisted address. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { NodeId } from '../../core/index.ts'
import { Codec } from './codec.ts'
import { sealer } from './seal.ts'
import { type DropReason, Udp } from './udp.ts'

const HERE = '127.0.0.1'
const KEY = new Uint8Array(32).fill(7)
const keys = sealer([KEY], false)
const codec = new Codec()
/** An authentic datagram from `from`. */
const good = (from: NodeId): Uint8Array =>
  keys.seal(codec.encode({ from, to: 'me', body: { kind: 'Settings', agreed: {} } }))
const bad = Buffer.from(good('b'))
bad[bad.length - 1] = (bad.at(-1) ?? 0) ^ 1

const opened: { close(): unknown }[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()))
})

async function socketFor(port: number): Promise<(bytes: Uint8Array) => Promise<void>> {
  const socket: Socket = createSocket('udp4')
  opened.push(socket)
  await new Promise<void>((resolve) => socket.bind(0, HERE, resolve))
  // Datagrams are read in a later iteration of the event loop.
  return (bytes) => new Promise((resolve) => socket.send(bytes, port, HERE, () => setImmediate(resolve)))
}

/** Handles datagrams by `verdict`, and records which were accepted and which were dropped. */
async function listening(verdict: (from: NodeId) => DropReason | null) {
  const heard: NodeId[] = []
  const udp = await Udp.open(
    { self: 'me', listen: { host: HERE, port: 0 }, sealer: keys, codec },
    {
      isPeer: () => false,
      message(from) {
        heard.push(from)
        return verdict(from)
      },
      dropped: () => {},
    },
  )
  opened.push(udp)
  return { udp, heard, dropped: () => udp.counts.dropped }
}

/** A flood: more datagrams of one kind than the rate limit allows. */
async function flood(send: (bytes: Uint8Array) => Promise<void>, dropped: () => number): Promise<void> {
  const before = dropped()
  for (let sent = 0; sent < 400 || (dropped() - before < 300 && sent < 20_000); sent++) {
    // oxlint-disable-next-line no-await-in-loop -- all at once would not fit in the socket's buffer, and be lost uncounted
    await send(bad)
  }
}

it('accepts a known sender at an unlisted address during a flood', async () => {
  const { udp, heard, dropped } = await listening(() => null)
  const [peer, stranger] = [await socketFor(udp.port), await socketFor(udp.port)]
  await peer(good('b'))
  await until(() => heard.length === 1)
  const amidFlood = async (time: number): Promise<void> => {
    await flood(stranger, dropped)
    await peer(good('b'))
    await until(() => heard.length === time)
  }
  for (let time = 2; time <= 6; time++) {
    // oxlint-disable-next-line no-await-in-loop -- one flood after the other: what was heard in it makes it known for the next
    await amidFlood(time)
  }
  expect(new Set(heard)).toEqual(new Set(['b']))
})

it('counts replayed datagrams against the rate limit of unknown senders', async () => {
  const { udp, heard, dropped } = await listening(() => 'heard before')
  const replayer = await socketFor(udp.port)
  const began = performance.now()
  for (let sent = 0; sent < 2000 || (dropped() < 1500 && sent < 20_000); sent++) {
    // oxlint-disable-next-line no-await-in-loop -- all at once would not fit in the socket's buffer, and be lost uncounted
    await replayer(good('b'))
  }
  const windows = Math.ceil((performance.now() - began) / 100) + 1
  expect(heard.length).toBeLessThanOrEqual(200 * windows)
  expect(dropped()).toBeGreaterThanOrEqual(1500)
})

it('reports each peer that uses another key, also during a flood', async () => {
  const peers = new Set<number>()
  const reported: string[] = []
  const udp = await Udp.open(
    { self: 'me', listen: { host: HERE, port: 0 }, sealer: keys, codec },
    {
      isPeer: (_host, port) => peers.has(port),
      message: () => null,
      dropped: ({ reason, from }) => reported.push(`${reason} ${from}`),
    },
  )
  opened.push(udp)
  const foreign = sealer([new Uint8Array(32).fill(8)], false).seal(new Uint8Array(20))
  const expected: string[] = []
  for (const isPeer of [false, false, true, true]) {
    const socket = createSocket('udp4')
    opened.push(socket)
    // oxlint-disable-next-line no-await-in-loop -- one sender after the other
    await new Promise<void>((resolve) => socket.bind(0, HERE, resolve))
    const { port } = socket.address()
    if (isPeer) peers.add(port)
    if (isPeer || expected.length === 0) expected.push(`unknown key ${HERE}:${port}`)
    const before = udp.counts.dropped
    socket.send(foreign, udp.port, HERE)
    // oxlint-disable-next-line no-await-in-loop -- one sender after the other
    await until(() => udp.counts.dropped > before)
  }
  expect(reported).toEqual(expected)
})
