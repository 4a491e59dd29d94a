// One of the processes of bench/groups.mjs: joins groups, and tells what that costs.

import { protocolNamed } from '../dist/protocols/index.js'
import { Endpoint, passingStorage, sealer } from '../dist/runtime/index.js'

const [self, groups, constants] = process.argv.slice(2)
const nodes = ['a', 'b', 'c']
const options = protocolNamed('local-leader').options(nodes)
const endpoint = await Endpoint.open(
  {
    self,
    listen: { host: '127.0.0.1', port: 0 },
    peers: [],
    sealer: sealer([new Uint8Array(32).fill(7)], false),
    storage: passingStorage(),
  },
  {
    dropped: ({ reason, count }) => console.error(`${self}: ${count} ${reason}`),
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
      trouble: (error) => console.error(`${self}: ${error.message}`),
    })
  }
}

function figures() {
  const { user, system } = process.cpuUsage()
  return { ...endpoint.counts, demoted, cpuMs: (user + system) / 1000, rss: process.memoryUsage().rss }
}

process.on('message', async (said) => {
  if (said.peers !== undefined) {
    await Promise.all(
      said.peers
        .filter(({ id }) => id !== self)
        .map(({ id, port }) => endpoint.addPeer({ id, address: { host: '127.0.0.1', port } })),
    )
    join()
    process.send({ joined: true })
  } else if (said.ask === 'led') {
    process.send({ led: names.filter((name) => endpoint.view(name).leader !== null).length })
  } else if (said.ask === 'figures') process.send(figures())
  else process.exit(0)
})
process.send({ port: endpoint.port })
