/** Where columns are, what can be restored, and which node runs a job. */
import { compareIds, type NodeId, withId } from '../../core/index.ts'
import type { Entry, GroupView, Held, Located, Upload } from './state.ts'
import {
  type Assignment,
  type CheckpointId,
  type Commit,
  codeFor,
  compareAssignments,
  compareCheckpoints,
  isSameContent,
  type JobRecord,
  type Owner,
  type Source,
} from './types.ts'

export function findEntry(table: readonly Entry[], job: string): Entry | null {
  return table.find(({ record }) => record.name === job) ?? null
}

/** By name, with this entry in place of an older one. */
export function withEntry(table: readonly Entry[], entry: Entry): readonly Entry[] {
  const { name } = entry.record
  const place = table.findIndex(({ record }) => record.name >= name)
  if (place === -1) return [...table, entry]
  const next = table.slice()
  next.splice(place, table[place]?.record.name === name ? 1 : 0, entry)
  return next
}

export function idsOf(members: readonly Owner[]): readonly NodeId[] {
  return members.map(([id]) => id)
}

export function hasMember({ members }: GroupView, [node, life]: Owner): boolean {
  return members.some(([id, current]) => id === node && current === life)
}

export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/**
 * How many columns a checkpoint needs: one node may be lost at once, and a majority of all nodes has one, so that the
 * members of every later view with a quorum include a holder.
 */
export function neededColumns(data: number, nodes: number): number {
  return Math.max(data + 1, majorityOf(nodes))
}

/** Columns of a checkpoint at nodes, each column once, in order. */
export function sourcesOf(
  columns: readonly Located[],
  of: { readonly id: CheckpointId; readonly digest: string },
): readonly Source[] {
  const sources: Source[] = []
  for (const { node, held } of columns) {
    if (isSameContent(held, of) && !sources.some(({ column }) => column === held.column))
      sources.push({ node, column: held.column })
  }
  return sources.sort((a, b) => a.column - b.column)
}

/** The nodes that hold columns of the commit elsewhere, for a job that cannot be restored. */
export function missingHolders({ holders }: Commit, sources: readonly Source[]): readonly NodeId[] {
  let missing: readonly NodeId[] = []
  for (const holder of holders) {
    if (holder !== null && !sources.some(({ node }) => node === holder)) missing = withId(missing, holder)
  }
  return missing
}

/** The newest checkpoint of the job with enough columns, whether it was committed or not. */
export function newestStored(columns: readonly Located[], job: string): Commit | null {
  let best: Held | null = null
  for (const { held } of columns) {
    if (held.id.job !== job || sourcesOf(columns, held).length < held.code.data) continue
    if (best === null || compareCheckpoints(held.id, best.id) > 0) best = held
  }
  if (best === null) return null
  const { id, code, bytes, digest } = best
  const sources = sourcesOf(columns, best)
  const holders = Array.from(
    { length: code.columns },
    (_, column) => sources.find((source) => source.column === column)?.node ?? null,
  )
  return { id, code, holders, bytes, digest }
}

/**
 * Whether the checkpoint is of no use any more: it is older than the committed one, or was stored by a run that was
 * replaced before it was committed. An encoding of the committed content for other members is of use.
 */
export function isObsolete(id: CheckpointId, record: JobRecord, commit: Commit): boolean {
  if (compareCheckpoints(id, commit.id) < 0) return true
  const isCopy = compareAssignments(id.assignment, commit.id.assignment) === 0 && id.epoch === commit.id.epoch
  return !isCopy && compareAssignments(id.assignment, record.assignment) < 0
}

export function isSameColumn(a: Held, b: Held): boolean {
  return a.column === b.column && isSameContent(a, b)
}

/** The columns of a commit, as its owner reports them: their holders have acknowledged them. */
export function columnsOf({ id, code, holders, bytes, digest }: Commit): readonly Located[] {
  return holders.flatMap((node, column) =>
    node === null ? [] : [{ node, held: { id, column, code, bytes, digest } }],
  )
}

/** Whether the columns of the commit are laid out for these members. */
export function fitsMembers({ code, holders }: Commit, members: readonly NodeId[]): boolean {
  return (
    code.columns === members.length &&
    holders.every((holder, column) => holder === null || holder === members[column])
  )
}

/** The least loaded member with a free slot that has not declined; ties are broken by id. */
export function chooseOwner(
  { members }: GroupView,
  slots: readonly (readonly [node: NodeId, slots: number])[],
  table: readonly Entry[],
  declined: readonly NodeId[],
): Owner | null {
  let best: { readonly owner: Owner; readonly load: number } | null = null
  for (const owner of members) {
    const [id] = owner
    const room = slots.find(([node]) => node === id)?.[1] ?? 0
    const taken = table.filter(({ record }) => record.status === 'running' && record.owner?.[0] === id).length
    if (taken >= room || declined.includes(id)) continue
    const load = taken / room
    if (best === null || load < best.load || (load === best.load && compareIds(id, best.owner[0]) < 0))
      best = { owner, load }
  }
  return best?.owner ?? null
}

/** What a node uploads: the content under this id, encoded for the members of the view. */
export function uploadFor(
  { token, members }: GroupView,
  of: { readonly job: string; readonly assignment: Assignment; readonly epoch: number },
  content: { readonly bytes: number; readonly digest: string },
  isCopy: boolean,
): Upload {
  const { job, assignment, epoch } = of
  return {
    id: { job, assignment, epoch, token },
    code: codeFor(members.length),
    holders: idsOf(members),
    bytes: content.bytes,
    digest: content.digest,
    isCopy,
    columns: null,
  }
}

export function commitOf({ id, code, holders, bytes, digest, columns }: Upload): Commit {
  const stored = columns ?? []
  const acknowledged = holders.map((holder, column) => (stored.includes(column) ? holder : null))
  return { id, code, holders: acknowledged, bytes, digest }
}
