// Explorer: states a second and bytes a state, exact, on three nodes (omega: four, all of a world with four changes).

import { protocolNamed } from '../dist/protocols/index.js'
import { explore } from '../dist/workbench/explore/index.js'
import { checkedOptions } from '../dist/workbench/sim/index.js'

const NODES = [1, 2, 3]

/** Worlds that do not end before they have as many states as are asked for. */
const WORLDS = {
  bully: { from: 'settled', order: 'fifo', budget: { crashes: 1, recoveries: 1, flips: 0, ticks: 0 } },
  ring: { from: 'boot', order: 'any', budget: { crashes: 3, recoveries: 3, flips: 6, ticks: 0 } },
  'bully-gm': { from: 'settled', order: 'fifo', budget: { crashes: 1, recoveries: 1, flips: 0, ticks: 0 } },
  omega: {
    nodes: [1, 2, 3, 4],
    from: 'settled',
    order: 'fifo',
    budget: { crashes: 0, recoveries: 0, flips: 4, ticks: 0 },
  },
  invitation: { from: 'boot', order: 'any', budget: { crashes: 1, recoveries: 1, flips: 0, ticks: 0 } },
}

function measure(protocol, maxStates) {
  const definition = protocolNamed(protocol)
  const { nodes = NODES } = WORLDS[protocol]
  return explore(
    {
      definition,
      nodes,
      options: checkedOptions(definition, nodes, definition.exploration.options),
      timers: 'any',
      ...WORLDS[protocol],
      depth: Number.MAX_SAFE_INTEGER,
      maxStates,
      memoryMB: 4000,
      progress: false,
      ...(protocol === 'bully' || protocol === 'omega' ? {} : { specs: [] }),
    },
    { seconds: () => performance.now() / 1000, shouldContinue: () => true },
  )
}

/** Omega reuses little of what it has worked out, so it has a target of its own. */
const TARGETS = { bully: '1 M, 40 bytes, 1000 MB', omega: '0.15 M' }

/** Bully's comes first. */
export const exploreGroups = [
  [
    ['explore', 'bully', '1000000'],
    ['explore', 'bully', '5000000'],
    ['explore', 'ring', '1000000'],
    ['explore', 'bully-gm', '1000000'],
    ['explore', 'invitation', '1000000'],
    ['explore', 'omega', '1000000'],
  ],
]

export function measureExplore(protocol, maxStates) {
  measure(protocol, 300_000)
  const { states, statesPerSecond, bytesPerState, reuse } = measure(protocol, maxStates)
  const rate = (statesPerSecond / 1e6).toFixed(2)
  const memory = Math.round(process.memoryUsage().rss / 1e6)
  return {
    rate: statesPerSecond,
    line:
      `explorer   ${protocol.padEnd(10)} ${(states / 1e6).toFixed(2)} M states: ${rate} M states/s, ` +
      `${bytesPerState.toFixed(1)} bytes a state, reuse ${Math.round(reuse)}, process ${memory} MB`,
    target: TARGETS[protocol] ?? null,
  }
}
