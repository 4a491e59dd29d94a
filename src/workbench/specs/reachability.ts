import { type Micros, msOf } from '../../core/index.ts'
import type { Spec } from './spec.ts'

/**
 * The constant is `reachableWithin`. No message of a peer that is down, stalled or cut off can arrive in
 * time. A node may consider such a peer reachable for at most the constant. The check follows every step of a
 * node, with the status that its operator would see at that moment.
 */
export const reachability: Spec<Micros | null> = {
  name: 'reachability',
  title:
    'no node calls a peer reachable for longer than a stated time after the peer can last have been heard',
  source: 'what an operator reads from the status of a node',
  when: 'always',
  fold: { begin: (run) => run.constants['reachableWithin'] ?? null, next: (memory) => memory },
  judge(within, seen) {
    if (within === null || seen.type !== 'called-reachable') return 'not concerned'
    const { at, node, peer, silentSince } = seen
    if (at - silentSince <= within) return 'held'
    const since = msOf(silentSince)
    return {
      violated: `${node} called ${peer} reachable, from which no message can have arrived since ${since} ms; the bound is ${msOf(within)} ms`,
    }
  },
}
