/**
 * The same protocol in a group of which not all members are known beforehand, as section 4(d) allows: a member is
 * whoever has a register. The world lists them anew in every round, after the node's own write and before the blocks
 * are read, and whoever joins registers before its first counter is written. So where a list misses somebody, that one
 * will read what this node wrote. When the list has changed the round is not answered: the world says `members`, and
 * whatever was being read is read again, of all of them.
 */
import type { Command, Input, Micros, NodeId, Protocol, Step } from '../../core/index.ts'
import { sortIds } from '../../core/index.ts'
import { epochs } from './epochs.ts'
import { type EpochsCommand, type EpochsOptions, givenBy } from './options.ts'
import { type EpochsRules, RULES } from './rules.ts'
import type { EpochsState } from './state.ts'
import { timingOf } from './timing.ts'

export type OpenState = { readonly nodes: readonly NodeId[]; readonly inner: EpochsState }
export type MembersCommand = Command & { readonly do: 'members'; readonly nodes: readonly NodeId[] }
export type OpenCommand = EpochsCommand | MembersCommand

/** Stands for whoever may join a node that is alone: it never ticks, but a round is read for it. */
const NOBODY: NodeId = ''

export function openEpochs(
  self: NodeId,
  members: readonly NodeId[],
  options: EpochsOptions,
  rules: EpochsRules = RULES,
): Protocol<OpenState, never, OpenCommand> {
  const settings = {
    timing: timingOf(givenBy(options)),
    start: options.start,
    turns: options.turns,
    rules,
    ballots: options.ballots,
    keepsRead: options.keepsRead,
  }
  let made = among(withSelf(members))

  function withSelf(given: readonly NodeId[]): readonly NodeId[] {
    const all = sortIds([...new Set([self, ...given])])
    return all.length === 1 ? sortIds([self, NOBODY]) : all
  }

  function among(nodes: readonly NodeId[]) {
    return { nodes, protocol: epochs({ self, nodes }, settings) }
  }

  /** The one for these nodes; the last is kept, since they seldom change. */
  function protocolFor(nodes: readonly NodeId[]): Protocol<EpochsState, never, EpochsCommand> {
    if (!isSame(nodes, made.nodes)) made = among(nodes)
    return made.protocol
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

/** What a running node knows beyond its view. */
export type OpenInsight = {
  /** Until when whoever is taken to lead leads, counted from when its last renewal was seen. */
  readonly leadUntil: Micros | null
  /** The token of that leadership, where its leader has published it. */
  readonly token: number | null
  /** The own register is being taken over. */
  readonly isStarting: boolean
}

export function openInsight({ inner }: OpenState, options: EpochsOptions): OpenInsight {
  const { time, status } = inner
  const { wait } = timingOf(givenBy(options))
  const isStarting = status === 'Starting'
  if (time === null || (time.lead === null && time.hint === null)) {
    return { leadUntil: null, token: null, isStarting }
  }
  if (time.lead !== null) {
    const { acting, until, token } = time.lead
    return { leadUntil: acting ? until : null, token: acting ? token : null, isStarting }
  }
  return { leadUntil: time.advancedAt + wait, token: time.term === 0 ? null : time.term, isStarting }
}
