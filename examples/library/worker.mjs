/**
 * A worker: the leader of the group appends its token to a file again and again; the others wait.
 *
 *   export CONCLAVE_KEY=$(head -c 32 /dev/urandom | base64)
 *   node examples/library/worker.mjs --id a --log tokens.log --data data-a a=127.0.0.1:7401 b=127.0.0.1:7402 c=127.0.0.1:7403
 *
 * and the same with b and c in two more terminals. Kill the leader: another worker continues with a larger token.
 * `--data` is the folder for what must survive a crash, one per worker. The election runs in a worker thread, so a
 * process that is busy for a moment keeps its lease. docs/reference/library.md explains both.
 */
import { appendFileSync } from 'node:fs'
import { setInterval as every } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { join, LeadershipLostError } from 'conclave'

const { values, positionals: nodes } = parseArgs({
  allowPositionals: true,
  options: { id: { type: 'string' }, log: { type: 'string' }, data: { type: 'string' } },
})
const { id, log, data } = values
const listen = nodes.find((node) => node.startsWith(`${id}=`))?.slice(`${id}=`.length)
const key = Buffer.from(process.env['CONCLAVE_KEY'] ?? '')
if (id === undefined || log === undefined || listen === undefined) {
  console.error('worker: pass --id ID --log FILE and all nodes as ID=HOST:PORT, including this one')
  process.exit(2)
}

const node = await join({
  group: 'workers',
  id,
  listen,
  peers: nodes.filter((other) => !other.startsWith(`${id}=`)),
  key,
  ...(data === undefined ? {} : { data }),
})
node.on('warning', ({ what, detail }) => console.error(`${id}: ${what}: ${detail}`))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => node.close())

async function watch() {
  for await (const { leader } of node.observe()) {
    console.log(leader === null ? 'no leader' : `${leader.id} leads with token ${leader.token}`)
  }
}

async function work(term) {
  try {
    for await (const _ of every(20)) {
      if (term.signal.aborted) return
      // The lease must outlast the write.
      term.assertHeld(10)
      appendFileSync(log, `${term.token} ${id}\n`)
    }
  } catch (error) {
    // The lease has ended. Another worker may lead now, and this one again later.
    if (!(error instanceof LeadershipLostError)) throw error
  }
}

await Promise.all([watch(), node.lead(work)])
