// One of the processes of bench/groups.mjs: joins groups, and tells what that costs.

import { protocolNamed } from '../dist/protocols/index.js'
import { Codec, Endpoint, sealer, volatileStorage } from '../dist/service/runtime/index.js'

const [self, groups, constants] = process.argv.slice(2)
const nodes = ['a', 'b', 'c']
const options = protocolNamed('local-leader').options(nodes)
/** The last of what was sent to each, as it went over the wire. */
const sentTo = new Map(nodes.map((id) => [id, []]))
const KEPT = 200
const codec = new Codec()
const inner = sealer([new Uint8Array(32).fill(7)], false)
const recording = {
  ...inner,
  seal(datagram) {
    const sealed = inner.seal(datagram)
    const { to } = codec.decode(datagram)
    const kept = sentTo.get(to)
    kept?.push(sealed.toString('hex'))
    if (kept?.length > KEPT) kept.shift()
    return sealed
  },
}
const isRecording = process.argv[5] === 'record'
let said = 0
const endpoint = await Endpoint.open(
  {
    self,
    listen: { host: '127.0.0.1', port: 0 },
    peers: [],
    sealer: isRecording ? recording : inner,
    storage: volatileStorage(),
  },
  {
    dropped: ({ reason, count }) => {
      said += 1
      console.error(`${self}: ${count} ${reason}`)
    },
    warning: (what, detail) => console.error(`${self}: ${what}: ${detail}`),
    failed: (error) => {
      throw error
    },
  },
)
let demoted = 0
const names = Array.from({ length: Number(groups) }, (_, index) => `group-${index}`)

/** Each process is to lead a third of them. */
function join() {
  for (const [index, name] of names.entries()) {
    const priorities = { [nodes[index % 3]]: 1 }
    const spec = {
      protocol: 'local-leader',
      nodes,
      options: options.parse({ ...JSON.parse(constants), priorities }),
    }
    endpoint.join(name, spec, {
      output: ({ type }) => {
        if (type === 'demoted') demoted += 1
      },
      warn: (_what, detail) => console.error(`${self}: ${detail}`),
    })
  }
}

function figures() {
  const { user, system } = process.cpuUsage()
  return { ...endpoint.counts, demoted, said, cpuMs: (user + system) / 1000, rss: process.memoryUsage().rss }
}

process.on('message', async (asked) => {
  if (asked.peers !== undefined) {
    await Promise.all(
      asked.peers
        .filter(({ id }) => id !== self)
        .map(({ id, port }) => endpoint.addPeer({ id, address: { host: '127.0.0.1', port } })),
    )
    join()
    process.send({ joined: true })
  } else if (asked.peer !== undefined) {
    await endpoint.addPeer(asked.peer)
    process.send({ added: true })
  } else if (asked.ask === 'sent to') process.send({ sent: sentTo.get(asked.to) })
  else if (asked.ask === 'led') {
    process.send({ led: names.filter((name) => endpoint.view(name).leader !== null).length })
  } else if (asked.ask === 'figures') process.send(figures())
  else process.exit(0)
})
process.send({ port: endpoint.port })
