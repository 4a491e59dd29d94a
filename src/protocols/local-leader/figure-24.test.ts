/**
 * The leaders in a connected graph that does not change, compared with the paper's Figure 24.
 *
 * The figure itself is missing in our copy of the paper. This test follows its prose, with the one reading of "marked"
 * that agrees with the protocol: a process that is not marked is a candidate, and marks its neighbours, even if it is
 * not elected. The paper says that the protocol elects exactly these leaders. Each graph is checked at 21 moments.
 *
 * FIGURE_24_GRAPHS=N checks 300 graphs and N others, as `npm run soak` does.
 */
import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import { type NodeId, type PlainObject, sortIds } from '../../core/index.ts'
import { Random } from '../../workbench/scenario/random.ts'

type Pair = readonly [NodeId, NodeId]
type Graph = { readonly nodes: readonly NodeId[]; readonly links: readonly Pair[] }
/** The leaders, and the leader of each node, in the order of the nodes. */
type Outcome = { readonly leaders: readonly NodeId[]; readonly leaderOf: readonly (NodeId | null)[] }

function closedNeighbourhood({ links }: Graph, node: NodeId): readonly NodeId[] {
  return [node, ...links.flatMap(([a, b]) => (a === node ? [b] : b === node ? [a] : []))]
}

function figure24(graph: Graph): Outcome {
  const marked = new Set<NodeId>()
  const leaders: NodeId[] = []
  for (const node of sortIds(graph.nodes)) {
    const around = closedNeighbourhood(graph, node)
    const isFree = around.every((other) => !marked.has(other))
    if (isFree) leaders.push(node)
    if (!marked.has(node)) for (const other of around) marked.add(other)
  }
  // The neighbourhoods of leaders do not overlap, so no node has two leaders.
  const leaderOf = graph.nodes.map((node) => {
    const around = closedNeighbourhood(graph, node)
    return leaders.find((leader) => around.includes(leader)) ?? null
  })
  return { leaders, leaderOf }
}

/** A random tree over 3 to 8 nodes in random order, with some more links. */
function randomGraph(seed: number): Graph {
  const random = new Random(seed)
  const nodes = ids(random.integer(3, 8))
  const density = random.fraction() * 0.7
  const isLinked = new Set<string>()
  const links: Pair[] = []
  const link = (a: NodeId, b: NodeId): void => {
    const name = sortIds([a, b]).join('-')
    if (isLinked.has(name)) return
    isLinked.add(name)
    links.push([a, b])
  }
  const drawn = nodes.map((node) => [random.fraction(), node] as const)
  const order = drawn.toSorted(([a], [b]) => a - b).map(([, node]) => node)
  for (const [place, node] of order.entries()) {
    if (place > 0) link(node, order[random.integer(0, place - 1)] as NodeId)
  }
  for (const [place, a] of nodes.entries()) {
    for (const b of nodes.slice(place + 1)) if (random.chance(density)) link(a, b)
  }
  return { nodes, links }
}

const MOMENTS = Array.from({ length: 21 }, (_, index) => 2000 + index * 197)

/** The number of moments at which the leaders match the figure. */
function momentsAsInFigure(seed: number): number {
  const graph = randomGraph(seed)
  const { leaders, leaderOf } = figure24(graph)
  const file: PlainObject = {
    protocol: 'local-leader',
    nodes: graph.nodes,
    links: graph.links,
    seed,
    options: { mode: 'local' },
    network: { delayMs: [0.1, 2] },
    clocks: { driftPpm: 50 },
    checkpointsMs: MOMENTS,
    untilMs: 6000,
  }
  const report = simulate(file, {})
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return Object.values(report.checkpoints).filter(
    (snapshot) =>
      snapshot.leaders.join() === leaders.join() &&
      graph.nodes.every((node, place) => snapshot.nodes[String(node)]?.leader === leaderOf[place]),
  ).length
}

/** Seeds of graphs that differ from the figure at some moment, with the number of matching moments. */
function exceptions(from: number, to: number): readonly (readonly [seed: number, moments: number])[] {
  const found: (readonly [number, number])[] = []
  for (let seed = from; seed <= to; seed++) {
    const moments = momentsAsInFigure(seed)
    if (moments < MOMENTS.length) found.push([seed, moments])
  }
  return found
}

describe('the figure', () => {
  const path = (...nodes: readonly NodeId[]): Graph => ({
    nodes: sortIds(nodes),
    links: nodes.slice(1).map((node, place) => [nodes[place] as NodeId, node] as const),
  })
  it('elects the lowest, and nodes without a neighbour that is bound or hears a lower candidate', () => {
    expect(figure24(path(1, 2, 3, 4))).toEqual({ leaders: [1], leaderOf: [1, 1, null, null] })
    expect(figure24(path(1, 4, 5, 2, 3))).toEqual({ leaders: [1, 2], leaderOf: [1, 2, 2, 1, 2] })
  })
  it('lets a blocked candidate block others', () => {
    // 2 blocks 3, and 3 keeps 4 from supporting 5.
    expect(figure24(path(1, 2, 3, 4, 5)).leaders).toEqual([1])
  })
})

const more = Number(process.env['FIGURE_24_GRAPHS'] ?? 0)
/** The second range was chosen beforehand, and not used while the protocol was written. */
const RANGES: readonly (readonly [from: number, to: number])[] =
  more > 0
    ? [
        [1, 200],
        [240_001, 240_100],
        [1_000_000, 999_999 + more],
      ]
    : [
        [1, 25],
        [240_001, 240_015],
      ]

describe('the leaders on a random connected graph match Figure 24 at every moment', () => {
  it.each(RANGES)(
    'seeds %d to %d',
    (from, to) => expect(exceptions(from, to)).toEqual([]),
    Math.max(60_000, more * 1000),
  )
})
