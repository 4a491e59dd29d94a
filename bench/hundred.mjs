// A hundred live nodes of one group on PostgreSQL, in one process: the statements of an idle group, counted in the
// server's log, and the time to the next leader after a step-down.
/* oxlint-disable no-await-in-loop -- a few at a time: connecting is what costs */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from '../dist/service/node/index.js'
import { startServer } from '../scripts/servers/keeper.mjs'

const NODES = 100
const AT_A_TIME = 10
const OPTIONS = { periodMs: 10_000, accessMs: 1000 }
const WATCHED_MS = 30_000

/** Number of statements so far. */
function counted(folder) {
  const text = readdirSync(folder)
    .map((file) => readFileSync(path(folder, file), 'utf8'))
    .join('')
  return {
    selects: text.match(/SELECT pg_is_in_recovery\(\) AS standby, r\.cell/g)?.length ?? 0,
    updates: text.match(/UPDATE "conclave_registers" SET/g)?.length ?? 0,
  }
}

export async function printHundred() {
  const logs = mkdtempSync(path(tmpdir(), 'conclave-log-'))
  // The server may run as another user.
  chmodSync(logs, 0o777)
  const settings = [
    'max_connections=250',
    'log_statement=all',
    'logging_collector=on',
    `log_directory=${logs}`,
  ]
  const server = await startServer(
    'postgres',
    settings.flatMap((each) => ['-c', each]),
  )
  const nodes = []
  try {
    for (let first = 0; first < NODES; first += AT_A_TIME) {
      const some = Array.from({ length: AT_A_TIME }, (_, index) =>
        join({
          group: 'g',
          id: `m${first + index}`,
          protocol: 'epochs',
          store: server.url,
          isolation: 'thread',
          options: OPTIONS,
        }),
      )
      nodes.push(...(await Promise.all(some)))
    }
    const terms = []
    for (const node of nodes) {
      const work = ({ token, signal }) => {
        terms.push({ node, token })
        return new Promise((resolve) => signal.addEventListener('abort', resolve))
      }
      node.lead(work).catch((error) => console.log(error.message))
    }
    while (terms.length === 0) await sleep(50)
    // Wait until colliding elections of the start have ended.
    await sleep(2 * OPTIONS.periodMs)
    const before = counted(logs)
    await sleep(WATCHED_MS)
    const after = counted(logs)
    const seconds = WATCHED_MS / 1000
    const selects = (after.selects - before.selects) / seconds
    const updates = (after.updates - before.updates) / seconds
    const looks = (NODES - 1) / (OPTIONS.periodMs / 8000) + 1000 / OPTIONS.periodMs
    console.log(
      `${NODES} nodes on PostgreSQL, T ${OPTIONS.periodMs} ms: ${updates.toFixed(2)} UPDATEs/s (one per renewal: ${(1000 / OPTIONS.periodMs).toFixed(2)}), ${selects.toFixed(1)} SELECTs/s (one per poll, one per renewal: at most ${looks.toFixed(1)}), ${terms.length} term(s)`,
    )
    const { node } = terms.at(-1)
    const had = terms.length
    const from = performance.now()
    await node.stepDown()
    while (terms.length === had) await sleep(2)
    console.log(`  stepping down: the next leads after ${Math.round(performance.now() - from)} ms`)
  } finally {
    await Promise.all(nodes.map((node) => node.close()))
    await server.end()
    rmSync(logs, { recursive: true, force: true })
  }
}
