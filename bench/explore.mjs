// Explorer: states a second and bytes a state, exact, on bully with three nodes.
import { explore } from '../dist/explore/index.js'
import { protocolNamed } from '../dist/protocols/index.js'
import { checkedOptions } from '../dist/sim/index.js'

const bully = protocolNamed('bully')
const NODES = [1, 2, 3]

function measure(maxStates, timers, budget) {
  return explore(
    {
      definition: bully,
      nodes: NODES,
      options: checkedOptions(bully, NODES, { detector: 'none' }),
      budget: { flips: 0, ...budget },
      from: 'settled',
      order: 'fifo',
      timers,
      depth: Number.MAX_SAFE_INTEGER,
      maxStates,
      memoryMB: 4000,
      progress: false,
    },
    { seconds: () => performance.now() / 1000, goOn: () => true },
  )
}

export const exploreBenches = [
  ['explore', '1000000'],
  ['explore', '5000000'],
]

export function benchExplore(maxStates) {
  const runs = [1, 2, 3].map(() => measure(maxStates, 'any', { crashes: 1, recoveries: 1 }))
  const best = runs.reduce((a, b) => (a.statesPerSecond > b.statesPerSecond ? a : b))
  const rate = (best.statesPerSecond / 1e6).toFixed(2)
  const memory = Math.round(process.memoryUsage().rss / 1e6)
  console.log(
    `explorer   ${maxStates / 1e6} M states: ${rate} M states/s, ${best.bytesPerState.toFixed(1)} bytes a state, ` +
      `reuse ${Math.round(best.reuse)}, process ${memory} MB  (target 1 M, 40 bytes, 1000 MB)`,
  )
}
