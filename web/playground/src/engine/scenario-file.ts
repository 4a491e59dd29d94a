/** A checked scenario as a file again, without what is a default anyway. */
import { equalPlain, type Plain, type PlainObject } from '../../../../src/core/index.ts'
import { type Lookup, parseScenario, type Scenario } from '../../../../src/workbench/scenario/index.ts'
import type { ScenarioFile } from './messages.ts'

export function fileOf(scenario: Scenario, lookup: Lookup): ScenarioFile {
  const { protocol, nodes, untilMs } = scenario
  const plain = parseScenario({ protocol, nodes, untilMs }, lookup) as unknown as PlainObject
  const entries = Object.entries(scenario as unknown as PlainObject).filter(
    ([, value]) => value !== undefined,
  )
  const own = entries.flatMap(([field, value]): readonly (readonly [string, Plain])[] => {
    if (field === 'protocol' || field === 'nodes' || field === 'seed') return [[field, value]]
    if (field === 'untilMs') return scenario.schedule === null ? [[field, value]] : []
    const byDefault = plain[field] ?? null
    if (equalPlain(value, byDefault)) return []
    return [[field, isFields(value) && isFields(byDefault) ? difference(value, byDefault) : value]]
  })
  return Object.fromEntries(own)
}

function isFields(value: Plain): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function difference(value: PlainObject, byDefault: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(value).filter(([field, each]) => !equalPlain(each, byDefault[field] ?? null)),
  )
}
