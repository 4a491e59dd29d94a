// npm run stores [-- TIMES [STORE ...]]: three nodes on each kind of store. The leader is killed TIMES times (20), the
// server is killed and restarted, and then hangs for longer than a lease. Then every fault of the fault rig
// (src/service/chaos/store-faults.ts) is injected. An independent witness judges. TIMES 0 runs only the fault rig.
// --try only starts and stops the servers.
/* oxlint-disable no-await-in-loop -- one store after the other: they share the machine */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  FAULT_TABLE,
  formatFaultRow,
  formatMeasure,
  LEADER_KILL,
  STORE_FAULTS,
  storeSettings,
  tryFaults,
  tryStore,
} from '../dist/service/chaos/index.js'
import { startServer, whyMissing } from './servers/keeper.mjs'
import { RECIPES } from './servers/recipes.mjs'

const KINDS = ['file', 'postgres', 'redis', 'etcd', 'nats']
const isTrial = process.argv.includes('--try')
const [times = '20', ...selected] = process.argv.slice(2).filter((word) => word !== '--try')
const unknown = selected.filter((kind) => !KINDS.includes(kind))
if (!/^\d+$/.test(times) || unknown.length > 0) {
  console.error(`usage: npm run stores -- [--try] TIMES [${KINDS.join('|')} ...]`)
  process.exit(2)
}

/** Cleanup for an interrupted run. The nodes exit with this process. */
const cleanups = new Set()
let isEnding = false
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])
  process.on(signal, async () => {
    if (isEnding) return
    isEnding = true
    console.error(`received ${signal}: stopping the servers`)
    await Promise.allSettled([...cleanups].map((each) => each()))
    process.exit(code)
  })

let failed = 0
const table = [...FAULT_TABLE]
for (const kind of selected.length > 0 ? selected : KINDS) {
  const missing = kind === 'file' ? null : whyMissing(RECIPES[kind])
  if (missing !== null) {
    console.log(`${kind.padEnd(9)} skipped: ${missing}`)
    continue
  }
  const settings = storeSettings({
    protocol: 'epochs',
    nodes: 3,
    times: Number(times),
    periodMs: 500,
    accessMs: 25,
    killBeforeMs: 50,
    onProgress: (text) => console.error(`${kind}: ${text}`),
  })
  const folder = mkdtempSync(join(tmpdir(), 'conclave-stores-'))
  const starting = kind === 'file' ? Promise.resolve(null) : startServer(kind)
  // Waits for a server that is still starting.
  const clean = async () => {
    const started = await starting.catch(() => null)
    await started?.end()
    rmSync(folder, { recursive: true, force: true })
  }
  cleanups.add(clean)
  const server = await starting
  try {
    const url = server?.url ?? `file:${folder}`
    if (isTrial) {
      console.log(`${kind.padEnd(9)} started`)
      continue
    }
    if (settings.times > 0) {
      const { done, problems, measures } = await tryStore(settings, url, server)
      console.log(`${kind.padEnd(9)} ${problems.length === 0 ? 'ok' : 'VIOLATED'}  ${done}`)
      for (const measure of measures) console.log(`  ${formatMeasure(measure)}`)
      for (const problem of problems) console.log(`  VIOLATED: ${problem}`)
      if (problems.length > 0) failed += 1
    }
    const rows = await tryFaults(settings, url, server, server === null ? [LEADER_KILL] : STORE_FAULTS)
    const wrong = rows.flatMap(({ problems }) => problems)
    console.log(
      `${kind.padEnd(9)} ${wrong.length === 0 ? 'ok' : 'VIOLATED'}  ${rows.length} faults, each twice`,
    )
    for (const problem of wrong) console.log(`  VIOLATED: ${problem}`)
    table.push(...rows.map((row) => formatFaultRow(kind, row)))
    if (wrong.length > 0) failed += 1
  } catch (error) {
    // Failures during shutdown do not count.
    if (!isEnding) console.log(`${kind.padEnd(9)} FAILED  ${error.message}`)
    failed += 1
  } finally {
    cleanups.delete(clean)
    await clean()
  }
}
if (!isTrial) console.log(`\n${table.join('\n')}`)
process.exitCode = failed > 0 ? 6 : 0
