/** What client and server agree on: paths, headers, and the checks of what comes in. */
import type { NodeId } from '../../../core/index.ts'
import type { Code } from '../../../recovery/manager/types.ts'
import { type ColumnKey, columnName, parseColumnName } from '../store/index.ts'

/** A request for a column. */
export type Transfer = {
  readonly group: string
  readonly from: NodeId
  /** The token of the sender's present view. */
  readonly token: number
  readonly key: ColumnKey
}

/** A column to store, and the checkpoint that it belongs to. */
export type Upload = Transfer & {
  readonly code: Code
  /** Of the checkpoint. */
  readonly bytes: number
  /** Of the column in its stored form. */
  readonly size: number
}

export const HEADERS = {
  from: 'conclave-from',
  token: 'conclave-token',
  detail: 'conclave-detail',
  /** The holder may fetch the column instead of asking for the body. */
  offer: 'conclave-offer',
  /** In replies. */
  size: 'conclave-size',
  proof: 'conclave-proof',
} as const

/** The reason in a refusal of a column that is not there. */
export const MISSING = 'column missing'

/** Requests that are not about columns, from and to the node's own code. */
const MESSAGE_PATH_FORM = /^\/recovery\/1\/(?<group>[^/]+)\/messages$/
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

export function messagePathOf(group: string): string {
  return `/recovery/1/${encodeURIComponent(group)}/messages`
}

/** The group, or null. */
export function parseMessagePath(path: string): string | null {
  const { group } = MESSAGE_PATH_FORM.exec(path)?.groups ?? {}
  try {
    return group === undefined ? null : decodeURIComponent(group)
  } catch {
    return null
  }
}

/** How bodies are protected; both nodes must have the same setting. */
export type Protection = 'authentic' | 'secret'

const PATH_FORM = /^\/recovery\/1\/(?<group>[^/]+)\/(?<kind>columns|offers)\/(?<name>[^/]+)$/

export function pathOf(group: string, key: ColumnKey): string {
  return `/recovery/1/${encodeURIComponent(group)}/columns/${columnName(key)}`
}

/** A column that a node is sending, for its holder. */
export function offerPathOf(group: string, key: ColumnKey): string {
  return `/recovery/1/${encodeURIComponent(group)}/offers/${columnName(key)}`
}

type ColumnPath = { readonly group: string; readonly key: ColumnKey; readonly isOffer: boolean }

export function parsePath(path: string): ColumnPath | null {
  const { group, kind, name } = PATH_FORM.exec(path)?.groups ?? {}
  if (group === undefined || name === undefined) return null
  const key = parseColumnName(name)
  try {
    return key === null ? null : { group: decodeURIComponent(group), key, isOffer: kind === 'offers' }
  } catch {
    return null
  }
}

export type Detail = Pick<Upload, 'code' | 'bytes' | 'size'> & { readonly protection: Protection }

export function encodeDetail({ code, bytes, size, protection }: Detail): string {
  return [protection, code.name, code.columns, code.data, bytes, size].join(' ')
}

const DETAIL_FORM =
  /^(?<protection>authentic|secret) (?<name>evenodd|reed-solomon) (?<columns>\d{1,3}) (?<data>\d{1,3}) (?<bytes>\d{1,16}) (?<size>\d{1,16})$/

/** Null if it is malformed. */
export function parseDetail(text: string): Detail | null {
  const groups = DETAIL_FORM.exec(text)?.groups
  if (groups === undefined) return null
  const [columns = 0, data = 0, bytes = 0, size = 0] = ['columns', 'data', 'bytes', 'size'].map((name) =>
    Number(groups[name]),
  )
  if (data < 1 || data > columns || !Number.isSafeInteger(bytes) || !Number.isSafeInteger(size)) return null
  const name = groups['name'] as Code['name']
  return { protection: groups['protection'] as Protection, code: { name, columns, data }, bytes, size }
}

/** Ids are numbers or strings: 7 and "7" are different nodes. */
export function encodeNode(node: NodeId): string {
  return typeof node === 'number' ? `${node}` : encodeURIComponent(JSON.stringify(node))
}

export function parseNode(text: string): NodeId | null {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  try {
    const parsed: unknown = JSON.parse(decodeURIComponent(text))
    return typeof parsed === 'string' || typeof parsed === 'number' ? parsed : null
  } catch {
    return null
  }
}
