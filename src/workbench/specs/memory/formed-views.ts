/**
 * Memory of the installed views, and the conclusion from it: which nodes, if linked, must form the next view.
 *
 * A protocol's own bookkeeping cannot decide this, because a group that blocks by mistake believes that it
 * has to wait. A node's open attempts count only as an excuse, and only where no protocol could do better
 * (`mayForm`).
 */
import { type NodeId, withId } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold, RunFacts } from '../spec.ts'
import {
  type Attempt,
  compareSeen,
  holdsMajority,
  isAlive,
  type SeenView,
  type SeenViewId,
  sameSeen,
  type ViewState,
  viewStateOf,
  viewStates,
} from './view-states.ts'

/** A proposed view, and the nodes that have promised it. */
type Promised = {
  readonly id: SeenViewId
  readonly members: readonly NodeId[]
  readonly by: readonly NodeId[]
}

export type FormedViews = {
  readonly viewStates: readonly ViewState[]
  /** The newest view that any node ever installed, whether or not that node is up. */
  readonly last: SeenView | null
  /** The promised views that are newer than the oldest of the nodes' last views, in id order. */
  readonly promised: readonly Promised[]
  /** The last view that each node installed, also if it is down. */
  readonly installed: readonly (SeenViewId | null)[]
}

export const formedViews: Fold<FormedViews> = {
  begin: (run) => ({
    viewStates: viewStates.begin(run),
    last: null,
    promised: [],
    installed: run.nodes.map(() => null),
  }),
  next: nextFormed,
}

export function nextFormed(memory: FormedViews, seen: Observation): FormedViews {
  if (seen.type === 'output' && seen.event.type === 'promise') {
    const { id, members } = seen.event as unknown as Omit<Promised, 'by'>
    return { ...memory, promised: withPromise(memory.promised, id, members ?? [], seen.node) }
  }
  const known = viewStates.next(memory.viewStates, seen)
  if (known === memory.viewStates) return memory
  const view = seen.type === 'view' ? viewStateOf(seen).view : null
  if (seen.type !== 'view' || view === null) return { ...memory, viewStates: known }
  const place = known.findIndex(({ node }) => node === seen.node)
  const was = memory.installed[place] ?? null
  if (was !== null && sameSeen(was, view.id)) return { ...memory, viewStates: known }
  const installed = memory.installed.with(place, view.id)
  const last = memory.last === null || compareSeen(view.id, memory.last.id) > 0 ? view : memory.last
  const isNews = (id: SeenViewId): boolean =>
    installed.some((each) => each === null || compareSeen(id, each) > 0)
  const promised = memory.promised.every(({ id }) => isNews(id))
    ? memory.promised
    : memory.promised.filter(({ id }) => isNews(id))
  return { viewStates: known, last, promised, installed }
}

function withPromise(
  promised: readonly Promised[],
  id: SeenViewId,
  members: readonly NodeId[],
  node: NodeId,
): readonly Promised[] {
  const place = promised.findIndex((other) => sameSeen(other.id, id))
  const was = promised[place]
  if (was === undefined) {
    return [...promised, { id, members, by: [node] }].sort((a, b) => compareSeen(a.id, b.id))
  }
  const by = withId(was.by, node)
  return by === was.by ? promised : promised.with(place, { ...was, by })
}

/**
 * Whether these nodes, pairwise linked, must form a view of their own. With dynamic voting: they hold a
 * majority of the last view installed anywhere. There are two excuses, both the lost message of Yeger Lotem,
 * Keidar and Dolev. Either none of them has installed that view, and they hold no majority of the newest view
 * that any of them has; or a newer view may have been installed as far as they can know, and they hold no
 * majority of it.
 */
export function mayForm(
  memory: FormedViews,
  inside: readonly ViewState[],
  part: readonly NodeId[],
  { nodes, constants }: RunFacts,
): boolean {
  const mayReinit =
    constants['reinitQuorum'] === 1 || (constants['reinitAll'] === 1 && part.length === nodes.length)
  if (!inside.some(isAlive) && !mayReinit) return false
  if (constants['staticQuorum'] === 1) return 2 * part.length > nodes.length
  if (constants['dynamicQuorum'] !== 1) return true
  const tie = constants['tie'] === 1
  const views = inside.flatMap(({ view }) => (view === null ? [] : [view]))
  const known = views.sort((a, b) => compareSeen(a.id, b.id)).at(-1)?.members ?? nodes
  return (
    holdsMajority(part, memory.last?.members ?? nodes, tie) &&
    holdsMajority(part, known, tie) &&
    !inside.some(({ attempts }) =>
      attempts.some(
        (attempt) =>
          !holdsMajority(part, attempt.members, tie) &&
          holdsMajority(attempt.members, known, tie) &&
          mayBeInstalled(memory, inside, attempt),
      ),
    )
  )
}

/**
 * Its proposer is absent, all its members have promised it, and no member here knows that it was not
 * installed.
 */
function mayBeInstalled({ promised }: FormedViews, inside: readonly ViewState[], { id }: Attempt): boolean {
  const known = promised.find((other) => sameSeen(other.id, id))
  if (known === undefined) return false
  const { members, by } = known
  return (
    members.every((member) => by.includes(member)) &&
    inside.every(
      ({ node, attempts }) =>
        node !== id[1] && (!members.includes(node) || attempts.some((attempt) => sameSeen(attempt.id, id))),
    )
  )
}
