/** Promises about every epoch: one leader per epoch, and one outcome for all nodes that complete it. */
import type { NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Spec } from './spec.ts'

/** Every completed epoch, in order, with its first outcome. */
type Outcomes = readonly (readonly [epoch: number, leader: NodeId])[]

type Learned = { readonly epoch: number; readonly leader: NodeId; readonly node: NodeId }

/** A node has completed an epoch and knows its leader. */
function learnedIn(seen: Observation): Learned | null {
  if (seen.type !== 'output' || seen.event.type !== 'learned') return null
  const { epoch, leader } = seen.event
  if (typeof epoch !== 'number' || (typeof leader !== 'number' && typeof leader !== 'string')) return null
  return { epoch, leader, node: seen.node }
}

function withOutcome(memory: Outcomes, { epoch, leader }: Learned): Outcomes {
  if (memory.some(([known]) => known === epoch)) return memory
  return [...memory, [epoch, leader] as const].sort(([a], [b]) => a - b)
}

function outcomeOf(memory: Outcomes, epoch: number): NodeId | null {
  return memory.find(([known]) => known === epoch)?.[1] ?? null
}

/**
 * The history variable LeaderChosenAtT. A second leader does not overwrite the first; it is the violation.
 */
export const oneLeaderAnEpoch: Spec<Outcomes> = {
  name: 'one-leader-an-epoch',
  title: 'no epoch ever has two leaders, at the same time or one after the other',
  source: 'Dharmadeep and Gopinath, section 3.1 (Safety Property)',
  when: 'always',
  fold: {
    begin: () => [],
    next(memory, seen) {
      const learned = learnedIn(seen)
      return learned === null || learned.leader !== learned.node ? memory : withOutcome(memory, learned)
    },
  },
  judge(memory, seen) {
    const learned = learnedIn(seen)
    if (learned === null || learned.leader !== learned.node) return 'not concerned'
    const first = outcomeOf(memory, learned.epoch)
    if (first === learned.node) return 'held'
    return { violated: `${learned.node} leads epoch ${learned.epoch}, which ${first} has led` }
  },
}

/** Stronger than one leader per epoch: nodes that do not win also end with the winner's id. */
export const epochAgreement: Spec<Outcomes> = {
  name: 'epoch-agreement',
  title: 'all that complete an epoch end with the same leader',
  source: 'Dharmadeep and Gopinath, section 3.2, phase 2',
  when: 'always',
  fold: {
    begin: () => [],
    next(memory, seen) {
      const learned = learnedIn(seen)
      return learned === null ? memory : withOutcome(memory, learned)
    },
  },
  judge(memory, seen) {
    const learned = learnedIn(seen)
    if (learned === null) return 'not concerned'
    const first = outcomeOf(memory, learned.epoch)
    if (first === learned.leader) return 'held'
    return {
      violated: `${learned.node} ends epoch ${learned.epoch} with ${learned.leader}, others with ${first}`,
    }
  },
}
