import { type Micros, msOf } from '../../core/index.ts'
import type { Spec } from './spec.ts'

/**
 * The constant is `reachableWithin`. Of a peer that is down, stalled or cut off nothing can arrive in time; a node may
 * call it reachable for no longer than the constant after that began. It is looked at after every step of a node, with
 * the answer that its operator would get at that moment.
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
      violated: `${node} called ${peer} reachable, which it cannot have heard since ${since} ms; only ${msOf(within)} ms are allowed`,
    }
  },
}
