// npm run bench [-- sim|explore|elections|epochs|held|agent|groups|flood|failover [TIMES]|stores [TIMES]|idle [SECONDS]|views [TIMES]|recovery|http [SECONDS] [SIGMA_MS]|watchers [SECONDS] [WATCHERS]|page [TIMES]|playground [ROUNDS]|busy [SECONDS] [LOOPS]|adaptive [KILLS] [OTHERS] [BUSY_S] [IDLE_S] [COST_S] [WARM_S]]: prints what this machine reaches, and what part of bully's rate each protocol does.
//
// A figure is the best of three runs, each in a process of its own: what one makes of the compiler's optimisations does
// not weigh on the other. What is compared is run in turns, so that a moment in which the machine is busy falls on all
// alike; the baseline of the moment stands before and after, because only figures beside the same one compare.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { printAdaptive } from './adaptive.mjs'
import { printAgent } from './agent.mjs'
import { printBaseline } from './baseline.mjs'
import { printBusy } from './busy.mjs'
import { printElections } from './elections.mjs'
import { measureEpochs, printEpochs } from './epochs.mjs'
import { exploreGroups, measureExplore } from './explore.mjs'
import { printFailover } from './failover.mjs'
import { printFlood } from './flood.mjs'
import { printGroups } from './groups.mjs'
import { printHeld } from './held.mjs'
import { printHttp } from './http.mjs'
import { printIdle } from './idle.mjs'
import { printPage } from './page.mjs'
import { printPlayground } from './playground.mjs'
import { printRecovery } from './recovery.mjs'
import { measureSim, simGroups } from './sim.mjs'
import { printStores } from './stores.mjs'
import { printViews } from './views.mjs'
import { printWatchers } from './watchers.mjs'

const ROUNDS = 3
const MEASURE = { sim: measureSim, explore: measureExplore, epochs: measureEpochs }

/** One run of a bench, in a process of its own: its rate, a line about it, and a target, which only bully has. */
function runApart(bench) {
  const { status, stdout } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...bench], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${bench.join(' ')} ended with ${status}`)
  return JSON.parse(stdout)
}

/** Measures the benches of a group in turns. Bully is held against its target, the others against the first, bully. */
function printGroup(group) {
  const best = group.map(() => ({ rate: 0, line: '', target: null }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, bench] of group.entries()) {
      const result = runApart(bench)
      if (result.rate > best[index].rate) best[index] = result
    }
  }
  for (const { rate, line, target } of best) {
    const part = Math.round((100 * rate) / best[0].rate)
    console.log(`${line}  (${target === null ? `${part} % of bully's, target 50 %` : `target ${target}`})`)
  }
}

const [room, ...words] = process.argv.slice(2)
if (room in MEASURE && words.length === 2)
  console.log(JSON.stringify(MEASURE[room](words[0], Number(words[1]))))
else {
  printBaseline()
  for (const group of [...simGroups, ...exploreGroups]) {
    if (room === undefined || room === group[0][0]) printGroup(group)
  }
  if (room === undefined || room === 'elections') printElections()
  if (room === undefined || room === 'groups') await printGroups()
  if (room === undefined || room === 'flood') await printFlood()
  if (room === undefined || room === 'epochs') printEpochs(runApart)
  if (room === undefined || room === 'held') await printHeld()
  if (room === undefined || room === 'agent') await printAgent()
  if (room === undefined || room === 'failover') await printFailover(Number(words[0] ?? 20))
  if (room === undefined || room === 'stores') await printStores(Number(words[0] ?? 10))
  if (room === undefined || room === 'idle') await printIdle(Number(words[0] ?? 20))
  if (room === undefined || room === 'watchers')
    await printWatchers(Number(words[0] ?? 20), Number(words[1] ?? 1000))
  if (room === 'adaptive') await printAdaptive(...words.map(Number))
  if (room === 'busy') await printBusy(Number(words[0] ?? 20), Number(words[1] ?? 4))
  if (room === undefined || room === 'views') await printViews(Number(words[0] ?? 10))
  if (room === undefined || room === 'page') await printPage(Number(words[0] ?? 10))
  if (room === undefined || room === 'playground') await printPlayground(Number(words[0] ?? 5))
  if (room === undefined || room === 'recovery') await printRecovery()
  if (room === undefined || room === 'http')
    await printHttp(...(words.length === 0 ? [10] : words.map(Number)))
  printBaseline()
}
