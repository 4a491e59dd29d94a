/**
 * Prepares recordings of real runs for the specifications. Recordings are incomplete: a killed node may have left none,
 * and black boxes start in the middle of a run. What is not recorded is not held against a node.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Forensics, Recorded, RecordedRun, RecordedView } from '../hosting.ts'

type Installed = {
  readonly id: readonly [number, NodeId]
  readonly members: readonly NodeId[]
  readonly lives: readonly number[]
}

const lifeIn = ({ view }: RecordedView): number => (view.detail?.['life'] ?? 0) as number
const installedIn = ({ view }: RecordedView): Installed | null =>
  (view.detail?.['view'] ?? null) as unknown as Installed | null
const isView = <S extends Recorded>(seen: S): seen is S & RecordedView => seen.type === 'view'

const NO_STOPS = 'not judged: a recording does not say when a process was stopped or killed'
const NO_CHAIN =
  'not judged: traces of two or more nodes are missing, and with them views that only those nodes were in'

export const omegaForensics: Forensics = {
  unjudged: (runs) => ({
    'superseded-leader': NO_STOPS,
    ...(isChainKnown(runs) ? {} : { 'primary-chain': NO_CHAIN }),
  }),
  /**
   * Drops the views of a process before it joined, and all views before the common start of the traces. Adds the promises
   * of nodes without a complete trace, where other nodes have installed a view that needed these promises.
   */
  complete(seen, runs, output) {
    const joined = seen.filter((each) => !isView(each) || each.view.detail !== null)
    const known = trimToCommonStart(joined, runs)
    const recorded = findRecordedLives(known, runs)
    return known.flatMap((each) => {
      const view = isView(each) ? installedIn(each) : null
      if (view === null) return [each]
      const unknown = view.members.filter((member, place) => !recorded.has(`${member} ${view.lives[place]}`))
      return [...unknown.map((node) => output(each.at, node, { type: 'promise', id: view.id })), each]
    })
  },
}

/** Two nodes without a trace may have formed a view that appears in no trace. */
function isChainKnown(runs: readonly RecordedRun[]): boolean {
  const nodes = runs[0]?.header.nodes ?? []
  return nodes.filter((node) => !runs.some((run) => run.node === node)).length < 2
}

/**
 * Truncated black boxes: the common start is the latest first view of a truncated trace. Every node starts with the last
 * view that it shows by then.
 */
function trimToCommonStart<S extends Recorded>(
  seen: readonly S[],
  runs: readonly RecordedRun[],
): readonly S[] {
  const cut = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  const first = new Map<NodeId, Micros>()
  for (const each of seen) if (isView(each) && !first.has(each.node)) first.set(each.node, each.at)
  const begin = Math.max(0, ...[...cut].map((node) => first.get(node) ?? 0))
  const last = new Map<NodeId, S>()
  for (const each of seen) if (isView(each) && each.at <= begin) last.set(each.node, each)
  return seen.filter((each) => !isView(each) || each.at > begin || last.get(each.node) === each)
}

/** The lives of nodes whose traces are complete, as `node life`. */
function findRecordedLives(seen: readonly Recorded[], runs: readonly RecordedRun[]): ReadonlySet<string> {
  const complete = new Set(runs.filter(({ skipped }) => skipped === 0).map(({ node }) => node))
  const truncated = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  return new Set(
    seen.flatMap((each) =>
      isView(each) && complete.has(each.node) && !truncated.has(each.node)
        ? [`${each.node} ${lifeIn(each)}`]
        : [],
    ),
  )
}
