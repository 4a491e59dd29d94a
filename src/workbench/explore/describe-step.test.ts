/** Every transition of the explorer, described as a schedule step, is a step of the untimed world. */
import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { checkedOptions, factsOf } from '../scenario/index.ts'
import { monitor } from '../specs/index.ts'
import { type Budget, DEFAULT_LINK_HISTORY, UntimedRules, type UntimedWorld } from '../untimed/index.ts'
import { settledOutcome } from './explore.ts'
import { Model } from './model.ts'
import { search, stepBetween } from './search.ts'

const NONE: Budget = { crashes: 0, recoveries: 0, flips: 0, ticks: 0 }

type World = {
  readonly protocol: string
  readonly nodes: number
  readonly from: 'boot' | 'settled'
  readonly options?: PlainObject
  readonly order?: 'fifo' | 'any'
  readonly budget: Partial<Budget>
}

/** Searches the first states of a world, and performs the step to each of them in the untimed world. */
function stepsOf(world: World, maxStates = 1000): ReadonlySet<string> {
  const definition = catalogue.find(world.protocol)
  if (definition === null) throw new Error(`no protocol ${world.protocol}`)
  const { order = definition.order } = world
  const nodes = ids(world.nodes)
  const options = checkedOptions(definition, nodes, { ...definition.exploration.options, ...world.options })
  const initial = world.from === 'settled' ? settledOutcome(definition, nodes) : null
  const model = new Model({
    definition,
    nodes,
    options,
    order,
    timers: 'any',
    initial,
    after: [],
    budget: { ...NONE, ...world.budget },
    history: DEFAULT_LINK_HISTORY,
    monitor: monitor([], [], factsOf(definition, nodes, options)),
  })
  const { visited } = search(model, { depth: 100, maxStates, memoryBytes: 1e12 }, () => true)
  const rules = new UntimedRules(definition, nodes, options, order, false, DEFAULT_LINK_HISTORY)
  const first = rules.start(initial).world
  const reached = new Map<number, UntimedWorld>([[0, first]])
  const kinds = new Set<string>()
  for (let state = 1; state < visited.size; state++) {
    const parent = visited.parentOf(state)
    const step = stepBetween(model, visited, parent, state)
    const performed = rules.perform(reached.get(parent) as UntimedWorld, step)
    if (typeof performed === 'string') throw new Error(`${JSON.stringify(step)}: ${performed}`)
    reached.set(state, performed.world)
    kinds.add('late' in step ? `late ${step.do}` : step.do)
  }
  expect(visited.size).toBeGreaterThan(100)
  return kinds
}

describe('a step of the explorer is a step of the untimed world', () => {
  it.each<[string, World, readonly string[]]>([
    [
      'messages, timers, commands and crashes',
      { protocol: 'bully', nodes: 3, from: 'settled', budget: { crashes: 1, recoveries: 1 } },
      ['command', 'crash', 'deliver', 'recover', 'timer'],
    ],
    [
      'links that are cut and healed',
      { protocol: 'ring', nodes: 3, from: 'boot', order: 'any', budget: { flips: 2 } },
      ['cut', 'deliver', 'heal'],
    ],
    [
      'links that nodes are notified of',
      { protocol: 'omega', nodes: 2, from: 'settled', budget: { flips: 4, crashes: 1, recoveries: 1 } },
      ['deliver', 'flip', 'follow'],
    ],
    [
      'registers',
      { protocol: 'epochs', nodes: 2, from: 'boot', budget: { crashes: 1, recoveries: 1 } },
      ['crash', 'read', 'reincarnate', 'tickDisk', 'tickMem', 'write'],
    ],
    [
      'registers whose writes land late',
      {
        protocol: 'epochs',
        nodes: 2,
        from: 'boot',
        options: { registers: 'late' },
        budget: { crashes: 1, recoveries: 1 },
      },
      ['land', 'late write'],
    ],
  ])('%s', (_what, world, kinds) => {
    expect([...stepsOf(world)]).toEqual(expect.arrayContaining([...kinds]))
  })
})
