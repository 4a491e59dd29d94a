/**
 * A separate process that sends hostile datagrams: random bytes, and recorded datagrams that are truncated, corrupted or
 * replayed. It reads its request from standard input: { "ports", "recorded": [{ "port", "hex" }], "count", "perSecond" }.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

export type FloodRequest = {
  readonly ports: readonly number[]
  readonly recorded: readonly { readonly port: number; readonly hex: string }[]
  readonly count: number
  readonly perSecond: number
}

/** Datagrams per batch. */
const BATCH = 100
const MAX_NOISE_BYTES = 1400
const NOISE_COUNT = 200

const flood = JSON.parse(await text(process.stdin)) as FloodRequest
const recorded = flood.recorded.map(({ port, hex }) => ({ port, bytes: Buffer.from(hex, 'hex') }))
const noise = Array.from({ length: NOISE_COUNT }, () => randomBytes(randomInt(MAX_NOISE_BYTES)))
const socket = createSocket('udp4')
await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
const startedAt = performance.now()
for (let sent = 0; sent < flood.count; sent += BATCH) {
  const batch = Array.from({ length: Math.min(BATCH, flood.count - sent) }, nextDatagram)
  // oxlint-disable-next-line no-await-in-loop -- backpressure: wait for the socket
  await Promise.all(batch.map(({ port, bytes }) => send(socket, bytes, port)))
  const due = ((sent + BATCH) / flood.perSecond) * 1000
  const ahead = due - (performance.now() - startedAt)
  // oxlint-disable-next-line no-await-in-loop -- keep the requested rate
  if (ahead > 1) await setTimeout(ahead)
}
process.stdout.write(JSON.stringify({ seconds: (performance.now() - startedAt) / 1000 }))
socket.close()

function nextDatagram(): { readonly port: number; readonly bytes: Buffer } {
  const real = recorded[randomInt(Math.max(1, recorded.length))]
  const kind = real === undefined ? 0 : randomInt(4)
  const random = {
    port: flood.ports[randomInt(flood.ports.length)] ?? 0,
    bytes: noise[randomInt(NOISE_COUNT)] as Buffer,
  }
  if (real === undefined || kind === 0) return random
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
