// npm run bench -- flood: 50,000 datagrams a second of strangers at the leader of three processes; what one costs.
import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Codec, sealer } from '../dist/runtime/index.js'

const RATE = 50_000
const SECONDS = 5
const BURST = 50
const CONSTANTS = { deltaMs: 100, fastMs: 201, sigmaMs: 300, renewalIntervalMs: 100 }
const KEY = new Uint8Array(32).fill(7)

/** What strangers may send, from the cheapest to refuse to the dearest. */
const FLOODS = {
  garbage: Buffer.alloc(120, 0xaa),
  'unknown key': sealer([new Uint8Array(32).fill(1)], false).seal(new Uint8Array(100)),
  'right key name, wrong tag': damaged(sealer([KEY], false).seal(new Uint8Array(100))),
  'for somebody else': envelopeForNobody(),
}

function damaged(sealed) {
  sealed[sealed.length - 1] ^= 1
  return sealed
}

const ask = async (child, what) => {
  child.send(what)
  const [answer] = await once(child, 'message')
  return answer
}

/** Sends at the rate, as far as this process gets its turns. */
async function flood(bytes, port) {
  const socket = createSocket('udp4')
  const began = performance.now()
  let sent = 0
  for (;;) {
    const due = Math.min(RATE * SECONDS, ((performance.now() - began) / 1000) * RATE)
    for (let each = 0; each < BURST && sent < due; each++, sent++) socket.send(bytes, port, '127.0.0.1')
    if (performance.now() - began > SECONDS * 1000) break
    // oxlint-disable-next-line no-await-in-loop -- one burst after the other
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.close()
  return sent / ((performance.now() - began) / 1000)
}

export async function printFlood() {
  const script = fileURLToPath(new URL('groups-process.mjs', import.meta.url))
  const children = ['a', 'b', 'c'].map((id) =>
    fork(script, [id, '1', JSON.stringify(CONSTANTS)], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  )
  try {
    const peers = await Promise.all(
      children.map(async (child, index) => {
        const [{ port }] = await once(child, 'message')
        return { id: ['a', 'b', 'c'][index], port }
      }),
    )
    await Promise.all(children.map((child) => ask(child, { peers })))
    const leader = children[0]
    await led(leader)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    console.log(`a flood at the leader for ${SECONDS} s, ${RATE} datagrams/s wanted; idle cost is taken off`)
    console.log('what                        sent/s  refused/s  CPU (of a core)  µs each  leads lost')
    const idle = await during(leader, () => new Promise((resolve) => setTimeout(resolve, 2000)))
    for (const [what, bytes] of Object.entries(FLOODS)) {
      let rate = 0
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { refused, cpu, lost } = await during(leader, async () => {
        rate = await flood(bytes, peers[0].port)
      })
      const each = ((cpu - idle.cpu) * 10_000) / refused
      console.log(
        `${what.padEnd(26)} ${rate.toFixed(0).padStart(7)} ${refused.toFixed(0).padStart(10)} ` +
          `${`${cpu.toFixed(0)} %`.padStart(16)} ${each.toFixed(1).padStart(8)} ${String(lost).padStart(11)}`,
      )
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

function envelopeForNobody() {
  const session = { config: 0, by: 9, for: 1, number: 1, sent: 1, echo: null }
  const body = { kind: 'datagram', ...session, body: { kind: 'bundle', parts: [] } }
  return sealer([KEY], false).seal(new Codec().encode({ from: 'b', to: 'nobody', body }))
}

async function led(leader) {
  if ((await ask(leader, { ask: 'led' })).led > 0) return
  await new Promise((resolve) => setTimeout(resolve, 100))
  await led(leader)
}

/** What the leader does meanwhile, a second. */
async function during(leader, happens) {
  const before = await ask(leader, { ask: 'figures' })
  const from = performance.now()
  await happens()
  const after = await ask(leader, { ask: 'figures' })
  const seconds = (performance.now() - from) / 1000
  return {
    refused: (after.dropped - before.dropped) / seconds,
    cpu: (after.cpuMs - before.cpuMs) / seconds / 10,
    lost: after.demoted - before.demoted,
  }
}
