/** The schema of scenario files in a world of given nodes and a given protocol. */
import { z } from 'zod'
import {
  type Command,
  type Definition,
  LONGEST_MS,
  milliseconds,
  type NodeId,
  nodeAmong,
} from '../../core/index.ts'
import type { Span } from './scenario.ts'

/** More nodes than this in one world is taken for a mistake. */
export const MOST_NODES = 10_000

/** Seeds are what the generator takes: 32 bits. */
export const MOST_SEED = 2 ** 32 - 1

export type EventSchema = z.ZodType<{ atMs: number }>

export type ScenarioSchema = {
  readonly file: ReturnType<typeof fileSchema>
  /** By the field that names what happens. */
  readonly events: { readonly [kind: string]: EventSchema }
  /** By the value of `do`. */
  readonly steps: { readonly [word: string]: z.ZodType<{ do: string }> }
  readonly commands: z.ZodType<Command>
}

/** The last schema of each protocol: building one takes longer than many a run, and a campaign reads thousands of files. */
const built = new WeakMap<Definition, { readonly of: string; readonly schema: ScenarioSchema }>()

export function scenarioSchema(definition: Definition, nodes: readonly NodeId[]): ScenarioSchema {
  const of = JSON.stringify(nodes)
  const last = built.get(definition)
  if (last?.of === of) return last.schema
  const schema = buildSchema(definition, nodes)
  built.set(definition, { of, schema })
  return schema
}

function buildSchema(definition: Definition, nodes: readonly NodeId[]): ScenarioSchema {
  const pieces = piecesFor(definition, nodes)
  return {
    file: fileSchema(definition, nodes, pieces),
    events: eventSchemas(pieces),
    steps: stepSchemas(pieces),
    commands: definition.commands(nodes),
  }
}

export function nodeList() {
  return z
    .array(z.union([z.int(), z.string().min(1)]))
    .min(1, { error: 'is empty: a world has at least one node' })
    .max(MOST_NODES)
    .superRefine((nodes, context) => {
      // A report names nodes by text, so 1 and "1" would be one.
      const seen = new Set<string>()
      const twice = nodes.findIndex((id) => seen.size === seen.add(String(id)).size)
      if (twice < 0) return
      context.addIssue({ code: 'custom', path: [twice], message: `${nodes[twice]} is listed twice` })
    })
}

/** A clock runs at a tenth of the true rate at least, and at ten times at most. */
const SLOWEST_PPM = -900_000
const FASTEST_PPM = 9_000_000

const probability = z.number().min(0).max(1)

function piecesFor(definition: Definition, nodes: readonly NodeId[]) {
  const node = nodeAmong(nodes)
  const ms = z.number().min(0).max(LONGEST_MS)
  const interval = z.tuple([ms, ms]).refine(([least, most]) => least <= most, {
    error: 'runs backwards: write [least, most]',
  })
  const span = z.union([ms, interval], { error: 'is neither a number of milliseconds nor [least, most]' })
  const pair = z.tuple([node, node]).refine(([a, b]) => a !== b, { error: 'a node has no link to itself' })
  const pairs = z.array(pair)
  const graph = z.union([z.literal('full'), pairs], {
    error: 'is neither "full" nor a list of pairs of nodes',
  })
  const kinds = [...definition.kinds, ...definition.linkKinds] as [string, ...string[]]
  const rule = z.strictObject({
    from: node.optional(),
    to: node.optional(),
    kind: z.enum(kinds).optional(),
    delayMs: span.optional(),
    drop: z.boolean().optional(),
    loss: probability.optional(),
  })
  return { node, span, pairs, graph, rules: z.array(rule) }
}

type Pieces = ReturnType<typeof piecesFor>

function fileSchema(definition: Definition, nodes: readonly NodeId[], { node, span, graph, rules }: Pieces) {
  const network = z.strictObject({
    delayMs: span.default([0.2, 2]),
    loss: probability.default(0),
    duplicate: probability.default(0),
    fifo: z.boolean().default(definition.order === 'fifo'),
    rules: rules.default([]),
    slack: z.int().min(0).max(8).optional(),
    labelled: z.boolean().optional(),
  })
  const none = z.null({ error: `${definition.name} shares no registers` })
  const store = z.strictObject({
    delayMs: span.default([0.5, 2]),
    late: probability.default(0),
    lateMs: span.default([10, 100]),
    timeoutMs: milliseconds().default(1000),
  })
  const initial = z
    .strictObject({
      leader: node,
      members: z
        .array(node)
        .min(1)
        .default([...nodes]),
    })
    .refine(({ members }) => new Set(members).size === members.length, { error: 'a member is listed twice' })
    .refine(({ leader, members }) => members.includes(leader), {
      error: 'the leader is not among the members',
    })
  return z.strictObject({
    protocol: z.string(),
    nodes: nodeList(),
    options: definition.options(nodes).prefault({}),
    nodeOptions: z.partialRecord(z.enum(nodes.map(String)), z.record(z.string(), z.json())).optional(),
    seed: z.int().min(0).max(MOST_SEED).default(1),
    links: graph.default('full'),
    network: network.prefault({}),
    clocks: z
      .strictObject({ driftPpm: z.number().min(0).max(100_000).default(0), lateMs: span.default(0) })
      .prefault({}),
    registers: definition.registers === null ? none.default(null) : store.prefault({}),
    initial: initial.nullable().default(null),
    events: z.array(z.unknown()).default([]),
    untilMs: milliseconds().optional(),
    checkpointsMs: z.array(z.number().min(0)).default([]),
    schedule: z.array(z.unknown()).nullable().default(null),
  })
}

function eventSchemas({ node, pairs, span, graph, rules }: Pieces): { readonly [kind: string]: EventSchema } {
  const at = { atMs: z.number().min(0) }
  const message = z.int().min(0)
  const blocks = z
    .array(z.array(node))
    .min(1)
    .refine((all) => new Set(all.flat()).size === all.flat().length, { error: 'a node is in two blocks' })
  const all = z.union([z.literal('all'), pairs], { error: 'is neither "all" nor a list of pairs of nodes' })
  return {
    crash: z.strictObject({ ...at, crash: node, afterEffects: z.int().min(0).optional() }),
    recover: z.strictObject({ ...at, recover: node }),
    partition: z.strictObject({ ...at, partition: blocks }),
    heal: z.strictObject({ ...at, heal: all }),
    cut: z.strictObject({ ...at, cut: pairs }),
    cutOneWay: z.strictObject({ ...at, cutOneWay: pairs }),
    links: z.strictObject({ ...at, links: graph }),
    loss: z.strictObject({ ...at, loss: probability }),
    duplicate: z.strictObject({ ...at, duplicate: probability }),
    slow: z.strictObject({ ...at, slow: pairs, delayMs: span }),
    late: z.strictObject({ ...at, late: probability }),
    load: loadSchema({ node, span, at }),
    hang: z.strictObject({ ...at, hang: z.literal('store'), forMs: milliseconds() }),
    pause: z.strictObject({ ...at, pause: node, forMs: milliseconds() }),
    suspend: z.strictObject({ ...at, suspend: node, forMs: milliseconds() }),
    drift: z.strictObject({ ...at, drift: node, ppm: z.number().min(SLOWEST_PPM).max(FASTEST_PPM) }),
    skew: z.strictObject({ ...at, skew: node, byMs: z.number().min(-LONGEST_MS).max(LONGEST_MS) }),
    drop: z.strictObject({ ...at, drop: message }),
    delay: z.strictObject({ ...at, delay: message, forMs: milliseconds() }),
    copy: z.strictObject({ ...at, copy: message, afterMs: z.number().min(0).max(LONGEST_MS).optional() }),
    rules: z.strictObject({ ...at, rules }),
    unwritable: z.strictObject({ ...at, unwritable: node }),
    writable: z.strictObject({ ...at, writable: node }),
    command: z.strictObject({ ...at, command: z.looseObject({ node }) }),
  }
}

/** Without an end above 0 a heavy tail has no scale. */
function loadSchema({ node, span, at }: Pick<Pieces, 'node' | 'span'> & { at: { atMs: z.ZodNumber } }) {
  const hasScale = (value: Span | undefined): boolean =>
    value === undefined || value === 0 || (typeof value !== 'number' && value[0] > 0)
  return z
    .strictObject({
      ...at,
      load: z.union([z.literal('all'), z.array(node).min(1)], {
        error: 'is neither "all" nor a list of nodes',
      }),
      lateMs: span.optional(),
      delayMs: span.optional(),
      tail: z.number().min(0.1).max(10).optional(),
      overMs: milliseconds().optional(),
      forMs: milliseconds().optional(),
    })
    .refine(({ lateMs, delayMs }) => lateMs !== undefined || delayMs !== undefined, {
      error: 'does not say by how much: give lateMs, delayMs or both',
    })
    .refine(({ tail, lateMs, delayMs }) => tail === undefined || (hasScale(lateMs) && hasScale(delayMs)), {
      error: 'a heavy tail lies between two values above 0: write [least, most]',
      path: ['tail'],
    })
}

const NO_LINK = { error: 'a node has no link to itself' }

function isLink({ node, peer }: { readonly node: NodeId; readonly peer: NodeId }): boolean {
  return node !== peer
}

function stepSchemas({ node }: Pieces): { readonly [word: string]: z.ZodType<{ do: string }> } {
  const cut = { crashAfter: z.int().min(1).optional() }
  const nth = z.int().min(0).optional()
  const late = { late: z.literal(true).optional() }
  return {
    deliver: z.strictObject({ node, do: z.literal('deliver'), from: node, nth, ...cut }),
    timer: z.strictObject({ node, do: z.literal('timer'), name: z.string(), ...cut }),
    command: z.strictObject({ node, do: z.literal('command'), command: z.looseObject({}), ...cut }),
    crash: z.strictObject({ node, do: z.literal('crash') }),
    recover: z.strictObject({ node, do: z.literal('recover'), nth, ...cut }),
    reincarnate: z.strictObject({ node, do: z.literal('reincarnate'), nth, ...cut }),
    tickDisk: z.strictObject({ node, do: z.literal('tickDisk'), to: z.int().min(1).optional(), ...late }),
    tickMem: z.strictObject({ node, do: z.literal('tickMem') }),
    write: z.strictObject({ node, do: z.literal('write'), ...late }),
    read: z
      .strictObject({ node, do: z.literal('read'), of: node, nth })
      .refine((step) => step.node !== step.of, { error: 'a node does not read its own register in a round' }),
    land: z.strictObject({ node, do: z.literal('land') }),
    examine: z.strictObject({ node, do: z.literal('examine') }),
    bury: z.strictObject({ node, do: z.literal('bury'), nth }),
    delete: z.strictObject({ node, do: z.literal('delete') }),
    cut: z.strictObject({ node, do: z.literal('cut'), peer: node }).refine(isLink, NO_LINK),
    heal: z.strictObject({ node, do: z.literal('heal'), peer: node }).refine(isLink, NO_LINK),
    flip: z.strictObject({ node, do: z.literal('flip'), peer: node, ...cut }).refine(isLink, NO_LINK),
    follow: z.strictObject({ node, do: z.literal('follow'), peer: node, ...cut }).refine(isLink, NO_LINK),
    tick: z.strictObject({ do: z.literal('tick') }),
  }
}
