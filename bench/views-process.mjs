// One process of bench/views.mjs: says when its links change and views are installed, on the clock that all processes
// of a machine share, and counts what it has sent when it is asked to.
import { createInterface } from 'node:readline'
import { join } from '../dist/member/index.js'

const settings = JSON.parse(process.argv[2])
const say = (what) =>
  process.stdout.write(`${JSON.stringify({ atMs: Number(process.hrtime.bigint()) / 1e6, ...what })}\n`)

const node = await join({
  ...settings,
  key: new Uint8Array(32).fill(7),
  traceSteps: 200_000,
  isolation: 'thread',
})
node.on('link', ({ peer, up }) => say({ link: peer, up }))
node.on('view', ({ id, members }) => say({ view: id, members }))
node.on('elected', ({ token }) => say({ elected: token }))
void node.lead((term) => new Promise((resolve) => term.signal.addEventListener('abort', resolve)))

/** The protocol's own messages that this process has sent, by kind, without repetitions. */
async function sentByKind() {
  let text = ''
  for await (const piece of node.trace()) text += piece
  const counts = {}
  for (const line of text.split('\n')) {
    if (!line.includes('"frame"')) continue
    for (const { type, body } of JSON.parse(line).effects ?? []) {
      if (type !== 'send' || body.body === null || body.body === undefined) continue
      for (const part of body.body.parts ?? []) {
        if (part.body.kind !== 'frame' || part.body.again) continue
        const { kind } = part.body.body
        counts[kind] = (counts[kind] ?? 0) + 1
      }
    }
  }
  return counts
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'datagrams') say({ datagrams: node.status().datagrams.sent })
  if (line === 'kinds') say({ kinds: await sentByKind() })
}
