/**
 * Validation of everything that a group receives: datagrams of the links and messages of Omega+ by the checks of Omega+,
 * and messages of the fault manager here, to the last field. Every message is bounded, so that it fits into a datagram.
 */
import type { Message, NodeId, Plain } from '../../core/index.ts'
import {
  JOB_NAME,
  LONGEST_DIGEST,
  LONGEST_REASON,
  MANAGER_KINDS,
  MOST_JOBS,
} from '../../recovery/manager/index.ts'
import { type Check, fields, flag, listOf, MOST_COUNT, node, pair, whole } from '../message-checks.ts'
import { CorruptStableDataError } from '../omega/stable.ts'
import { findOmegaFault, stable as omegaStable } from '../omega/wire.ts'

/** Nodes of a group. With more, the list of a checkpoint's holders would not fit into a datagram. */
export const MOST_NODES = 16
/** Columns that a node keeps: a few encodings of each job. */
const MOST_HELD = 4 * MOST_JOBS

const count = whole(0, MOST_COUNT)
const kind: Check = () => null

const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? null : `: must be one of ${values.join(', ')}`

const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value)

const text =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === 'string' && value.length >= least && value.length <= most && /^[ -~]*$/.test(value)
      ? null
      : `: must be a string of ${least} to ${most} printable ASCII characters`

const job: Check = (value) =>
  typeof value === 'string' && JOB_NAME.test(value) ? null : ': must be a job name'
const assignment = pair(count, count)
const reason = text(0, LONGEST_REASON)
const column = whole(0, MOST_NODES - 1)
const sources = listOf(fields({ node, column }), MOST_NODES)
const id = fields({ job, assignment, epoch: count, token: count })

const code = fields(
  {
    name: oneOf(['evenodd', 'reed-solomon']),
    columns: whole(1, MOST_NODES),
    data: whole(1, MOST_NODES),
  },
  (value) => {
    const { columns, data } = value as { columns: number; data: number }
    return data <= columns ? null : ': must not have more data than columns'
  },
)

const content = { bytes: count, digest: text(1, LONGEST_DIGEST) }

const commit = fields({ id, code, holders: listOf(orNull(node), MOST_NODES), ...content }, (value) => {
  const { code: of, holders } = value as { code: { columns: number }; holders: readonly unknown[] }
  return holders.length === of.columns ? null : ': must have a holder, or null, for every column'
})

const record = fields(
  {
    name: job,
    rank: assignment,
    status: oneOf(['submitted', 'waiting', 'running', 'done', 'failed', 'cancelled', 'lost']),
    owner: orNull(pair(node, whole(1, MOST_COUNT))),
    assignment,
    submission: assignment,
    reason,
    declined: listOf(node, MOST_NODES),
  },
  (value) => {
    const { status, owner } = value as { status: string; owner: unknown }
    const isOwned = status === 'submitted' || status === 'running'
    return isOwned === (owner !== null) ? null : ': must have an owner exactly if it is submitted or running'
  },
)

const entry = fields({ record, commit: orNull(commit) }, (value) => {
  const { record: of, commit: newest } = value as {
    record: { name: string; status: string }
    commit: { id: { job: string } } | null
  }
  if (newest !== null && newest.id.job !== of.name) return ': must have a checkpoint of its own job'
  const isStored = ['waiting', 'running', 'done', 'lost'].includes(of.status)
  return isStored && newest === null ? ': must have a checkpoint' : null
})

const held = fields({ id, column, code, ...content }, (value) => {
  const { column: at, code: of } = value as { column: number; code: { columns: number } }
  return at < of.columns ? null : ': must be a column of its code'
})

const token = count
const base = { kind, token }
const CHECKS: { readonly [kind: string]: Check } = {
  fence: fields(base),
  entry: fields({ ...base, entry }),
  column: fields({ ...base, held, isHeld: flag }),
  runs: fields({ ...base, job, assignment }),
  inventory: fields({ ...base, slots: count }),
  transfer: fields({ ...base, entry }),
  adopt: fields({ ...base, rank: assignment }),
  adopted: fields({ ...base, rank: assignment }),
  ready: fields(base),
  put: fields({ ...base, entry }),
  have: fields({ ...base, job, rank: assignment }),
  decided: fields({ ...base, job, rank: assignment, sources }),
  submit: fields({ ...base, job }),
  cancelJob: fields({ ...base, job }),
  store: fields({ ...base, commit }),
  ended: fields({
    ...base,
    end: fields({
      job,
      assignment,
      how: oneOf(['finished', 'threw', 'declined', 'stopped']),
      reason,
      id: orNull(id),
      bad: sources,
    }),
  }),
  slots: fields({ ...base, slots: count }),
  refusal: fields({
    ...base,
    request: oneOf(['submit', 'cancel', 'store']),
    job,
    epoch: count,
    stored: count,
    reason,
  }),
  recode: fields({ ...base, commit, sources }),
  mend: fields({ ...base, commit, column, sources }),
  forget: fields({ ...base, job, rank: assignment }),
}

const KINDS: ReadonlySet<string> = new Set(MANAGER_KINDS)

/** A valid message of Omega+, in whose place the rest of a frame is checked. */
const STAND_IN = { kind: 'cancel', n: 1 }

/** The problem of a message; null when it is valid, or its kind belongs to another protocol. */
export function findRecoveryFault(body: Message): string | null {
  const inner: unknown = body.kind === 'frame' ? body['body'] : null
  const innerKind = (inner as { readonly kind?: unknown } | null)?.kind
  if (typeof innerKind !== 'string' || !KINDS.has(innerKind)) return findOmegaFault(body)
  const wrong = findOmegaFault({ ...body, body: STAND_IN })
  if (wrong !== null) return wrong
  const problem = CHECKS[innerKind]?.(inner) ?? null
  return problem === null ? null : `frame.body${problem}`
}

const isSorted = (names: readonly string[]): boolean =>
  names.every((name, at) => at === 0 || (names[at - 1] as string) < name)

const managerStable = fields(
  {
    fence: count,
    issued: assignment,
    table: listOf(entry, MOST_JOBS),
    columns: listOf(held, MOST_HELD),
  },
  (value) => {
    const { table } = value as { table: readonly { record: { name: string } }[] }
    return isSorted(table.map((each) => each.record.name)) ? null : '.table: must be sorted by name'
  },
)

const checkData = fields({ layer: whole(1), upper: fields({ omega: omegaStable, manager: managerStable }) })

/** Validates the stable data of a real process, before the process takes part again. */
export function checkedRecoveryStable(data: Plain): Plain {
  const wrong = data === null ? null : checkData(data)
  if (wrong === null) return data
  const [field, problem] = wrong.split(': ', 2) as [string, string]
  throw new CorruptStableDataError(field.slice(1), problem)
}

/** Jobs and columns cannot be invented: corrupt ones end a recovery of the data. */
export function checkedManagerStable(data: Plain): void {
  const wrong = managerStable(data)
  if (wrong !== null)
    throw new RangeError(`data: the job table is corrupt (${wrong}); remove the data of this node`)
}

/** The length of all ids in JSON, with a separator each. */
export function lengthOfIds(nodes: readonly NodeId[]): number {
  return JSON.stringify(nodes).length - 1
}
