/** The true state of the network over time: which links are closed, which are slow. */
import { components, type Micros, type NodeId, type PlainObject } from '../../../../../src/core/index.ts'
import { Random } from '../../../../../src/workbench/scenario/random.ts'
import type {
  Network as NetworkSettings,
  ScenarioEvent,
} from '../../../../../src/workbench/scenario/scenario.ts'
import { changeNetwork } from '../../../../../src/workbench/sim/events.ts'
import { Network } from '../../../../../src/workbench/sim/network.ts'
import type { NetworkState } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'

type Link = readonly [from: NodeId, to: NodeId]

/** Of an opened trace only the changes are known: it is taken to begin with every link open. */
const UNKNOWN: NetworkSettings = { delayMs: [0.2, 2], loss: 0, duplicate: 0, fifo: false, rules: [] }

export function networksOf(run: RecordedRun): readonly NetworkState[] {
  const { measured, header, isUntimed } = run
  if (measured !== null)
    return measured.networks.map((reading) => ({
      ...reading,
      blocks: blocksOf(header.nodes, reading.closed),
    }))
  return isUntimed ? untimedNetworks(run) : timedNetworks(run)
}

function timedNetworks({ header, records }: RecordedRun): readonly NetworkState[] {
  const { nodes } = header
  // Only questions that draw nothing are asked of it, so the seed does not matter.
  const network = new Network(nodes, UNKNOWN, 'full', new Random(1))
  const links = linksBetween(nodes)
  const slow = new Map<string, Link>()
  const states: NetworkState[] = []
  const note = (from: Micros): void => {
    const closed = links.filter(
      ([a, b]) => network.qualityBetween(nodes.indexOf(a), nodes.indexOf(b)).least === null,
    )
    const { loss, duplicate } = network
    add(states, { from, closed, slow: [...slow.values()], loss, duplicate, blocks: blocksOf(nodes, closed) })
  }
  note(0)
  for (const record of records) {
    if (record.type !== 'world') continue
    const event = { atMs: 0, ...record.event } as unknown as ScenarioEvent
    if (!isApplied(network, event)) continue
    noteSlow(slow, event)
    note(record.at)
  }
  return states
}

/** An event of a damaged trace may name nodes that do not exist. */
function isApplied(network: Network, event: ScenarioEvent): boolean {
  try {
    return changeNetwork(network, event)
  } catch {
    return false
  }
}

function noteSlow(slow: Map<string, Link>, event: ScenarioEvent): void {
  if ('slow' in event) for (const link of bothDirections(event.slow)) slow.set(link.join(' '), link)
  if (!('heal' in event)) return
  if (event.heal === 'all') slow.clear()
  else for (const link of bothDirections(event.heal)) slow.delete(link.join(' '))
}

function bothDirections(pairs: readonly Link[]): readonly Link[] {
  return pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const])
}

/** In a schedule links are cut and healed one by one, both ways. */
function untimedNetworks({ header, records }: RecordedRun): readonly NetworkState[] {
  const { nodes } = header
  const keyOf = ([a, b]: Link): string => `${nodes.indexOf(a)} ${nodes.indexOf(b)}`
  const open = new Set(linksBetween(nodes).map(keyOf))
  const states: NetworkState[] = []
  const note = (from: Micros): void => {
    const closed = linksBetween(nodes).filter((link) => !open.has(keyOf(link)))
    add(states, { from, closed, slow: [], loss: 0, duplicate: 0, blocks: blocksOf(nodes, closed) })
  }
  note(0)
  for (const record of records) {
    if (record.type !== 'world') continue
    const { do: word, node, peer } = record.event as PlainObject & { node: NodeId; peer: NodeId }
    if (word !== 'cut' && word !== 'heal') continue
    for (const link of bothDirections([[node, peer]])) {
      if (word === 'cut') open.delete(keyOf(link))
      else open.add(keyOf(link))
    }
    note(record.at)
  }
  return states
}

/** Of several changes at one instant the last counts. */
function add(states: NetworkState[], state: NetworkState): void {
  if (states.at(-1)?.from === state.from) states.pop()
  states.push(state)
}

function linksBetween(nodes: readonly NodeId[]): readonly Link[] {
  return nodes.flatMap((a) => nodes.filter((b) => b !== a).map((b) => [a, b] as const))
}

/** The blocks of a partition, if exactly the links between blocks are closed, and both ways; else none. */
export function blocksOf(nodes: readonly NodeId[], closed: readonly Link[]): readonly (readonly NodeId[])[] {
  if (closed.length === 0) return []
  const shut = new Set(closed.map(([a, b]) => `${nodes.indexOf(a)} ${nodes.indexOf(b)}`))
  const places = [...nodes.keys()]
  const isShut = (a: number, b: number): boolean => shut.has(`${a} ${b}`)
  const blocks = components(places, (a, b) => !isShut(a, b) || !isShut(b, a))
  const between = places.length ** 2 - blocks.reduce((sum, { length }) => sum + length ** 2, 0)
  if (blocks.length < 2 || between !== shut.size) return []
  return blocks.map((block) => block.map((place) => nodes[place] as NodeId))
}
