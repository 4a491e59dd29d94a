/** Checks the options of `join`: every single option, all problems at once. */
import { inspect } from 'node:util'
import { z } from 'zod'
import { explain } from '../../core/index.ts'
import { isAbortSignal } from './abort-signal.ts'
import {
  isInStore,
  NEEDS_NETWORK,
  NEEDS_STORE,
  NETWORK_ONLY,
  nodeFields,
  peerOrAddress,
  protocolName,
  STORE_ONLY,
  storeNodeId,
  TWO_ROLES,
  traceSteps,
} from './fields.ts'
import type { HealthCheck, JoinOptions } from './join-options.ts'
import { type FieldProblem, fieldProblems, rejectOptions } from './problems.ts'
import type { StoreJoinOptions } from './store-join-options.ts'

const MAX_MS = 3_600_000
/** A smaller limit would report the ordinary lateness of timers as a stall. */
const MIN_STALL_MS = 50

const durationMs = (least: number) => z.number().min(least).max(MAX_MS).optional()

const isKey = (value: unknown): boolean => value instanceof Uint8Array
const key = z.custom<Uint8Array | readonly Uint8Array[]>(
  (value) => isKey(value) || (Array.isArray(value) && value.length > 0 && value.every(isKey)),
  'must be a Uint8Array or a non-empty list of them, for example readFileSync(FILE)',
)

const workFields = {
  healthy: z
    .custom<HealthCheck>(
      (value) => typeof value === 'function',
      'must be a function that returns true or false',
    )
    .optional(),
  healthIntervalMs: durationMs(1),
  healthTimeoutMs: durationMs(1),
  drainMs: durationMs(0),
}

const commonFields = {
  ...workFields,
  group: nodeFields.group,
  profile: nodeFields.profile.optional(),
  // JavaScript values: the schema of the protocol checks them.
  options: z.record(z.string(), z.unknown()).optional(),
  isolation: z.enum(['worker', 'thread']).optional(),
  maxStallMs: durationMs(MIN_STALL_MS),
  traceSteps: traceSteps.optional(),
  signal: z.custom<AbortSignal>(isAbortSignal, 'must be an AbortSignal').optional(),
}

const networkSchema = z.strictObject({
  ...commonFields,
  id: nodeFields.id,
  listen: nodeFields.listen,
  peers: z.array(peerOrAddress),
  key,
  secrecy: nodeFields.secrecy.optional(),
  data: nodeFields.data.optional(),
  protocol: protocolName('peers').optional(),
  mode: nodeFields.mode.optional(),
  timing: nodeFields.timing.optional(),
  leaseMinMs: nodeFields.leaseMinMs.optional(),
  leaseMaxMs: nodeFields.leaseMaxMs.optional(),
  leaseLossPerDay: nodeFields.leaseLossPerDay.optional(),
  sticky: nodeFields.sticky.optional(),
  priority: nodeFields.priority.optional(),
  observer: nodeFields.observer.optional(),
  witness: nodeFields.witness.optional(),
})

const storeSchema = z.strictObject({
  ...commonFields,
  id: storeNodeId,
  protocol: protocolName('store'),
  store: nodeFields.store,
  fencing: nodeFields.fencing.optional(),
})

const workSchema = z.strictObject(workFields)

const KNOWN = [...new Set([...Object.keys(networkSchema.shape), ...Object.keys(storeSchema.shape)])]
const OTHERWISE = 'see docs/reference/library.md for all options'

/** Throws InvalidOptionsError with every problem of the single options. */
export function checkJoinOptions(asked: unknown): asserts asked is JoinOptions | StoreJoinOptions {
  const given = fieldsOf(asked)
  const inStore = isInStore(given['protocol'])
  const [misplaced, message] = inStore
    ? ([NETWORK_ONLY, NEEDS_NETWORK] as const)
    : ([STORE_ONLY, NEEDS_STORE] as const)
  const problems: FieldProblem[] = []
  const rest: { [field: string]: unknown } = { ...given }
  for (const field of misplaced) {
    if (rest[field] !== undefined) problems.push({ field, message })
    delete rest[field]
  }
  if (rest['observer'] === true && rest['witness'] === true) problems.push(TWO_ROLES)
  rejectOptions([...problems, ...problemsOf(inStore ? storeSchema : networkSchema, rest)])
}

/** The same for the options that a node has wherever its election runs, among others that the caller checks. */
export function checkWorkOptions(asked: object): void {
  const given = Object.entries(asked).filter(([field]) => Object.hasOwn(workFields, field))
  rejectOptions(problemsOf(workSchema, Object.fromEntries(given)))
}

function problemsOf(schema: z.ZodType, given: unknown): readonly FieldProblem[] {
  const result = schema.safeParse(given, { error: explain })
  return result.success ? [] : fieldProblems(result.error, KNOWN, { otherwise: OTHERWISE })
}

function fieldsOf(asked: unknown): { readonly [field: string]: unknown } {
  if (asked === null || typeof asked !== 'object' || Array.isArray(asked)) {
    const shown = inspect(asked, { depth: 0, breakLength: Number.POSITIVE_INFINITY })
    rejectOptions([
      { field: 'join', message: `must be called with an object such as { group, id, ... }, not ${shown}` },
    ])
  }
  return asked as { readonly [field: string]: unknown }
}
