// npm run bench -- flood: the cost of a hostile datagram, at 50,000 per second to the leader of three processes. Datagrams
// from an unknown address are sampled; datagrams from the address of a peer are all checked.
import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Codec, sealer } from '../dist/service/runtime/index.js'

const RATE = 50_000
const SECONDS = 5
const BURST = 50
const CONSTANTS = { deltaMs: 100, fastMs: 201, sigmaMs: 300, renewalIntervalMs: 100 }
const KEY = new Uint8Array(32).fill(7)

/** Kinds of floods, ordered by the cost of refusing them. `recorded` are real datagrams to the leader. */
const floods = (recorded) => ({
  garbage: [Buffer.alloc(120, 0xaa)],
  'another key': recorded.map((bytes) => sealer([new Uint8Array(32).fill(1)], false).seal(bytes)),
  'right key name, wrong tag': recorded.map(damaged),
  'for another node': [sealed('b', 'unknown', 'group-0')],
  'of another group': [sealed('b', 'a', 'another group')],
  replayed: recorded,
})

function damaged(bytes) {
  const copy = Buffer.from(bytes)
  copy[copy.length - 1] ^= 1
  return copy
}

const ask = async (child, what) => {
  child.send(what)
  const [answer] = await once(child, 'message')
  return answer
}

/** Sends at the given rate, as far as CPU time permits. */
async function flood(datagrams, socket, port) {
  const began = performance.now()
  let sent = 0
  for (;;) {
    const due = Math.min(RATE * SECONDS, ((performance.now() - began) / 1000) * RATE)
    for (let each = 0; each < BURST && sent < due; each++, sent++) {
      socket.send(datagrams[sent % datagrams.length], port, '127.0.0.1')
    }
    if (performance.now() - began > SECONDS * 1000) break
    // oxlint-disable-next-line no-await-in-loop -- one burst after the other
    await new Promise((resolve) => setImmediate(resolve))
  }
  return sent / ((performance.now() - began) / 1000)
}

export async function printFlood() {
  const script = fileURLToPath(new URL('groups-process.mjs', import.meta.url))
  const children = ['a', 'b', 'c'].map((id) =>
    fork(script, [id, '1', JSON.stringify(CONSTANTS), 'record'], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
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
    const { sent } = await ask(children[1], { ask: 'sent to', to: 'a' })
    const recorded = sent.map((hex) => Buffer.from(hex, 'hex'))
    const [stranger, peer] = [createSocket('udp4'), createSocket('udp4')]
    await Promise.all(
      [stranger, peer].map((socket) => new Promise((done) => socket.bind(0, '127.0.0.1', done))),
    )
    const address = { host: '127.0.0.1', port: peer.address().port }
    await ask(leader, { peer: { id: 'd', address } })
    console.log(`a flood at the leader for ${SECONDS} s, ${RATE} datagrams/s wanted; idle cost is taken off`)
    console.log('what                        from       sent/s  refused/s  CPU  µs each  lines  leads lost')
    const idle = await during(leader, () => new Promise((resolve) => setTimeout(resolve, 2000)))
    for (const [what, datagrams] of Object.entries(floods(recorded))) {
      for (const [from, socket] of Object.entries({ stranger, peer })) {
        let rate = 0
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { refused, cpu, lost, said } = await during(leader, async () => {
          rate = await flood(datagrams, socket, peers[0].port)
        })
        const each = ((cpu - idle.cpu) * 10_000) / refused
        console.log(
          `${what.padEnd(27)} ${from.padEnd(8)} ${rate.toFixed(0).padStart(8)} ${refused.toFixed(0).padStart(10)} ` +
            `${`${cpu.toFixed(0)} %`.padStart(5)} ${each.toFixed(1).padStart(7)} ${String(said).padStart(6)} ${String(lost).padStart(11)}`,
        )
      }
    }
    stranger.close()
    peer.close()
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

/** With the right key, in a group. */
function sealed(from, to, group) {
  const part = { group, config: 1, body: { kind: 'x' } }
  const session = { config: 0, by: 9, for: 1, number: 1, sent: 1, awake: null, echo: null }
  const body = { kind: 'datagram', ...session, body: { kind: 'bundle', parts: [part] } }
  return sealer([KEY], false).seal(new Codec().encode({ from, to, body }))
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
    said: after.said - before.said,
  }
}
