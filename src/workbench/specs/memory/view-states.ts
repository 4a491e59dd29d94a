/**
 * Memory shared by the promises about views of living nodes: each node's state in its view, and its
 * incarnation.
 */
import { compareIds, equalPlain, type NodeId, type Plain, type Role } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold } from '../spec.ts'

export type SeenViewId = readonly [n: number, leader: NodeId]
export type SeenView = {
  readonly id: SeenViewId
  readonly members: readonly NodeId[]
  readonly lives: readonly number[]
}
export type Attempt = { readonly id: SeenViewId; readonly members: readonly NodeId[] }

export type ViewState = {
  readonly node: NodeId
  readonly up: boolean
  readonly role: Role | null
  readonly life: number
  /** The last view that it installed, also if it is dead; null if there was none, or it is down. */
  readonly view: SeenView | null
  readonly attempts: readonly Attempt[]
  /** Whether its application is willing to lead. */
  readonly willing: boolean
}

type ViewSeen = Observation & { readonly type: 'view' }

export function viewStateOf({ node, view }: ViewSeen): ViewState {
  const detail: { readonly [field: string]: Plain } = view.detail ?? {}
  return {
    node,
    up: true,
    role: view.role,
    life: (detail['life'] ?? 0) as number,
    view: (detail['view'] ?? null) as SeenView | null,
    attempts: (detail['attempts'] ?? []) as readonly Attempt[],
    willing: detail['willing'] !== false,
  }
}

const absent = (node: NodeId): ViewState => ({
  node,
  up: false,
  role: null,
  life: 0,
  view: null,
  attempts: [],
  willing: false,
})

export const viewStates: Fold<readonly ViewState[]> = {
  begin: ({ nodes }) => nodes.map(absent),
  next(memory, seen) {
    if (seen.type === 'view') return update(memory, viewStateOf(seen))
    if (seen.type === 'down') return update(memory, absent(seen.node))
    return memory
  },
}

function update(memory: readonly ViewState[], next: ViewState): readonly ViewState[] {
  const place = memory.findIndex(({ node }) => node === next.node)
  const was = memory[place]
  return was === undefined || equalPlain(was, next) ? memory : memory.with(place, next)
}

export function isAlive({ up, role }: ViewState): boolean {
  return up && role !== 'dead' && role !== null
}

export function compareSeen(a: SeenViewId, b: SeenViewId): number {
  return a[0] - b[0] || compareIds(a[1], b[1])
}

export function sameSeen(a: SeenViewId, b: SeenViewId): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

export function viewText({ id, members, lives }: SeenView): string {
  const named = members.map((member, place) => {
    const life = lives[place] ?? 1
    return life === 1 ? String(member) : `${member} (life ${life})`
  })
  return `view ${id[0]}.${id[1]} of ${named.join(', ')}`
}

/** More than half of `whole`; with `tie`, exactly half is enough if it contains the least node. */
export function holdsMajority(part: readonly NodeId[], whole: readonly NodeId[], tie: boolean): boolean {
  const common = whole.filter((id) => part.includes(id))
  if (2 * common.length > whole.length) return true
  return tie && 2 * common.length === whole.length && part.includes([...whole].sort(compareIds)[0] as NodeId)
}
