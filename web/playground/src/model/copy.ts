/** The present run as a text that works elsewhere: a scenario file, a test, a command. */
import type { OwnModule, ScenarioFile } from '../engine/messages.ts'
import type { Verdict } from '../engine/picture.ts'

/** A scenario file. Lists of plain values and single events stay on one line each, as people write them. */
export function scenarioText(scenario: ScenarioFile): string {
  return `${format(scenario, '')}\n`
}

const LONGEST_LINE = 100

function format(value: unknown, indent: string): string {
  const short = oneLine(value)
  if (typeof value !== 'object' || value === null) return short
  const isTop = indent === '' && !Array.isArray(value)
  if (!isTop && indent.length + short.length <= LONGEST_LINE && !isListOfObjects(value)) return short
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => inner + format(item, inner)).join(',\n')}\n${indent}]`
  }
  const fields = Object.entries(value)
  if (fields.length === 0) return '{}'
  const lines = fields.map(([field, item]) => `${inner}${JSON.stringify(field)}: ${format(item, inner)}`)
  return `{\n${lines.join(',\n')}\n${indent}}`
}

function isListOfObjects(value: object): boolean {
  return Array.isArray(value) && value.some((item) => typeof item === 'object' && !Array.isArray(item))
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([field, item]) => `${JSON.stringify(field)}: ${oneLine(item)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** A shell command that runs it. The scenario comes by standard input. */
export function commandText(scenario: ScenarioFile, module: OwnModule | null): string {
  const load = module === null ? '' : ` --load ${shellWord(fileNameOf(module))}`
  return `conclave sim - --transcript${load} <<'SCENARIO'\n${scenarioText(scenario)}SCENARIO\n`
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function fileNameOf({ name }: OwnModule): string {
  return /\.m?js$/.test(name) ? name : `${name}.mjs`
}

/** A test file for `node --test` that expects the verdicts of this run. */
export function testText(
  scenario: ScenarioFile,
  verdicts: readonly Verdict[],
  module: OwnModule | null,
): string {
  const expected = Object.fromEntries(verdicts.map((each) => [each.name, each.verdict]))
  const own = module === null ? null : fileNameOf(module)
  return [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    ...(own === null ? ["import { catalogue } from 'conclave/protocols'"] : []),
    "import { parseScenario, runScenario } from 'conclave/sim'",
    ...(own === null ? [] : [`import * as own from ${JSON.stringify(`./${own}`)}`]),
    '',
    `const scenario = ${format(scenario, '')}`,
    '',
    `test(${JSON.stringify(testName(scenario, verdicts))}, () => {`,
    ...(own === null
      ? [
          '  const protocol = catalogue.find(scenario.protocol)',
          '  const report = runScenario(protocol, parseScenario(scenario, catalogue))',
        ]
      : [
          '  const { protocol, specs, goals } = own',
          '  const lookup = { names: [protocol.name], find: (name) => (name === protocol.name ? protocol : null) }',
          '  const report = runScenario(protocol, parseScenario(scenario, lookup), { ...(specs && { specs }), ...(goals && { goals }) })',
        ]),
    '  const verdicts = Object.fromEntries(report.specs.map(({ name, verdict }) => [name, verdict]))',
    `  assert.deepEqual(verdicts, ${format(expected, '  ')})`,
    '})',
    '',
  ].join('\n')
}

function testName({ protocol }: ScenarioFile, verdicts: readonly Verdict[]): string {
  const name = typeof protocol === 'string' ? protocol : 'it'
  const violated = verdicts.find(({ verdict }) => verdict === 'violated')
  return violated === undefined ? `${name} keeps its promises` : `${name} violates ${violated.name}`
}
