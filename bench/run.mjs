// npm run bench [-- NAME [ARGUMENT...]]: prints what this machine reaches, and what part of bully's rate each protocol does.
// Without a name it runs all benchmarks of ROOMS. An unknown name prints all names.
//
// A figure is the best of three runs, each in a process of its own: what one makes of the compiler's optimisations does
// not weigh on the other. What is compared is run in turns, so that a moment in which the machine is busy falls on all
// alike; the baseline of the moment stands before and after, because only figures beside the same one compare.
/* oxlint-disable no-await-in-loop -- one benchmark after the other */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { printBaseline } from './baseline.mjs'
import { measureEpochs, printEpochs } from './epochs.mjs'
import { exploreGroups, measureExplore } from './explore.mjs'
import { measureSim, simGroups } from './sim.mjs'

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

/** A benchmark is loaded when it runs: the modules of the others would take memory, and so time. */
const ROOMS = {
  sim: () => simGroups.forEach(printGroup),
  explore: () => exploreGroups.forEach(printGroup),
  elections: async () => (await import('./elections.mjs')).printElections(),
  groups: async () => (await import('./groups.mjs')).printGroups(),
  flood: async () => (await import('./flood.mjs')).printFlood(),
  epochs: () => printEpochs(runApart),
  held: async () => (await import('./held.mjs')).printHeld(),
  agent: async () => (await import('./agent.mjs')).printAgent(),
  /** [TIMES] */
  failover: async (times = 20) => (await import('./failover.mjs')).printFailover(times),
  /** [TIMES] */
  stores: async (times = 10) => (await import('./stores.mjs')).printStores(times),
  /** [SECONDS] */
  idle: async (seconds = 20) => (await import('./idle.mjs')).printIdle(seconds),
  /** [SECONDS] [WATCHERS] */
  watchers: async (seconds = 20, count = 1000) =>
    (await import('./watchers.mjs')).printWatchers(seconds, count),
  /** [TIMES] */
  views: async (times = 10) => (await import('./views.mjs')).printViews(times),
  /** [TIMES] */
  page: async (times = 10) => (await import('./page.mjs')).printPage(times),
  /** [ROUNDS] */
  playground: async (rounds = 5) => (await import('./playground.mjs')).printPlayground(rounds),
  recovery: async () => (await import('./recovery.mjs')).printRecovery(),
  /** [SECONDS] [SIGMA_MS] */
  http: async (seconds = 10, ...more) => (await import('./http.mjs')).printHttp(seconds, ...more),
}

/** They run only by name. */
const LONG_ROOMS = {
  /** [SECONDS] [LOOPS] */
  busy: async (seconds = 20, loops = 4) => (await import('./busy.mjs')).printBusy(seconds, loops),
  /** [KILLS] [OTHERS] [BUSY_S] [IDLE_S] [COST_S] [WARM_S] */
  adaptive: async (...numbers) => (await import('./adaptive.mjs')).printAdaptive(...numbers),
  /** [SPANS] [SECONDS] [WARM_S] NAME=FOLDER[+FLAG...]... */
  beside: async (...chosen) => (await import('./beside.mjs')).printBeside(...chosen),
}

const [room, ...words] = process.argv.slice(2)
const rooms = { ...ROOMS, ...LONG_ROOMS }
if (room in MEASURE && words.length === 2)
  console.log(JSON.stringify(MEASURE[room](words[0], Number(words[1]))))
else if (room !== undefined && !Object.hasOwn(rooms, room)) {
  console.error(`bench: ${room}: unknown benchmark; use one of ${Object.keys(rooms).join(', ')}`)
  process.exitCode = 2
} else {
  printBaseline()
  for (const run of room === undefined ? Object.values(ROOMS) : [rooms[room]])
    await run(...words.map((word) => (word.includes('=') ? word : Number(word))))
  printBaseline()
}
