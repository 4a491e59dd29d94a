import { equalPlain, type Micros, msOf, type NodeId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import { configOf, contradicts, type Elector, electorate, type ShownConfig } from './memory/electorate.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

type VotedTerm = {
  readonly node: NodeId
  readonly token: number | null
  readonly config: ShownConfig | null
}

type Support = {
  /** How long after the last change a linked voter may be missing; null if the protocol has no such bound. */
  readonly within: Micros | null
  /**
   * How long a node that stepped down is not a candidate. After that it may be about to depose its successor.
   */
  readonly retirement: Micros
  readonly electors: readonly Elector[]
  readonly reach: Reach | null
  /** The time of the last change: a fault, a command, a new term or new voters. */
  readonly since: Micros
  /** The last term and its voters. */
  readonly term: VotedTerm | null
  readonly wrong: string | null
}

/**
 * The constant is `supportsWithin`. A voter is linked with the leader if every message between them, both
 * ways, is timely. It can vote if it runs, its storage accepts writes, and it is not configured with other
 * voters.
 */
export const votersSupport: Spec<Support> = {
  name: 'voters-support',
  title:
    'every voter that can vote and is linked with the leader supports it, some time after the last change',
  source: 'what fault tolerance rests on: a voter that is left out makes the next failure one too many',
  when: 'always',
  fold: {
    begin: (run) => ({
      within: run.constants['supportsWithin'] ?? null,
      retirement: run.constants['retirement'] ?? 0,
      electors: electorate.begin(run),
      reach: null,
      since: 0,
      term: null,
      wrong: null,
    }),
    next(memory, seen) {
      if (memory.within === null || memory.wrong !== null) return memory
      switch (seen.type) {
        case 'connectivity':
          return { ...memory, reach: seen.reach, since: Math.max(memory.since, seen.at) }
        case 'commanded':
          return { ...memory, since: Math.max(memory.since, seen.at) }
        case 'output':
          return seen.event.type === 'demoted' && seen.event['cause'] === 'stepped down'
            ? { ...memory, since: seen.at + memory.retirement }
            : memory
        case 'view':
          return leadsNow(seen) ? afterRound(memory, seen) : withElectors(memory, seen)
        default:
          return memory
      }
    },
  },
  judge({ within, since, wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    const isDue = within !== null && seen.type === 'view' && leadsNow(seen) && since + within <= seen.at
    return isDue ? 'held' : 'not concerned'
  },
}

function afterRound(memory: Support, seen: Observation & { readonly type: 'view' }): Support {
  const { node, view, at } = seen
  const config = configOf(seen)
  const { token } = view
  const { term } = memory
  // Every renewal is compared. Almost always the node shows the very same voters again, which is cheap to see.
  const isSame =
    term !== null && term.node === node && term.token === token && equalPlain(term.config, config)
  if (!isSame) return { ...memory, term: { node, token, config }, since: Math.max(memory.since, at) }
  const { within, since, reach, electors } = memory
  // If chance decides which messages arrive in time, a renewal may miss any voter.
  if (within === null || reach === null || reach.byChance || at - since <= within) return memory
  const missing = (config?.sets ?? [])
    .flat()
    .find(
      (voter) =>
        voter !== node &&
        !view.members?.includes(voter) &&
        canVote(reach, node, voter) &&
        !electors.some((each) => each.node === voter && config !== null && contradicts(each.config, config)),
    )
  if (missing === undefined) return memory
  const wrong = `${missing} does not support ${node}, though they are linked, and nothing has changed since ${msOf(since)} ms`
  return { ...memory, wrong }
}

function withElectors(memory: Support, seen: Observation): Support {
  const electors = electorate.next(memory.electors, seen)
  return electors === memory.electors ? memory : { ...memory, electors }
}

function canVote({ running, timely, unwritable }: Reach, leader: NodeId, voter: NodeId): boolean {
  if (!running.includes(voter) || unwritable.includes(voter)) return false
  const reaches = (from: NodeId, to: NodeId): boolean =>
    timely === 'full' || timely.some((link) => link[0] === from && link[1] === to)
  return reaches(leader, voter) && reaches(voter, leader)
}
