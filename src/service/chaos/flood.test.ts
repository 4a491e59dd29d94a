/** The flood is a process of its own: started from the build, as `conclave chaos garbage` does. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { FloodRequest } from './flood.ts'

const SCRIPT = fileURLToPath(new URL('../../../dist/service/chaos/flood.js', import.meta.url))
/** Few enough for the socket's buffer, so that none is lost while this process is busy. */
const COUNT = 100
const RECORDED = Buffer.from('a recorded datagram of some length')

async function flood(request: Omit<FloodRequest, 'ports' | 'recorded'>, isRecorded: boolean) {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const received: Buffer[] = []
  socket.on('message', (bytes) => received.push(bytes))
  const { port } = socket.address()
  const recorded = isRecorded ? [{ port, hex: RECORDED.toString('hex') }] : []
  const child = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify({ ...request, ports: [port], recorded } satisfies FloodRequest))
  const { seconds } = JSON.parse(await text(child.stdout)) as { seconds: number }
  await until(() => received.length >= request.count)
  await new Promise<void>((resolve) => socket.close(() => resolve()))
  return { received, seconds }
}

it('sends as many datagrams as asked for, no faster than asked for', async () => {
  const { received, seconds } = await flood({ count: COUNT, perSecond: 1000 }, false)
  expect(received).toHaveLength(COUNT)
  expect(seconds).toBeGreaterThan(0.09)
  expect(received.every(({ length }) => length < 1400)).toBe(true)
})

it('mixes noise with recorded datagrams: replayed, truncated, and with one flipped bit', async () => {
  const { received } = await flood({ count: COUNT, perSecond: 3000 }, true)
  const flippedBits = (bytes: Buffer): number =>
    bytes.reduce((sum, byte, index) => sum + bitCount(byte ^ (RECORDED[index] ?? 0)), 0)
  const whole = received.filter(({ length }) => length === RECORDED.length)
  expect(whole.some((bytes) => bytes.equals(RECORDED))).toBe(true)
  expect(whole.some((bytes) => flippedBits(bytes) === 1)).toBe(true)
  const shorter = received.filter(({ length }) => length < RECORDED.length && length > 0)
  expect(shorter.some((bytes) => bytes.equals(RECORDED.subarray(0, bytes.length)))).toBe(true)
  expect(received.some(({ length }) => length > RECORDED.length)).toBe(true)
})

function bitCount(byte: number): number {
  return byte.toString(2).replaceAll('0', '').length
}
