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
  `sim --protocol bully --nodes 2..7 --seeds 1..${seeds} --faults swarm`,
  'explore --protocol bully --nodes 3 --crashes 3 --recoveries 3',
  'explore --protocol bully --nodes 4 --crashes 1 --recoveries 1',
]
let failed = 0
for (const run of runs) {
  console.log(`\n$ conclave ${run}`)
  const { status } = spawnSync(conclave, run.split(' '), { stdio: 'inherit' })
  if (status !== 0) failed += 1
}
process.exit(failed === 0 ? 0 : 1)
