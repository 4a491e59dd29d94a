/**
 * A process of its own that sends hostile datagrams: noise, real ones cut short, with bits flipped, or sent again. It is
 * given on standard input, as JSON: { "ports", "recorded": [{ "port", "hex" }], "count", "perSecond" }.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

export type FloodOrder = {
  readonly ports: readonly number[]
  readonly recorded: readonly { readonly port: number; readonly hex: string }[]
  readonly count: number
  readonly perSecond: number
}

/** What is sent in one go. */
const BATCH = 100
const LONGEST_NOISE = 1400
const NOISES = 200

const order = JSON.parse(await text(process.stdin)) as FloodOrder
const recorded = order.recorded.map(({ port, hex }) => ({ port, bytes: Buffer.from(hex, 'hex') }))
const noises = Array.from({ length: NOISES }, () => randomBytes(randomInt(LONGEST_NOISE)))
const socket = createSocket('udp4')
await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
const began = performance.now()
for (let sent = 0; sent < order.count; sent += BATCH) {
  const batch = Array.from({ length: Math.min(BATCH, order.count - sent) }, one)
  // oxlint-disable-next-line no-await-in-loop -- as fast as they go out
  await Promise.all(batch.map(({ port, bytes }) => send(socket, bytes, port)))
  const due = ((sent + BATCH) / order.perSecond) * 1000
  const ahead = due - (performance.now() - began)
  // oxlint-disable-next-line no-await-in-loop -- at the rate that was asked for
  if (ahead > 1) await setTimeout(ahead)
}
process.stdout.write(JSON.stringify({ seconds: (performance.now() - began) / 1000 }))
socket.close()

function one(): { readonly port: number; readonly bytes: Buffer } {
  const real = recorded[randomInt(Math.max(1, recorded.length))]
  const kind = real === undefined ? 0 : randomInt(4)
  const noise = {
    port: order.ports[randomInt(order.ports.length)] ?? 0,
    bytes: noises[randomInt(NOISES)] as Buffer,
  }
  if (real === undefined || kind === 0) return noise
  if (kind === 1) return { port: real.port, bytes: real.bytes.subarray(0, randomInt(real.bytes.length)) }
  if (kind === 2) return real
  const bytes = Buffer.from(real.bytes)
  const at = randomInt(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << randomInt(8))
  return { port: real.port, bytes }
}

function send(out: Socket, bytes: Buffer, port: number): Promise<void> {
  return new Promise((resolve) => out.send(bytes, port, '127.0.0.1', () => resolve()))
}
