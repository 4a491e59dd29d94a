// npm run stores [-- TIMES [STORE ...]]: three nodes on each kind of store; their leader is killed TIMES times (20), the
// store's server is killed and restarted, and then hangs for longer than a lease. An independent witness judges.
/* oxlint-disable no-await-in-loop -- one store after the other: they share the machine */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureText, storeSettings, tryStore } from '../dist/chaos/index.js'
import { startServer, whyMissing } from './servers/keeper.mjs'

const KINDS = ['file', 'postgres', 'redis', 'etcd', 'nats']
const [times = '20', ...asked] = process.argv.slice(2)
const unknown = asked.filter((kind) => !KINDS.includes(kind))
if (!/^[1-9]\d*$/.test(times) || unknown.length > 0) {
  console.error(`usage: npm run stores -- TIMES [${KINDS.join('|')} ...]`)
  process.exit(2)
}

/** What is to be ended or taken away when this process is told to end in the middle; the nodes end with it by themselves. */
const undo = new Set()
let isEnding = false
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])
  process.on(signal, async () => {
    if (isEnding) return
    isEnding = true
    console.error(`told to end by ${signal}: ending what was started`)
    await Promise.allSettled([...undo].map((each) => each()))
    process.exit(code)
  })

let failed = 0
for (const kind of asked.length > 0 ? asked : KINDS) {
  const missing = kind === 'file' ? null : whyMissing(kind)
  if (missing !== null) {
    console.log(`${kind.padEnd(9)} skipped: ${missing}`)
    continue
  }
  const settings = storeSettings({
    nodes: 3,
    times: Number(times),
    periodMs: 500,
    accessMs: 25,
    killBeforeMs: 50,
    say: (text) => console.error(`${kind}: ${text}`),
  })
  const folder = mkdtempSync(join(tmpdir(), 'conclave-stores-'))
  const starting = kind === 'file' ? Promise.resolve(null) : startServer(kind)
  // A server that is just being started is waited for.
  const clean = async () => {
    const started = await starting.catch(() => null)
    await started?.end()
    rmSync(folder, { recursive: true, force: true })
  }
  undo.add(clean)
  const server = await starting
  try {
    const { done, problems, measures } = await tryStore(settings, server?.url ?? `file:${folder}`, server)
    console.log(`${kind.padEnd(9)} ${problems.length === 0 ? 'ok' : 'VIOLATED'}  ${done}`)
    for (const measure of measures) console.log(`  ${measureText(measure)}`)
    for (const problem of problems) console.log(`  VIOLATED: ${problem}`)
    if (problems.length > 0) failed += 1
  } catch (error) {
    // What fails because it is being ended is no failure.
    if (!isEnding) console.log(`${kind.padEnd(9)} FAILED  ${error.message}`)
    failed += 1
  } finally {
    undo.delete(clean)
    await clean()
  }
}
process.exitCode = failed > 0 ? 6 : 0
