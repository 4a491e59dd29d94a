/** Real messages, for tests of the layers that carry them. */
import type { Message } from '../../src/core/index.ts'
import { catalogue } from '../../src/protocols/index.ts'
import { parseScenario, runScenario } from '../../src/workbench/sim/index.ts'

/** One event per node, so that messages of all kinds are sent with all their parts. */
export const EVENTS = [
  { atMs: 300, command: { node: 3, do: 'stepDown' } },
  { atMs: 500, crash: 3 },
  { atMs: 520, recover: 3 },
  { atMs: 900, command: { node: 'a', do: 'removeVoter', voter: 'b' } },
  { atMs: 900, command: { node: 3, do: 'removeVoter', voter: 'b' } },
  { atMs: 1400, command: { node: 3, do: 'setPriority', priority: -7 } },
  { atMs: 1500, suspend: 'a', forMs: 20 },
]

/** All messages sent in two seconds of a world, by default with three nodes. */
export function sent(protocol: string, more: object): readonly Message[] {
  const definition = catalogue.find(protocol)
  if (definition === null) throw new Error(`no protocol ${protocol}`)
  const scenario = parseScenario({ protocol, nodes: ['a', 'b', 3], untilMs: 2000, ...more }, catalogue)
  const bodies: Message[] = []
  runScenario(definition, scenario, {
    record: (record) => {
      if (!('effects' in record)) return
      for (const effect of record.effects) if (effect.type === 'send') bodies.push(effect.body)
    },
  })
  return bodies
}
