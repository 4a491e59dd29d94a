// npm run soak [-- SEEDS]: long campaigns and deep searches, bounded by the number of seeds (10,000 unless given).
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const seeds = Number(process.argv[2] ?? 10_000)
if (!Number.isSafeInteger(seeds) || seeds < 1) {
  console.error('usage: npm run soak -- SEEDS (a whole number from 1)')
  process.exit(2)
}

const conclave = fileURLToPath(new URL('../bin/conclave', import.meta.url))
const runs = [
  ...['fixed', 'nfd-e', 'bertier', 'phi', 'reliable'].map(
    (detector) => `sim --protocol bully --nodes 2..7 --seeds 1..${seeds} --option detector=${detector}`,
  ),
  `sim --protocol ring --nodes 2..7 --seeds 1..${seeds}`,
  `sim --protocol ring --nodes 2..7 --seeds 1..${seeds} --option reliable=true`,
  `sim --protocol ring --nodes 2..7 --seeds 1..${seeds} --option faultTolerant=true`,
  `sim --protocol bully-gm --nodes 2..7 --seeds 1..${seeds}`,
  `sim --protocol invitation --nodes 2..8 --seeds 1..${seeds}`,
  ...['local', 'majority'].map(
    (mode) => `sim --protocol local-leader --nodes 3..7 --seeds 1..${seeds} --option mode=${mode}`,
  ),
  // From 100 nodes on, votes travel over a tree.
  `sim --protocol local-leader --nodes 100..120 --seeds 1..${Math.ceil(seeds / 100)} --option mode=local`,
  `sim --protocol local-leader --nodes 100..120 --seeds 1..${Math.ceil(seeds / 100)} --option mode=majority`,
  `sim --protocol local-leader --nodes 3 --seeds 1..${seeds} --faults crash,cut,partition,graph --option mode=majority`,
  `sim --protocol local-leader --nodes 3..7 --seeds 1..${seeds} --option mode=majority --option rule=equality`,
  // Each request has a random lock, so that what holds depends on no level; then levels that follow from measurements.
  ...['drawn', 'measured'].map(
    (levels) =>
      `sim --protocol local-leader --nodes 3..5 --seeds 1..${2 * seeds} --option mode=majority --option timing=adaptive --option levels=${levels} --option leaseMinMs=60 --option leaseMaxMs=500`,
  ),
  'explore --protocol local-leader --nodes 3 --order fifo',
  'explore --protocol local-leader --nodes 3 --ticks 2',
  'explore --protocol bully --nodes 3 --crashes 2 --recoveries 2',
  'explore --protocol bully --nodes 4 --crashes 1 --recoveries 1',
  'explore --protocol bully-gm --nodes 4',
  `sim --protocol epochs --nodes 2..7 --seeds 1..${seeds}`,
  'explore --protocol epochs --nodes 3 --option epochs=2 --option ballots=2 --max-states 60000000 --memory 2000',
  'explore --protocol epochs --nodes 2 --option epochs=4 --option ballots=5',
  'explore --protocol epochs --nodes 2 --option epochs=3 --option ballots=4 --option registers=regular',
  'explore --protocol epochs --nodes 3 --option epochs=2 --option ballots=2 --option removals=true --option tick=atomic --max-states 60000000',
  'explore --protocol epochs --nodes 2 --option epochs=3 --option ballots=4 --option keepsRead=true --spec INV4 --spec INV4k',
  `sim --protocol omega --nodes 3..7 --seeds 1..${seeds}`,
  `sim --load examples/own-protocol/ballot.mjs --protocol ballot --nodes 3..5 --seeds 1..${seeds}`,
  `sim --protocol recovery --nodes 3..6 --seeds 1..${seeds}`,
  // Real processes with random kills: 20 pictures with 10,000 seeds.
  ...Array.from(
    { length: Math.ceil(seeds / 500) },
    (_, index) =>
      `demo fractal --width 300 --height 200 --tiles 12 --kill 3 --seed ${index + 1} --pause-ms 150 --timeout-ms 2500 --no-page --json`,
  ),
  // src/cli/plan/plan.test.ts and src/cli/plan/omega.test.ts at a size at which a rare excess shows.
  ...[
    '--nodes 5',
    '--nodes 4 --mode local',
    '--nodes 3 --profile wan',
    '--nodes 5 --option priorities={"1":2,"5":1} --option sticky=true',
    '--nodes 4 --option rule="equality" --profile region',
    '--nodes 3 --option witnesses=[1] --option sigmaMs=50 --option rhoPpm=1 --mode local',
    '--protocol epochs --nodes 3',
    '--protocol omega --nodes 5',
  ].map((group) => `plan ${group} --seeds ${Math.ceil(seeds / 50)}`),
]
/** Searches that take too long for the tests, and how many states each has. */
const LEVELS = '--option timing=adaptive --option leaseMinMs=48 --option leaseMaxMs=150'
const pinned = [
  ['explore --protocol omega --nodes 4 --flips 5 --no-progress', 11_147_263],
  [
    `explore --protocol local-leader --nodes 3 --order fifo --crashes 0 --recoveries 0 --ticks 3 ${LEVELS} --max-states 10000000 --no-progress`,
    7_512_424,
  ],
]
let failed = 0
for (const run of runs) {
  console.log(`\n$ conclave ${run}`)
  const { status } = spawnSync(conclave, run.split(' '), { stdio: 'inherit' })
  if (status !== 0) failed += 1
}
for (const [run, states] of pinned) {
  console.log(`\n$ conclave ${run}`)
  const { status, stdout } = spawnSync(conclave, [...run.split(' '), '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  const seen = status === 0 ? JSON.parse(stdout) : null
  const isSame = seen?.complete === true && seen.states === states
  console.log(
    `states ${seen?.states}, complete ${seen?.complete}: ${isSame ? 'as ever' : `MUST BE ${states}, complete`}`,
  )
  if (!isSame) failed += 1
}
/** Tests at full size: SOAK=1 runs the searches and seeds that `npm test` leaves out (test/support/sizes.ts). */
const tests = [
  { file: 'src/protocols/local-leader/figure-24.test.ts', sizes: { FIGURE_24_GRAPHS: Math.ceil(seeds / 4) } },
  { file: 'src/protocols/epochs/lease.test.ts', sizes: { EPOCHS_RUNS: 400 } },
  {
    file: 'src/protocols/local-leader/digraphs.test.ts',
    sizes: { DIGRAPHS: 'all', DIGRAPHS_OF_FIVE: seeds },
  },
  { file: 'src/protocols/local-leader/suspend.test.ts', sizes: { SLEEPS: seeds } },
  { file: 'src/protocols/omega/schedules.test.ts', sizes: { OMEGA_SCHEDULES: seeds * 100 } },
  { file: 'src/protocols/byzantine-node.test.ts', sizes: { BYZANTINE_RUNS: seeds * 100 } },
  { file: 'src/workbench/sim/campaign.test.ts', sizes: {} },
  { file: 'src/workbench/sim/prefix.test.ts', sizes: {} },
  { file: 'src/links/detectors/quality.test.ts', sizes: {} },
  { file: 'src/cli/plan/plan.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/hand-over.test.ts', sizes: {} },
  { file: 'src/workbench/explore/explore.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/local-leader.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/adaptive.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/pacing.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/stalls.test.ts', sizes: {} },
  { file: 'src/protocols/host.test.ts', sizes: {} },
  { file: 'src/protocols/bully-gm/bully-gm.test.ts', sizes: {} },
  { file: 'src/protocols/epochs/epochs.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/heartbeat-suppression.test.ts', sizes: {} },
  { file: 'src/protocols/local-leader/succession.test.ts', sizes: {} },
  { file: 'src/protocols/omega-printed/printed.test.ts', sizes: {} },
]
for (const { file, sizes } of tests) {
  const settings = Object.entries({ SOAK: 1, ...sizes }).map(([name, value]) => [name, String(value)])
  console.log(
    `\n$ ${settings.map((setting) => setting.join('=')).join(' ')} vitest run --testTimeout=0 ${file}`,
  )
  const { status } = spawnSync('npx', ['vitest', 'run', '--testTimeout=0', file], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, ...Object.fromEntries(settings) },
    stdio: 'inherit',
  })
  if (status !== 0) failed += 1
}
process.exit(failed === 0 ? 0 : 1)
