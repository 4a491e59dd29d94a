/** The matrix of who hears whom: one row per node that listens, one column per node that sends. */
import type { Local, ObservedNode, Status } from '../data/types.ts'
import { formatAgo, formatMs } from './format.ts'

/** `old`: the row is from before its node became unreachable. `unknown`: its node told none. */
export type CellState = 'self' | 'heard' | 'silent' | 'old' | 'unknown'

export type Cell = {
  readonly hearer: string
  readonly sender: string
  readonly state: CellState
  readonly rttMs: number | null
  /** One direction works and the other does not. */
  readonly isOneWay: boolean
  /** Under `conclave up`: whether the link is cut on purpose. */
  readonly isCut: boolean
  readonly text: string
}

export type Matrix = { readonly ids: readonly string[]; readonly rows: readonly (readonly Cell[])[] }

/** Where the protocol has no limit of its own. */
const DEFAULT_TTL_MS = 3000
/** Observers tell every second that they are there, and nothing else. */
const OBSERVER_TTL_MS = 4000
/** Nodes tell their row every 5 s. */
const MOST_ROW_AGE_MS = 6000

type Heard = { readonly heardMsAgo: number | null; readonly rttMs: number | null } | null

export function matrixOf(status: Status, local: Local | null = null): Matrix {
  const ids = status.nodes.map(({ id }) => String(id))
  const ttlMs = Math.max(status.evidenceTtlMs ?? DEFAULT_TTL_MS, 1)
  const stateOf = (hearer: ObservedNode, sender: ObservedNode): CellState => {
    if (hearer.id === sender.id) return 'self'
    const isSelf = String(hearer.id) === String(status.self.id)
    if (isSelf && sender.reachable) return 'heard'
    const heard = heardBy(hearer, sender, isSelf)
    if (!isSelf && !hearer.reachable) return 'old'
    if (heard === null) return 'unknown'
    const ageMs = isSelf ? 0 : rowAgeMs(hearer)
    const mostMs = sender.role === 'observer' ? Math.max(ttlMs, OBSERVER_TTL_MS) : ttlMs
    return heard.heardMsAgo !== null && heard.heardMsAgo - ageMs <= mostMs ? 'heard' : 'silent'
  }
  const rows = status.nodes.map((hearer) =>
    status.nodes.map((sender): Cell => {
      const state = stateOf(hearer, sender)
      const heard = heardBy(hearer, sender, String(hearer.id) === String(status.self.id))
      const isOneWay = isOpposite(state, stateOf(sender, hearer))
      const pair = { hearer: String(hearer.id), sender: String(sender.id) }
      const isCut = local?.cut.some(([to, from]) => to === pair.hearer && from === pair.sender) === true
      const text = describe(pair, state, heard, isOneWay)
      return { ...pair, state, rttMs: heard?.rttMs ?? null, isOneWay, isCut, text }
    }),
  )
  return { ids, rows }
}

/** The agent's own row is in the list of nodes; the others told theirs. */
function heardBy(hearer: ObservedNode, sender: ObservedNode, isSelf: boolean): Heard {
  const row = hearer.hears?.[String(sender.id)] ?? null
  if (!isSelf) return row
  return { heardMsAgo: sender.heardMsAgo, rttMs: sender.rttMs ?? row?.rttMs ?? null }
}

/** How long ago a node told its row: about when it heard the node that it heard last. */
function rowAgeMs({ hears }: ObservedNode): number {
  const heard = Object.values(hears ?? {}).flatMap(({ heardMsAgo }) => heardMsAgo ?? [])
  return Math.min(MOST_ROW_AGE_MS, ...heard)
}

const isOpposite = (a: CellState, b: CellState): boolean =>
  (a === 'heard' && b === 'silent') || (a === 'silent' && b === 'heard')

function describe(
  { hearer, sender }: Pick<Cell, 'hearer' | 'sender'>,
  state: CellState,
  heard: Heard,
  isOneWay: boolean,
): string {
  const sentence = {
    self: `${hearer} itself`,
    heard: `${hearer} hears ${sender}${heard?.rttMs === null || heard?.rttMs === undefined ? '' : `, round trip ${formatMs(heard.rttMs)}`}`,
    silent: `${hearer} does not hear ${sender}: last heard ${formatAgo(heard?.heardMsAgo ?? null)}`,
    old: `${hearer} is unreachable: what it hears is unknown`,
    unknown: `${hearer} has not reported which nodes it hears`,
  }[state]
  return isOneWay ? `${sentence}. One way only` : sentence
}

/** The number in a cell, without its unit. */
export function cellNumber({ state, rttMs }: Cell): string {
  if (state !== 'heard' || rttMs === null) return ''
  return rttMs < 9.95 ? rttMs.toFixed(1) : rttMs.toFixed(0)
}
