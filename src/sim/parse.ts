/** Reads a scenario file: everything is checked before anything runs, and an error names the field and its place. */
import { z } from 'zod'
import { type Definition, LONGEST_MS, milliseconds, type NodeId, nodeAmong } from '../core/index.ts'
import type { Scenario } from './scenario.ts'

/** A scenario that cannot be run. `field` is the place in the file, empty when it is the file as a whole. */
export class BadScenario extends Error {
  override readonly name = 'BadScenario'
  readonly field: string

  constructor(field: string, problem: string) {
    super(field === '' ? problem : `${field}: ${problem}`)
    this.field = field
  }
}

/** More nodes than this in one world is taken for a mistake. */
const MOST_NODES = 10_000

export type Lookup = (protocol: string) => Definition | null

export function parseScenario(file: unknown, lookup: Lookup, known: readonly string[]): Scenario {
  const head = checked(z.looseObject({ protocol: z.string(), nodes: nodeList() }), file, '')
  const definition = lookup(head.protocol)
  if (definition === null) {
    throw new BadScenario('protocol', `unknown protocol "${head.protocol}" (known: ${known.join(', ')})`)
  }
  return inWorldOf(definition, head.nodes, file)
}

function inWorldOf(definition: Definition, nodes: readonly NodeId[], file: unknown): Scenario {
  const { node, pairs, span, settledOn } = pieces(nodes)
  const kinds = [...definition.kinds, ...definition.linkKinds]
  const rule = z.strictObject({
    from: node.optional(),
    to: node.optional(),
    kind: z.enum(kinds as [string, ...string[]]).optional(),
    delayMs: span.optional(),
    drop: z.boolean().optional(),
  })
  const network = z.strictObject({
    delayMs: span.default([0.2, 2]),
    loss: z.number().min(0).max(1).default(0),
    duplicate: z.number().min(0).max(1).default(0),
    fifo: z.boolean().default(definition.order === 'fifo'),
    rules: z.array(rule).default([]),
  })
  const shape = z.strictObject({
    protocol: z.string(),
    nodes: nodeList(),
    options: definition.options(nodes).prefault({}),
    seed: z.int().default(1),
    links: z
      .union([z.literal('full'), pairs], { error: 'is neither "full" nor a list of pairs of nodes' })
      .default('full'),
    network: network.prefault({}),
    clocks: z.strictObject({ driftPpm: z.number().min(0).max(100_000).default(0) }).prefault({}),
    initial: settledOn.nullable().default(null),
    events: z.array(z.unknown()).default([]),
    untilMs: milliseconds().optional(),
    checkpointsMs: z.array(z.number().min(0)).default([]),
    schedule: z.array(z.unknown()).nullable().default(null),
  })
  const body = checked(shape, file, '')
  if (body.schedule !== null && body.events.length > 0) {
    throw new BadScenario('schedule', 'a scenario has events or a schedule, not both')
  }
  if (body.untilMs === undefined && body.schedule === null) {
    throw new BadScenario('untilMs', `is missing: say when the run ends (at most ${LONGEST_MS})`)
  }
  if (
    body.initial !== null &&
    definition.create({ self: nodes[0] as NodeId, nodes }, body.options).settled === undefined
  ) {
    throw new BadScenario('initial', `${definition.name} cannot begin settled`)
  }
  const untilMs = body.untilMs ?? 0
  const parsed = {
    ...body,
    untilMs,
    events: body.events.map((event, index) => eventAt(event, `events[${index}]`, definition, nodes, untilMs)),
    schedule:
      body.schedule?.map((step, index) => scheduleStep(step, `schedule[${index}]`, definition, nodes)) ??
      null,
  }
  for (const [index, atMs] of parsed.checkpointsMs.entries()) {
    if (atMs > untilMs)
      throw new BadScenario(`checkpointsMs[${index}]`, `${atMs} is after untilMs (${untilMs})`)
  }
  return parsed as Scenario
}

function pieces(nodes: readonly NodeId[]) {
  const node = nodeAmong(nodes)
  const span = z.union(
    [
      z.number().min(0).max(LONGEST_MS),
      z
        .tuple([z.number().min(0).max(LONGEST_MS), z.number().min(0).max(LONGEST_MS)])
        .refine(([least, most]) => least <= most),
    ],
    { error: 'is neither a number of milliseconds nor [least, most]' },
  )
  const pairs = z.array(
    z.tuple([node, node]).refine(([a, b]) => a !== b, { error: 'a node has no link to itself' }),
  )
  const settledOn = z
    .strictObject({
      leader: node,
      members: z
        .array(node)
        .min(1)
        .default([...nodes]),
    })
    .refine(({ leader, members }) => members.includes(leader), {
      error: 'the leader is not among the members',
    })
  return { node, span, pairs, settledOn }
}

function nodeList() {
  return z
    .array(z.union([z.int(), z.string().min(1)]))
    .min(1, { error: 'is empty: a world has at least one node' })
    .max(MOST_NODES)
    .superRefine((nodes, context) => {
      // A report names nodes by text, so 1 and "1" would be one.
      const seen = new Set<string>()
      const twice = nodes.findIndex((id) => seen.size === seen.add(String(id)).size)
      if (twice >= 0)
        context.addIssue({ code: 'custom', path: [twice], message: `${nodes[twice]} is listed twice` })
    })
}

function eventAt(
  event: unknown,
  place: string,
  definition: Definition,
  nodes: readonly NodeId[],
  untilMs: number,
): unknown {
  const { node, pairs, span } = pieces(nodes)
  const at = { atMs: z.number().min(0) }
  const command = z.looseObject({ node })
  const kinds: { readonly [kind: string]: z.ZodType<{ atMs: number }> } = {
    crash: z.strictObject({ ...at, crash: node, afterEffects: z.int().min(0).optional() }),
    recover: z.strictObject({ ...at, recover: node }),
    partition: z.strictObject({ ...at, partition: z.array(z.array(node)).min(1) }),
    heal: z.strictObject({
      ...at,
      heal: z.union([z.literal('all'), pairs], { error: 'is neither "all" nor a list of pairs of nodes' }),
    }),
    cut: z.strictObject({ ...at, cut: pairs }),
    cutOneWay: z.strictObject({ ...at, cutOneWay: pairs }),
    links: z.strictObject({
      ...at,
      links: z.union([z.literal('full'), pairs], { error: 'is neither "full" nor a list of pairs of nodes' }),
    }),
    slow: z.strictObject({ ...at, slow: pairs, delayMs: span }),
    pause: z.strictObject({ ...at, pause: node, forMs: milliseconds() }),
    suspend: z.strictObject({ ...at, suspend: node, forMs: milliseconds() }),
    command: z.strictObject({ ...at, command }),
  }
  const fields = Object.keys(checked(z.looseObject(at), event, place))
  const kind = fields.find((field) => field in kinds)
  if (kind === undefined) {
    throw new BadScenario(place, `no known event here (known: ${Object.keys(kinds).join(', ')})`)
  }
  const parsed = checked(kinds[kind] as z.ZodType<{ atMs: number }>, event, place)
  if (parsed.atMs > untilMs) {
    throw new BadScenario(`${place}.atMs`, `${parsed.atMs} is after untilMs (${untilMs})`)
  }
  if (kind === 'command') {
    const { node: _node, ...rest } = (parsed as unknown as { command: { node: NodeId } }).command
    checkedCommand(rest, `${place}.command`, definition, nodes)
  }
  return parsed
}

function checkedCommand(
  command: unknown,
  place: string,
  definition: Definition,
  nodes: readonly NodeId[],
): void {
  checked(definition.commands(nodes), command, place)
}

function scheduleStep(
  step: unknown,
  place: string,
  definition: Definition,
  nodes: readonly NodeId[],
): unknown {
  const { node } = pieces(nodes)
  const crashAfter = z.int().min(1).optional()
  const kinds = {
    deliver: z.strictObject({
      node,
      do: z.literal('deliver'),
      from: node,
      nth: z.int().min(0).optional(),
      crashAfter,
    }),
    timer: z.strictObject({ node, do: z.literal('timer'), name: z.string(), crashAfter }),
    command: z.strictObject({ node, do: z.literal('command'), command: z.looseObject({}), crashAfter }),
    crash: z.strictObject({ node, do: z.literal('crash') }),
    recover: z.strictObject({ node, do: z.literal('recover'), crashAfter }),
    cut: z.strictObject({ node, do: z.literal('cut'), peer: node }),
    heal: z.strictObject({ node, do: z.literal('heal'), peer: node }),
  }
  const word = checked(
    z.looseObject({ do: z.enum(Object.keys(kinds) as (keyof typeof kinds)[]) }),
    step,
    place,
  ).do
  const parsed = checked<{ do: string }>(kinds[word], step, place)
  if ('command' in parsed) checkedCommand(parsed.command, `${place}.command`, definition, nodes)
  return parsed
}

function checked<T>(schema: z.ZodType<T>, value: unknown, place: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0] as z.core.$ZodIssue
  const field = placeOf(place, issue.path)
  if (issue.code === 'unrecognized_keys') {
    throw new BadScenario(placeOf(field, [issue.keys[0] as string]), 'unknown field')
  }
  throw new BadScenario(field, issue.message)
}

function placeOf(start: string, path: readonly PropertyKey[]): string {
  let place = start
  for (const key of path) {
    place += typeof key === 'number' ? `[${key}]` : `${place === '' ? '' : '.'}${String(key)}`
  }
  return place
}
