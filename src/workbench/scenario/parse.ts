/** Reads a scenario file. Everything is checked before anything runs, and all problems are reported at once. */
import { z } from 'zod'
import {
  type Definition,
  explain,
  LONGEST_MS,
  microsOf,
  msOf,
  type NodeId,
  nearest,
  type PlainObject,
} from '../../core/index.ts'
import { InvalidScenarioError, pathText, type ScenarioProblem, schemaProblems } from './problems.ts'
import type { Scenario, Span } from './scenario.ts'
import { type EventSchema, nodeList, type ScenarioSchema, scenarioSchema } from './schema.ts'

export { InvalidScenarioError, type ScenarioProblem } from './problems.ts'

/** Finds protocols by name; `names` are all that it knows. */
export type Lookup = { readonly names: readonly string[]; find(name: string): Definition | null }

type Fields = { readonly [field: string]: unknown }
type Body = z.infer<ScenarioSchema['file']>

export function parseScenario(file: unknown, lookup: Lookup): Scenario {
  const { definition, nodes } = readHead(file, lookup)
  const schema = scenarioSchema(definition, nodes)
  const problems: ScenarioProblem[] = []
  if (nodes.length < definition.leastNodes) {
    const problem = `${definition.name} needs at least ${definition.leastNodes} nodes`
    problems.push({ field: 'nodes', problem })
  }
  const body = read(schema.file, file, '', problems)
  const given = file as Fields
  problems.push(...conflicts(given))
  if (body !== null) problems.push(...combinedProblems(definition, nodes, body))
  const untilMs = body?.untilMs ?? (typeof given['untilMs'] === 'number' ? given['untilMs'] : null)
  const events = listIn(given, 'events').map((event, index) => {
    const place = `events[${index}]`
    return readEvent(schema, event, place, untilMs, problems)
  })
  const steps = listIn(given, 'schedule').map((step, index) =>
    readStep(schema, step, `schedule[${index}]`, problems),
  )
  const nodeOptions = readNodeOptions(definition, nodes, given, body, problems)
  if (body === null || problems.length > 0) throw new InvalidScenarioError(problems)
  const { schedule } = body
  return {
    ...body,
    options: schedule === null ? body.options : definition.untimed(body.options),
    ...(nodeOptions.length === 0 ? {} : { nodeOptions: Object.fromEntries(nodeOptions) }),
    untilMs: body.untilMs ?? 0,
    events,
    schedule: schedule === null ? null : steps,
    // The schema describes exactly this type; zod cannot express that for events, which differ by their fields.
  } as Scenario
}

const headSchema = z.looseObject({ protocol: z.string(), nodes: nodeList() })

/** Without a protocol and nodes nothing else can be checked. */
function readHead(
  file: unknown,
  lookup: Lookup,
): { readonly definition: Definition; readonly nodes: readonly NodeId[] } {
  const problems: ScenarioProblem[] = []
  const head = read(headSchema, file, '', problems)
  const given = (file ?? {}) as Fields
  const definition = typeof given['protocol'] === 'string' ? lookup.find(given['protocol']) : null
  if (typeof given['protocol'] === 'string' && definition === null)
    problems.unshift({ field: 'protocol', problem: unknownProtocol(given['protocol'], lookup.names) })
  if (head === null || definition === null) throw new InvalidScenarioError(problems)
  return { definition, nodes: head.nodes }
}

function unknownProtocol(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return `unknown protocol "${name}" (known: ${known.join(', ')})${near === null ? '' : `; did you mean ${near}?`}`
}

/** Fields that exclude each other. */
function conflicts(file: Fields): readonly ScenarioProblem[] {
  const isGiven = (field: string): boolean => {
    const value = file[field]
    return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  }
  const hasSchedule = file['schedule'] !== undefined && file['schedule'] !== null
  if (!hasSchedule) {
    if (file['untilMs'] !== undefined) return []
    return [{ field: 'untilMs', problem: `is missing: say when the run ends (at most ${LONGEST_MS})` }]
  }
  const timed = ['untilMs', 'checkpointsMs'].filter(isGiven)
  return [
    ...(isGiven('events')
      ? [{ field: 'schedule', problem: 'a scenario has events or a schedule, not both' }]
      : []),
    ...timed.map((field) => ({ field, problem: 'a schedule has no time' })),
    ...(isGiven('nodeOptions')
      ? [{ field: 'nodeOptions', problem: 'in a schedule all nodes have the same options' }]
      : []),
  ]
}

/** Problems of fields that are valid one by one. */
function combinedProblems(
  definition: Definition,
  nodes: readonly NodeId[],
  body: Body,
): readonly ScenarioProblem[] {
  const { options, initial, checkpointsMs, untilMs } = body
  const { delayMs } = body.registers ?? body.network
  const worldly = worldlyProblem(definition, options)
  if (worldly !== null) return [worldly]
  return [
    ...(initial !== null && !canBeginSettled(definition, nodes, options)
      ? [{ field: 'initial', problem: `${definition.name} cannot begin settled` }]
      : []),
    ...boundProblems(definition, options, longest(delayMs)),
    ...(untilMs === undefined
      ? []
      : checkpointsMs.flatMap((atMs, index) => lateProblem(untilMs, atMs, `checkpointsMs[${index}]`))),
  ]
}

/**
 * Rejects options that cannot work on a network with such delays, with both sides of each bound. `chosen`: only the
 * options in it are checked.
 */
export function checkBounds(
  definition: Definition,
  options: PlainObject,
  maxDelayMs: number,
  chosen: PlainObject = options,
): void {
  const problems = boundProblems(definition, options, maxDelayMs, chosen)
  if (problems.length > 0) throw new InvalidScenarioError(problems)
}

function boundProblems(
  definition: Definition,
  options: PlainObject,
  maxDelayMs: number,
  chosen: PlainObject = options,
): readonly ScenarioProblem[] {
  return definition
    .bounds(options, maxDelayMs)
    .filter(({ option, value, least }) => Object.hasOwn(chosen, option) && microsOf(value) < microsOf(least))
    .map(({ option, value, least, because }) => {
      const leastMs = msOf(microsOf(least))
      const problem = `${value} is below ${leastMs}, its least value here (${because}; delays are up to ${maxDelayMs} ms): use ${leastMs}`
      return { field: `options.${option}`, problem }
    })
}

function longest(span: Span): number {
  return typeof span === 'number' ? span : span[1]
}

function listIn(file: Fields, field: string): readonly unknown[] {
  const value = file[field]
  return Array.isArray(value) ? value : []
}

function canBeginSettled(
  definition: Definition,
  nodes: readonly NodeId[],
  options: Scenario['options'],
): boolean {
  return definition.create({ self: nodes[0] as NodeId, nodes }, options).settled !== undefined
}

function readNodeOptions(
  definition: Definition,
  nodes: readonly NodeId[],
  file: Fields,
  body: Body | null,
  problems: ScenarioProblem[],
): readonly (readonly [node: string, options: PlainObject | null])[] {
  return Object.entries(body?.nodeOptions ?? {}).map(([node, own]) => {
    const all = { ...(file['options'] as PlainObject | undefined), ...own }
    return [node, read(definition.options(nodes), all, `nodeOptions.${node}`, problems)]
  })
}

/** `untilMs`: null when the file does not say when the run ends. */
function readEvent(
  schema: ScenarioSchema,
  event: unknown,
  place: string,
  untilMs: number | null,
  problems: ScenarioProblem[],
): unknown {
  const fields = read(z.looseObject({ atMs: z.number().min(0) }), event, place, problems)
  if (fields === null) return null
  const names = Object.keys(fields)
  const kind = names.find((field) => Object.hasOwn(schema.events, field))
  if (kind === undefined) {
    problems.push(unknownEvent(schema, names, place))
    return null
  }
  const parsed = read(schema.events[kind] as EventSchema, event, place, problems)
  if (parsed === null) return null
  if (untilMs !== null) problems.push(...lateProblem(untilMs, parsed.atMs, `${place}.atMs`))
  if (kind === 'command') {
    const { node: _node, ...command } = (parsed as unknown as { command: { node: NodeId } }).command
    read(schema.commands, command, `${place}.command`, problems)
  }
  return parsed
}

function unknownEvent(schema: ScenarioSchema, names: readonly string[], place: string): ScenarioProblem {
  const kinds = Object.keys(schema.events)
  const known = kinds.join(', ')
  const unknown = names.find((field) => field !== 'atMs')
  if (unknown === undefined)
    return { field: place, problem: `does not say what happens (known events: ${known})` }
  const near = nearest(unknown, kinds)
  const hint = near === null ? '' : `; did you mean ${near}?`
  return { field: `${place}.${unknown}`, problem: `unknown event (known: ${known})${hint}` }
}

function readStep(
  schema: ScenarioSchema,
  step: unknown,
  place: string,
  problems: ScenarioProblem[],
): unknown {
  const words = Object.keys(schema.steps) as [string, ...string[]]
  const kind = read(z.looseObject({ do: z.enum(words) }), step, place, problems)
  if (kind === null) return null
  const parsed = read(schema.steps[kind.do] as z.ZodType<{ do: string }>, step, place, problems)
  if (parsed !== null && 'command' in parsed)
    read(schema.commands, parsed.command, `${place}.command`, problems)
  return parsed
}

function lateProblem(untilMs: number, atMs: number, field: string): readonly ScenarioProblem[] {
  return atMs > untilMs ? [{ field, problem: `${atMs} is after untilMs (${untilMs})` }] : []
}

/** The options of a protocol with every value filled in. */
export function checkedOptions(
  definition: Definition,
  nodes: readonly NodeId[],
  options: PlainObject,
): PlainObject {
  const problems: ScenarioProblem[] = []
  const chosen = read(definition.options(nodes), options, 'options', problems)
  const worldly = chosen === null ? null : worldlyProblem(definition, chosen)
  if (worldly !== null) problems.push(worldly)
  if (chosen === null || problems.length > 0) throw new InvalidScenarioError(problems)
  return chosen
}

function worldlyProblem(definition: Definition, options: PlainObject): ScenarioProblem | null {
  const option = definition.onlyRecorded(options)
  if (option === null) return null
  const value = JSON.stringify(options[option])
  return {
    field: `options.${option}`,
    problem: `${value} is written by recordings of real nodes only; a simulated world has no such option`,
  }
}

/** The value as the schema makes it; null when it is not valid, with what is wrong added to the problems. */
function read<T>(schema: z.ZodType<T>, value: unknown, place: string, problems: ScenarioProblem[]): T | null {
  const result = schema.safeParse(value, { error: explain })
  if (result.success) return result.data
  problems.push(...schemaProblems(result.error, schema, place))
  return null
}

/** The first problem that a schema reports: where, and what. */
export function firstProblem(
  error: z.ZodError,
  place: string,
  schema?: z.ZodType,
): { readonly field: string; readonly problem: string } {
  return (
    schemaProblems(error, schema ?? null, place)[0] ?? { field: pathText(place, []), problem: 'is not valid' }
  )
}
