// npm run bench: prints what this machine reaches. A figure is the best of three runs, beside a baseline of the moment.

import { printBaseline } from './baseline.mjs'
import { benchExplore } from './explore.mjs'
import { benchSim } from './sim.mjs'

const which = process.argv[2]
printBaseline()
if (which === undefined || which === 'sim') benchSim()
if (which === undefined || which === 'explore') benchExplore()
printBaseline()
