/**
 * Memory shared by the specifications of progress in majority mode: which nodes may lead, and each node's
 * voters.
 *
 * A node shows its voter configuration in its view and keeps it through a crash. A voter refuses requests
 * under an older configuration than its own, so the newest one among some nodes is in force there. Nodes that
 * show different voters under the same id are misconfigured and do not count.
 */
import { type Command, equalPlain, type NodeId } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold, RunFacts } from '../spec.ts'
import { isMajority } from './leases.ts'

/** One set of voters, or two during a change (joint consensus): a leader then needs a majority of each. */
export type ShownConfig = {
  readonly id: readonly [epoch: number, counter: number]
  readonly sets: readonly (readonly NodeId[])[]
}

export type Elector = {
  readonly node: NodeId
  /** Null before the node has shown one. */
  readonly config: ShownConfig | null
  /**
   * Whether it may lead at all, and whether it is willing to: a command makes it unwilling until it restarts.
   */
  readonly canLead: boolean
  readonly isWilling: boolean
}

export const electorate: Fold<readonly Elector[]> = {
  begin: (run) =>
    run.nodes.map((node) => ({ node, config: null, canLead: isCapable(run, node), isWilling: true })),
  next(memory, seen) {
    if (seen.type !== 'view' && seen.type !== 'commanded' && seen.type !== 'up') return memory
    const place = memory.findIndex(({ node }) => node === seen.node)
    const was = memory[place]
    if (was === undefined) return memory
    const is = afterwards(was, seen)
    return is === was ? memory : memory.with(place, is)
  },
}

function afterwards(was: Elector, seen: Observation & { type: 'view' | 'commanded' | 'up' }): Elector {
  if (seen.type === 'view') {
    const config = configOf(seen)
    const isSame = config === was.config || (config !== null && equalPlain(config, was.config))
    return config === null || isSame ? was : { ...was, config }
  }
  const isWilling = seen.type === 'up' ? true : willingAfter(was, seen.command)
  return isWilling === was.isWilling ? was : { ...was, isWilling }
}

function willingAfter({ isWilling }: Elector, command: Command): boolean {
  const willing = command.do === 'campaign' ? command['willing'] : null
  return typeof willing === 'boolean' ? willing : isWilling
}

export function configOf(seen: Observation & { readonly type: 'view' }): ShownConfig | null {
  return (seen.view.detail?.['config'] ?? null) as ShownConfig | null
}

function isCapable(run: RunFacts, node: NodeId): boolean {
  return run.neverLead?.includes(node) !== true
}

/**
 * Whether `self` could lead with the votes of these nodes, including its own: they hold a majority of its
 * voters.
 */
export function couldLead(memory: readonly Elector[], self: NodeId, votes: readonly NodeId[]): boolean {
  const candidate = memory.find(({ node }) => node === self)
  if (candidate === undefined || candidate.config === null) return false
  if (!candidate.canLead || !candidate.isWilling) return false
  const voters = memory.filter(({ node, config }) => config !== null && votes.includes(node))
  const config = newest(candidate.config, voters)
  if (!config.sets.some((set) => set.includes(self))) return false
  const agrees = (node: NodeId): boolean =>
    voters.some((voter) => voter.node === node && !contradicts(voter.config, config))
  return agrees(self) && config.sets.every((set) => isMajority(set, agrees))
}

function newest(own: ShownConfig, voters: readonly Elector[]): ShownConfig {
  let config = own
  for (const voter of voters) {
    if (voter.config !== null && compareConfigs(voter.config, config) > 0) config = voter.config
  }
  return config
}

export function contradicts(a: ShownConfig | null, b: ShownConfig): boolean {
  return a !== null && compareConfigs(a, b) === 0 && !equalPlain(a.sets, b.sets)
}

function compareConfigs({ id: a }: ShownConfig, { id: b }: ShownConfig): number {
  return a[0] - b[0] || a[1] - b[1]
}
