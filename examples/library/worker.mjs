/**
 * A worker of a group: whoever leads appends its token to a file, again and again; the others stand by.
 *
 *   export CONCLAVE_KEY=$(head -c 32 /dev/urandom | base64)
 *   node examples/library/worker.mjs --id a --log tokens.log --data data-a a=127.0.0.1:7401 b=127.0.0.1:7402 c=127.0.0.1:7403
 *
 * and the same with b and c in two more terminals. Kill the leader however you like: the next goes on with a larger
 * token. `--data` is what must survive a crash, a folder for each worker; docs/reference/library.md says what is lost without it.
 * The election runs in a thread of its own: a worker that is busy for a moment does not lose the lead.
 */
import { appendFileSync } from 'node:fs'
import { setInterval as every } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { join, LeadershipLostError } from 'conclave'

const { values, positionals: members } = parseArgs({
  allowPositionals: true,
  options: { id: { type: 'string' }, log: { type: 'string' }, data: { type: 'string' } },
})
const { id, log, data } = values
const listen = members.find((member) => member.startsWith(`${id}=`))?.slice(`${id}=`.length)
const key = Buffer.from(process.env['CONCLAVE_KEY'] ?? '')
if (id === undefined || log === undefined || listen === undefined) {
  console.error('worker: give --id ID --log FILE and all members as ID=HOST:PORT, this one among them')
  process.exit(2)
}

const node = await join({
  group: 'workers',
  id,
  listen,
  peers: members.filter((member) => !member.startsWith(`${id}=`)),
  key,
  ...(data === undefined ? {} : { data }),
  options: { sigmaMs: 300 },
})
node.on('warning', ({ what, detail }) => console.error(`${id}: ${what}: ${detail}`))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => node.close())

async function watch() {
  for await (const { leader } of node.observe()) {
    console.log(leader === null ? 'nobody leads' : `${leader.id} leads with token ${leader.token}`)
  }
}

async function work(term) {
  try {
    for await (const _ of every(20)) {
      if (term.signal.aborted) return
      // A write takes a moment, and the lease must outlast it.
      term.assertHeld(20)
      appendFileSync(log, `${term.token} ${id}\n`)
    }
  } catch (error) {
    // The lease came to its end. Another may lead now, and this worker again later.
    if (!(error instanceof LeadershipLostError)) throw error
  }
}

await Promise.all([watch(), node.lead(work)])
