/**
 * A real run of omega as its specifications may see it. Traces tell less than a world does: processes that were killed
 * have taken theirs along, and black boxes begin somewhere. What nobody recorded is not held against anyone.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Run } from './index.ts'

type Seen = Observation & { readonly type: 'view' }
type Installed = {
  readonly id: readonly [number, NodeId]
  readonly members: readonly NodeId[]
  readonly lives: readonly number[]
}

const lifeIn = ({ view }: Seen): number => (view.detail?.['life'] ?? 0) as number
const installedIn = ({ view }: Seen): Installed | null =>
  (view.detail?.['view'] ?? null) as unknown as Installed | null
const isView = (seen: Observation): seen is Seen => seen.type === 'view'

/**
 * Without what a process showed before it had joined; views from when all traces are there; and with the promises of
 * those whose promises nobody recorded, where others have installed what needed them.
 */
export function asFarAsKnown(seen: readonly Observation[], runs: readonly Run[]): readonly Observation[] {
  const joined = seen.filter((each) => !isView(each) || each.view.detail !== null)
  return withPromises(sinceAllKnow(joined, runs), runs)
}

/** Two that left no trace may have formed a view of which no trace tells. */
export function isChainKnown(runs: readonly Run[]): boolean {
  const nodes = runs[0]?.header.nodes ?? []
  return nodes.filter((node) => !runs.some((run) => run.node === node)).length < 2
}

/** Where boxes have lost their first steps, each process begins with what it shows when the last of them begins. */
function sinceAllKnow(seen: readonly Observation[], runs: readonly Run[]): readonly Observation[] {
  const cut = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  const first = new Map<NodeId, Micros>()
  for (const each of seen) if (isView(each) && !first.has(each.node)) first.set(each.node, each.at)
  const begin = Math.max(0, ...[...cut].map((node) => first.get(node) ?? 0))
  const last = new Map<NodeId, Seen>()
  for (const each of seen) if (isView(each) && each.at <= begin) last.set(each.node, each)
  return seen.filter((each) => !isView(each) || each.at > begin || last.get(each.node) === each)
}

function withPromises(seen: readonly Observation[], runs: readonly Run[]): readonly Observation[] {
  const whole = new Set(runs.filter(({ skipped }) => skipped === 0).map(({ node }) => node))
  const isPartly = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  const recorded = new Set(
    seen.flatMap((each) =>
      isView(each) && whole.has(each.node) && !isPartly.has(each.node)
        ? [`${each.node} ${lifeIn(each)}`]
        : [],
    ),
  )
  return seen.flatMap((each): readonly Observation[] => {
    const view = isView(each) ? installedIn(each) : null
    if (view === null) return [each]
    const unknown = view.members.filter((member, place) => !recorded.has(`${member} ${view.lives[place]}`))
    const promises = unknown.map(
      (node): Observation => ({
        type: 'output',
        at: each.at,
        node,
        event: { type: 'promise', id: view.id },
      }),
    )
    return [...promises, each]
  })
}
