/** Writes and reads traces as NDJSON. */
import { z } from 'zod'
import { explain } from '../../core/index.ts'
import type { TraceHeader, TraceRecord } from './records.ts'

export type Trace = { readonly header: TraceHeader; readonly records: readonly TraceRecord[] }

export class InvalidTraceError extends Error {
  override readonly name = 'InvalidTraceError'
  readonly code = 'ERR_CONCLAVE_INVALID_TRACE'
}

export function traceLine(value: TraceHeader | TraceRecord): string {
  return JSON.stringify(value)
}

export function writeTrace({ header, records }: Trace): string {
  return `${[traceLine(header), ...records.map(traceLine)].join('\n')}\n`
}

const nodeId = z.union([z.number(), z.string()])

const header = z.object({
  trace: z.literal(1, { error: 'must be 1: this is not a trace, or a later version wrote it' }),
  protocol: z.string(),
  nodes: z.array(nodeId).min(1),
  options: z.record(z.string(), z.json()),
  seed: z.number(),
  nodeOptions: z.record(z.string(), z.record(z.string(), z.json())).optional(),
  recording: z
    .object({
      group: z.string(),
      node: nodeId,
      run: z.string(),
      skipped: z.number(),
      clock: z.string().nullable(),
      takenAt: z.number(),
      wallAhead: z.number(),
    })
    .optional(),
  hosted: z.string().optional(),
})

const outcome = z.object({ leader: nodeId, members: z.array(nodeId) })

const seenView = z.looseObject({ role: z.string() })

const turn = {
  at: z.number(),
  node: nodeId,
  now: z.number(),
  effects: z.array(z.looseObject({ type: z.string() })),
  sent: z.array(z.number()),
  cutAfter: z.number().nullable(),
  view: seenView.nullable(),
}

const record = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), ...turn, stable: z.json(), settledOn: outcome.nullable() }),
  z.object({
    type: z.literal('step'),
    ...turn,
    input: z.looseObject({ type: z.string() }),
    message: z.number().nullable(),
    takenBack: z.literal(true).optional(),
    failed: z.object({ error: z.string(), isFatal: z.boolean() }).optional(),
  }),
  z.object({
    type: z.literal('resume'),
    at: z.number(),
    node: nodeId,
    now: z.number(),
    state: z.json(),
  }),
  z.object({ type: z.literal('world'), at: z.number(), event: z.record(z.string(), z.json()) }),
  z.object({
    type: z.literal('tick'),
    at: z.number(),
    by: z.number(),
    views: z.array(z.object({ node: nodeId, view: seenView })),
  }),
  z.object({
    type: z.literal('lost'),
    at: z.number(),
    message: z.number(),
    why: z.enum(['chance', 'cut', 'rule', 'down', 'dropped']),
  }),
])

export function readTrace(text: string): Trace {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw new InvalidTraceError('the trace is empty')
  const [first, ...rest] = lines.map(parseLine)
  return {
    // The shapes of inputs and effects belong to the protocol; replay compares them exactly.
    header: checkShape(header, first, 1) as TraceHeader,
    records: rest.map((value, index) => checkShape(record, value, index + 2) as TraceRecord),
  }
}

function parseLine(line: string, index: number): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new InvalidTraceError(`line ${index + 1} is not JSON: ${(error as Error).message}`)
  }
}

function checkShape(schema: z.ZodType, value: unknown, line: number): unknown {
  const result = schema.safeParse(value, { error: explain })
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new InvalidTraceError(`line ${line}: ${issue?.path.join('.') || 'record'}: ${issue?.message}`)
}
