/** The options of `openCluster`: those of `join` that apply, and its own. */
import { z } from 'zod'
import { explain } from '../../../core/index.ts'
import { isAbortSignal } from '../../config/abort-signal.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import { type JoinOptions, networkSettings } from '../../config/join-options.ts'
import { checkJoinOptions } from '../../config/join-schema.ts'
import { type FieldProblem, fieldProblems, rejectOptions } from '../../config/problems.ts'
import type { Sink } from '../sink/index.ts'
import type { ColumnStore } from '../store/index.ts'

export type ClusterOptions = Pick<
  JoinOptions,
  'id' | 'listen' | 'peers' | 'key' | 'secrecy' | 'profile' | 'options' | 'traceSteps' | 'signal'
> & {
  /** `jobs` by default. Groups of one name must not share an address. */
  readonly group?: string
  /** The data directory: what the node has promised, its columns, and the outputs of jobs. */
  readonly data: string
  /** How many jobs this node runs at a time; 4 by default. With 0 it only stores columns and submits jobs. */
  readonly slots?: number
  /** The number of nodes that may be lost at once. A group that is too small for it is refused. */
  readonly tolerate?: number
  /** Where this node keeps its columns; a folder in `data` by default. Closed with the node. */
  readonly store?: ColumnStore
  /** Where the outputs of jobs go; to all nodes of the group by default. Closed with the node. */
  readonly sink?: Sink
  /** Largest checkpoint in bytes; 1 GiB by default. A checkpoint is held in memory while it is stored. */
  readonly maxCheckpointBytes?: number
  /** A module job whose thread does not answer for this long is reported; 5000 by default. */
  readonly stallMs?: number
  /** How often this node reads all of its columns to find damage; one hour by default, 0 for never. */
  readonly scrubIntervalMs?: number
}

export type ClusterSettings = {
  readonly election: NetworkElectionSettings & { readonly data: string }
  readonly slots: number
  readonly store: ColumnStore | null
  readonly sink: Sink | null
  readonly maxCheckpointBytes: number
  readonly stallMs: number
  readonly scrubIntervalMs: number
}

/** The protocol that jobs need. */
export const PROTOCOL = 'recovery'
const MAX_SLOTS = 1000
const MAX_MS = 24 * 3_600_000

const isPort = (methods: readonly string[]) => (value: unknown) =>
  value !== null &&
  typeof value === 'object' &&
  methods.every((method) => typeof (value as { readonly [name: string]: unknown })[method] === 'function')

const ownSchema = z.strictObject({
  slots: z.int().min(0).max(MAX_SLOTS).optional(),
  tolerate: z.int().min(0).max(2).optional(),
  store: z
    .custom<ColumnStore>(
      isPort(['create', 'list', 'openRaw', 'drop']),
      'must be a column store, such as openDiskStore(...)',
    )
    .optional(),
  sink: z.custom<Sink>(isPort(['accept', 'close']), 'must be a sink with accept() and close()').optional(),
  maxCheckpointBytes: z.int().min(1024).optional(),
  stallMs: z.number().min(50).max(MAX_MS).optional(),
  scrubIntervalMs: z.number().min(0).max(MAX_MS).optional(),
})

/** Options of `join` that mean nothing here. */
const OTHERS = [
  'protocol',
  'mode',
  'sticky',
  'priority',
  'observer',
  'witness',
  'isolation',
  'maxStallMs',
  'healthy',
  'healthIntervalMs',
  'healthTimeoutMs',
  'drainMs',
  'fencing',
] as const

/** Throws InvalidOptionsError with all problems. */
export function clusterSettings(asked: ClusterOptions): ClusterSettings {
  const given = fieldsOf(asked)
  const own = Object.fromEntries(Object.keys(ownSchema.shape).map((field) => [field, given[field]]))
  const rest = Object.fromEntries(Object.entries(given).filter(([field]) => !Object.hasOwn(own, field)))
  const problems: FieldProblem[] = []
  for (const field of OTHERS) {
    if (rest[field] !== undefined)
      problems.push({ field, message: 'does not apply to openCluster; remove it' })
    delete rest[field]
  }
  const parsed = ownSchema.safeParse(own, { error: explain })
  if (!parsed.success) problems.push(...fieldProblems(parsed.error, Object.keys(ownSchema.shape)))
  rejectOptions(problems)
  const join = { group: 'jobs', ...rest, protocol: PROTOCOL, isolation: 'thread' }
  checkJoinOptions(join)
  const election = networkSettings(join as unknown as JoinOptions)
  checkGroup(asked, election)
  return {
    election: { ...election, data: asked.data },
    slots: asked.slots ?? 4,
    store: asked.store ?? null,
    sink: asked.sink ?? null,
    maxCheckpointBytes: asked.maxCheckpointBytes ?? 2 ** 30,
    stallMs: asked.stallMs ?? 5000,
    scrubIntervalMs: asked.scrubIntervalMs ?? 3_600_000,
  }
}

/** The largest number of nodes that can be lost: a majority must stay, and the code covers two columns. */
export function toleranceOf(nodes: number): number {
  return Math.min(2, Math.floor((nodes - 1) / 2))
}

function checkGroup({ tolerate, listen }: ClusterOptions, { nodes }: NetworkElectionSettings): void {
  const problems: FieldProblem[] = []
  const possible = toleranceOf(nodes.length)
  if (tolerate !== undefined && tolerate > possible)
    problems.push({
      field: 'tolerate',
      message: `${nodes.length} nodes survive the loss of ${possible}; for ${tolerate} the group needs ${2 * tolerate + 1} nodes`,
    })
  if (/:0+$/.test(listen))
    problems.push({ field: 'listen', message: 'must have a port: the other nodes fetch columns from it' })
  rejectOptions(problems)
}

function fieldsOf(asked: unknown): { readonly [field: string]: unknown } {
  if (asked === null || typeof asked !== 'object' || Array.isArray(asked))
    rejectOptions([
      {
        field: 'openCluster',
        message: 'must be called with an object such as { id, listen, peers, key, data }',
      },
    ])
  const { signal } = asked as { readonly signal?: unknown }
  if (signal !== undefined && !isAbortSignal(signal))
    rejectOptions([{ field: 'signal', message: 'must be an AbortSignal' }])
  return asked as { readonly [field: string]: unknown }
}
