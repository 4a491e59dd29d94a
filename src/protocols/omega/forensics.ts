/**
 * A real run as the specifications may see it. Traces tell less than a world does: a node that was killed took its trace
 * along, and black boxes begin somewhere. What nobody recorded is not held against any node.
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
  'not judged: there is no trace of two nodes or more, and views that only they were in may be missing'

export const omegaForensics: Forensics = {
  unjudged: (runs) => ({
    'superseded-leader': NO_STOPS,
    ...(isChainKnown(runs) ? {} : { 'primary-chain': NO_CHAIN }),
  }),
  /**
   * Without what a process showed before it had joined; views from when all traces are there; and with the promises of
   * those whose promises nobody recorded, where others have installed what needed them.
   */
  complete(seen, runs, output) {
    const joined = seen.filter((each) => !isView(each) || each.view.detail !== null)
    const known = sinceAllKnow(joined, runs)
    const recorded = recordedLives(known, runs)
    return known.flatMap((each) => {
      const view = isView(each) ? installedIn(each) : null
      if (view === null) return [each]
      const unknown = view.members.filter((member, place) => !recorded.has(`${member} ${view.lives[place]}`))
      return [...unknown.map((node) => output(each.at, node, { type: 'promise', id: view.id })), each]
    })
  },
}

/** Two nodes without a trace may have formed a view of which no trace tells. */
function isChainKnown(runs: readonly RecordedRun[]): boolean {
  const nodes = runs[0]?.header.nodes ?? []
  return nodes.filter((node) => !runs.some((run) => run.node === node)).length < 2
}

/** Where boxes have lost their first steps, each node begins with what it shows when the last of them begins. */
function sinceAllKnow<S extends Recorded>(seen: readonly S[], runs: readonly RecordedRun[]): readonly S[] {
  const cut = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  const first = new Map<NodeId, Micros>()
  for (const each of seen) if (isView(each) && !first.has(each.node)) first.set(each.node, each.at)
  const begin = Math.max(0, ...[...cut].map((node) => first.get(node) ?? 0))
  const last = new Map<NodeId, S>()
  for (const each of seen) if (isView(each) && each.at <= begin) last.set(each.node, each)
  return seen.filter((each) => !isView(each) || each.at > begin || last.get(each.node) === each)
}

/** The lives of nodes whose traces are whole, as `node life`. */
function recordedLives(seen: readonly Recorded[], runs: readonly RecordedRun[]): ReadonlySet<string> {
  const whole = new Set(runs.filter(({ skipped }) => skipped === 0).map(({ node }) => node))
  const isPartly = new Set(runs.filter(({ skipped }) => skipped > 0).map(({ node }) => node))
  return new Set(
    seen.flatMap((each) =>
      isView(each) && whole.has(each.node) && !isPartly.has(each.node)
        ? [`${each.node} ${lifeIn(each)}`]
        : [],
    ),
  )
}
