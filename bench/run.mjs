// npm run bench [-- sim|explore]: prints what this machine reaches. A figure is the best of three runs in a process of
// its own; the baseline of the moment stands before and after, because only figures beside the same one compare.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { printBaseline } from './baseline.mjs'
import { benchExplore, exploreBenches } from './explore.mjs'
import { benchSim, simBenches } from './sim.mjs'

const [room, ...words] = process.argv.slice(2)
if (room === 'sim' && words.length === 2) benchSim(words[0], Number(words[1]))
else if (room === 'explore' && words.length === 2) benchExplore(words[0], Number(words[1]))
else {
  printBaseline()
  for (const bench of [...simBenches, ...exploreBenches]) {
    if (room !== undefined && bench[0] !== room) continue
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...bench], { stdio: 'inherit' })
  }
  printBaseline()
}
