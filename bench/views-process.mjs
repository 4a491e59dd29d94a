// One process of bench/views.mjs: records link changes and view installations with the machine's monotonic clock, and
// reports them, and its traffic, on request.
import { createInterface } from 'node:readline'
import { join } from '../dist/service/node/index.js'

const { delayMs, ...settings } = JSON.parse(process.argv[2])
/** Kept in memory until requested: printing during the measurement would measure the pipe and its reader as well. */
const noted = []
const note = (what) => noted.push({ atMs: Number(process.hrtime.bigint()) / 1e6, ...what })
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)

const node = await join({
  ...settings,
  key: new Uint8Array(32).fill(7),
  traceSteps: 200_000,
  isolation: 'thread',
})
if (delayMs > 0) {
  const slow = { cut: false, delayMs: [delayMs, delayMs], loss: 0 }
  node.injectFaults(Object.fromEntries(settings.peers.map((peer) => [peer.split('=')[0], slow])))
}
node.on('link', ({ peer, up }) => note({ link: peer, up }))
node.on('view', ({ id, members }) => note({ view: id, members }))
void node.lead((term) => new Promise((resolve) => term.signal.addEventListener('abort', resolve)))

/** The messages of the group in one datagram. */
const bodiesIn = (datagram) => (datagram.body?.parts ?? []).map(({ body }) => body)

/**
 * The protocol's own messages that this process has sent, by kind, without repetitions; and how long those since `fromMs`
 * took to be acknowledged.
 */
async function countTraffic(fromMs) {
  let text = ''
  for await (const piece of node.trace()) text += piece
  const kinds = {}
  const trips = []
  const waiting = new Map()
  for (const line of text.split('\n')) {
    if (!line.includes('"parts"')) continue
    const { now, input, effects = [] } = JSON.parse(line)
    if (input?.type === 'message') {
      for (const { count, received } of bodiesIn(input.body)) {
        for (let seq = received - 1; waiting.has(`${input.from} ${count} ${seq}`); seq--) {
          trips.push((now - waiting.get(`${input.from} ${count} ${seq}`)) / 1000)
          waiting.delete(`${input.from} ${count} ${seq}`)
        }
      }
    }
    for (const { type, to, body } of effects) {
      if (type !== 'send') continue
      for (const { kind, again, count, seq, body: inner } of bodiesIn(body)) {
        if (kind !== 'frame' || again) continue
        kinds[inner.kind] = (kinds[inner.kind] ?? 0) + 1
        if (now / 1000 >= fromMs) waiting.set(`${to} ${count} ${seq}`, now)
      }
    }
  }
  return { kinds, trips }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [what, fromMs] = line.split(' ')
  if (what === 'datagrams') say({ datagrams: node.status().datagrams.sent })
  if (what === 'noted') say({ noted })
  if (what === 'traffic') say({ traffic: await countTraffic(Number(fromMs)) })
}
