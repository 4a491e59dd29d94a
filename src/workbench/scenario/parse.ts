/** Reads a scenario file: everything is checked before anything runs, and an error names the field and its place. */
import { z } from 'zod'
import {
  type Definition,
  explain,
  LONGEST_MS,
  microsOf,
  msOf,
  type NodeId,
  type PlainObject,
} from '../../core/index.ts'
import type { Scenario, Span } from './scenario.ts'
import { type EventSchema, nodeList, type ScenarioSchema, scenarioSchema } from './schema.ts'

/** A scenario that cannot be run. `field` is the place in the file, empty when it is the file as a whole. */
export class InvalidScenarioError extends Error {
  override readonly name = 'InvalidScenarioError'
  readonly code = 'ERR_CONCLAVE_INVALID_SCENARIO'
  readonly field: string

  constructor(field: string, problem: string) {
    super(field === '' ? problem : `${field}: ${problem}`)
    this.field = field
  }
}

/** Finds protocols by name; `names` are all that it knows. */
export type Lookup = { readonly names: readonly string[]; find(name: string): Definition | null }

export function parseScenario(file: unknown, lookup: Lookup): Scenario {
  const head = checked(z.looseObject({ protocol: z.string(), nodes: nodeList() }), file, '')
  const definition = lookup.find(head.protocol)
  if (definition === null) {
    const known = lookup.names.join(', ')
    throw new InvalidScenarioError('protocol', `unknown protocol "${head.protocol}" (known: ${known})`)
  }
  if (head.nodes.length < definition.leastNodes) {
    throw new InvalidScenarioError(
      'nodes',
      `${definition.name} needs at least ${definition.leastNodes} nodes`,
    )
  }
  const schema = scenarioSchema(definition, head.nodes)
  const body = checked(schema.file, file, '')
  const { schedule } = body
  if (schedule !== null && body.events.length > 0) {
    throw new InvalidScenarioError('schedule', 'a scenario has events or a schedule, not both')
  }
  const timed = (['untilMs', 'checkpointsMs'] as const).find((field) => given(file, field))
  if (schedule !== null && timed !== undefined)
    throw new InvalidScenarioError(timed, 'a schedule has no time')
  if (body.untilMs === undefined && schedule === null) {
    throw new InvalidScenarioError('untilMs', `is missing: say when the run ends (at most ${LONGEST_MS})`)
  }
  checkWorldly(definition, body.options)
  if (body.initial !== null && !canBeginSettled(definition, head.nodes, body.options)) {
    throw new InvalidScenarioError('initial', `${definition.name} cannot begin settled`)
  }
  const { delayMs } = body.registers ?? body.network
  checkBounds(definition, body.options, longest(delayMs))
  const untilMs = body.untilMs ?? 0
  for (const [index, atMs] of body.checkpointsMs.entries()) {
    notAfter(untilMs, atMs, `checkpointsMs[${index}]`)
  }
  if (schedule !== null && body.nodeOptions !== undefined) {
    throw new InvalidScenarioError('nodeOptions', 'in a schedule all nodes have the same options')
  }
  const nodeOptions = Object.entries(body.nodeOptions ?? {}).map(([node, own]) => {
    const place = `nodeOptions.${node}`
    const all = { ...(file as { readonly options?: PlainObject }).options, ...own }
    return [node, checked(definition.options(head.nodes), all, place)]
  })
  return {
    ...body,
    options: schedule === null ? body.options : definition.untimed(body.options),
    ...(nodeOptions.length === 0 ? {} : { nodeOptions: Object.fromEntries(nodeOptions) }),
    untilMs,
    events: body.events.map((event, index) => readEvent(schema, event, `events[${index}]`, untilMs)),
    schedule: schedule?.map((step, index) => readStep(schema, step, `schedule[${index}]`)) ?? null,
    // The schema describes exactly this type; zod cannot say so of events that are told apart by their fields.
  } as Scenario
}

/**
 * Options that cannot work on a network with such delays are refused, with both sides of the bound. `chosen`: only
 * those that stand in it.
 */
export function checkBounds(
  definition: Definition,
  options: PlainObject,
  maxDelayMs: number,
  chosen: PlainObject = options,
): void {
  const broken = definition
    .bounds(options, maxDelayMs)
    .find(({ option, value, least }) => Object.hasOwn(chosen, option) && microsOf(value) < microsOf(least))
  if (broken === undefined) return
  const { option, value, because } = broken
  const least = msOf(microsOf(broken.least))
  throw new InvalidScenarioError(
    `options.${option}`,
    `${value} is below ${least}, its least value here (${because}; delays are up to ${maxDelayMs} ms): use ${least}`,
  )
}

function longest(span: Span): number {
  return typeof span === 'number' ? span : span[1]
}

function given(file: unknown, field: string): boolean {
  const value = (file as { readonly [field: string]: unknown })[field]
  return value !== undefined && !(Array.isArray(value) && value.length === 0)
}

function canBeginSettled(
  definition: Definition,
  nodes: readonly NodeId[],
  options: Scenario['options'],
): boolean {
  return definition.create({ self: nodes[0] as NodeId, nodes }, options).settled !== undefined
}

function readEvent(schema: ScenarioSchema, event: unknown, place: string, untilMs: number): unknown {
  const fields = Object.keys(checked(z.looseObject({ atMs: z.number().min(0) }), event, place))
  const kind = fields.find((field) => Object.hasOwn(schema.events, field))
  if (kind === undefined) {
    const known = Object.keys(schema.events).join(', ')
    const unknown = fields.find((field) => field !== 'atMs')
    if (unknown !== undefined)
      throw new InvalidScenarioError(`${place}.${unknown}`, `unknown event (known: ${known})`)
    throw new InvalidScenarioError(place, `says nothing of what happens (known: ${known})`)
  }
  const parsed = checked(schema.events[kind] as EventSchema, event, place)
  notAfter(untilMs, parsed.atMs, `${place}.atMs`)
  if (kind === 'command') {
    const { node: _node, ...command } = (parsed as unknown as { command: { node: NodeId } }).command
    checked(schema.commands, command, `${place}.command`)
  }
  return parsed
}

function readStep(schema: ScenarioSchema, step: unknown, place: string): unknown {
  const words = Object.keys(schema.steps) as [string, ...string[]]
  const word = checked(z.looseObject({ do: z.enum(words) }), step, place).do
  const parsed = checked(schema.steps[word] as z.ZodType<{ do: string }>, step, place)
  if ('command' in parsed) checked(schema.commands, parsed.command, `${place}.command`)
  return parsed
}

function notAfter(untilMs: number, atMs: number, place: string): void {
  if (atMs > untilMs) throw new InvalidScenarioError(place, `${atMs} is after untilMs (${untilMs})`)
}

/** A protocol's options with every value filled in. */
export function checkedOptions(
  definition: Definition,
  nodes: readonly NodeId[],
  options: PlainObject,
): PlainObject {
  const chosen = checked(definition.options(nodes), options, 'options')
  checkWorldly(definition, chosen)
  return chosen
}

function checkWorldly(definition: Definition, options: PlainObject): void {
  const option = definition.onlyRecorded(options)
  if (option === null) return
  const value = JSON.stringify(options[option])
  throw new InvalidScenarioError(
    `options.${option}`,
    `${value} is how real processes say what they recorded: a world has none of that`,
  )
}

/** The value as the schema makes it, or an error about the first thing that is wrong with it. */
function checked<T>(schema: z.ZodType<T>, value: unknown, place: string): T {
  const result = schema.safeParse(value, { error: explain })
  if (result.success) return result.data
  const { field, problem } = firstProblem(result.error, place)
  throw new InvalidScenarioError(field, problem)
}

/** The first thing that a schema objects to: where, and what. */
export function firstProblem(
  error: z.ZodError,
  place: string,
): { readonly field: string; readonly problem: string } {
  const issue = error.issues[0] as z.core.$ZodIssue
  const field = placeOf(place, issue.path)
  return issue.code === 'unrecognized_keys'
    ? { field: placeOf(field, [issue.keys[0] as string]), problem: 'unknown field' }
    : { field, problem: issue.message }
}

function placeOf(start: string, path: readonly PropertyKey[]): string {
  let place = start
  for (const key of path) {
    place += typeof key === 'number' ? `[${key}]` : `${place === '' ? '' : '.'}${String(key)}`
  }
  return place
}
