/**
 * The same protocol in a group whose nodes are not all known in advance, as section 4(d) allows: every node that has a
 * register belongs to the group. The world lists the registers in every round, after the node's own write and before it
 * reads the blocks. A node that joins creates its register before it writes its first counter. So a node that is missing
 * from a list will read what this node wrote. If the list has changed, the world does not answer the round. It sends the
 * command `members` instead, and the node reads the registers of all nodes in the list.
 */
import type { Command, Input, Micros, NodeId, Protocol, Step } from '../../core/index.ts'
import { sortIds } from '../../core/index.ts'
import { epochs } from './epochs.ts'
import { type EpochsCommand, type EpochsOptions, timingInput } from './options.ts'
import { type EpochsRules, RULES } from './rules.ts'
import type { EpochsState } from './state.ts'
import { timingOf } from './timing.ts'

export type OpenState = { readonly nodes: readonly NodeId[]; readonly inner: EpochsState }
export type MembersCommand = Command & { readonly do: 'members'; readonly nodes: readonly NodeId[] }
export type OpenCommand = EpochsCommand | MembersCommand

/** A placeholder peer of a node that is alone. It never ticks, but the node reads a round, and so notices nodes that join. */
const PLACEHOLDER: NodeId = ''

export function openEpochs(
  self: NodeId,
  members: readonly NodeId[],
  options: EpochsOptions,
  rules: EpochsRules = RULES,
): Protocol<OpenState, never, OpenCommand> {
  const settings = {
    timing: timingOf(timingInput(options)),
    start: options.start,
    order: options.turns,
    rules,
    ballots: options.ballots,
    keepsRead: options.keepsRead,
  }
  let current = protocolAmong(withSelf(members))

  function withSelf(given: readonly NodeId[]): readonly NodeId[] {
    const all = sortIds([...new Set([self, ...given])])
    return all.length === 1 ? sortIds([self, PLACEHOLDER]) : all
  }

  function protocolAmong(nodes: readonly NodeId[]) {
    return { nodes, protocol: epochs({ self, nodes }, settings) }
  }

  /** The protocol for these nodes. The last one is cached: the nodes seldom change. */
  function protocolFor(nodes: readonly NodeId[]): Protocol<EpochsState, never, EpochsCommand> {
    if (!isSame(nodes, current.nodes)) current = protocolAmong(nodes)
    return current.protocol
  }

  function stepOf(
    state: OpenState,
    nodes: readonly NodeId[],
    { state: inner, effects }: Step<EpochsState, never>,
  ): Step<OpenState, never> {
    return { state: inner === state.inner && nodes === state.nodes ? state : { nodes, inner }, effects }
  }

  return {
    start(stable, now) {
      const nodes = withSelf(members)
      const { state: inner, effects } = protocolFor(nodes).start(stable, now)
      return { state: { nodes, inner }, effects }
    },
    step(state: OpenState, input: Input<never, OpenCommand>, now: Micros) {
      if (input.type !== 'command' || input.command.do !== 'members') {
        const { nodes, inner } = state
        return stepOf(state, nodes, protocolFor(nodes).step(inner, input as Input<never, EpochsCommand>, now))
      }
      const nodes = withSelf(input.command.nodes)
      if (isSame(nodes, state.nodes)) return { state, effects: [] }
      const command: EpochsCommand = { do: 'regrouped' }
      return stepOf(state, nodes, protocolFor(nodes).step(state.inner, { type: 'command', command }, now))
    },
    view: ({ nodes, inner }, now) => protocolFor(nodes).view(inner, now),
    shift: ({ nodes, inner }, by) => ({ nodes, inner: protocolFor(nodes).shift(inner, by) }),
  }
}

function isSame(a: readonly NodeId[], b: readonly NodeId[]): boolean {
  return a === b || (a.length === b.length && a.every((id, index) => id === b[index]))
}

/** What a running node knows in addition to its view. */
export type OpenInsight = {
  /** When the term of the current leader ends, counted from when this node saw its last renewal. */
  readonly leadUntil: Micros | null
  /** The token of that term, if its leader has published it. */
  readonly token: number | null
  /** The node is taking over its register. */
  readonly isStarting: boolean
}

export function openInsight({ inner }: OpenState, options: EpochsOptions): OpenInsight {
  const { time, status } = inner
  const { wait } = timingOf(timingInput(options))
  const isStarting = status === 'Starting'
  if (time === null || (time.lease === null && time.hint === null)) {
    return { leadUntil: null, token: null, isStarting }
  }
  if (time.lease !== null) {
    const { acting, until, token } = time.lease
    return { leadUntil: acting ? until : null, token: acting ? token : null, isStarting }
  }
  return { leadUntil: time.advancedAt + wait, token: time.term === 0 ? null : time.term, isStarting }
}
