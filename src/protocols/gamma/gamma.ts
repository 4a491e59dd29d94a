/**
 * Protocol Gamma: election in a complete network without failures. The paper derives its other protocols from it.
 *
 * Some nodes wake up by themselves and become candidates. A candidate asks all other nodes, and leads once all have
 * accepted. A candidate does not answer a larger candidate. A node that is woken up by a message accepts.
 *
 * The text calls the other nodes passive. That must mean that a node that was woken up by a message never becomes a
 * candidate afterwards. With `passive: false` it may, and then two nodes can lead.
 *
 * Source: M. Franceschetti, J. Bruck, A Leader Election Protocol for Fault Recovery in Asynchronous Fully-Connected
 * Networks, section 3.1, after Singh.
 */
import {
  compareIds,
  type Identity,
  NOTHING,
  type NodeId,
  type Protocol,
  type Step,
  send,
  sendAll,
  type View,
  withId,
} from '../../core/index.ts'
import { withLeaderNews } from '../news.ts'

export type GammaMessage =
  | { readonly kind: 'candidate' }
  | { readonly kind: 'accept' }
  | { readonly kind: 'leader' }
export type GammaCommand = { readonly do: 'wake' }
export type GammaState = {
  readonly mode: 'asleep' | 'candidate' | 'passive'
  readonly accepts: readonly NodeId[]
  readonly leader: NodeId | null
}

type GammaStep = Step<GammaState, GammaMessage>

const ASLEEP: GammaState = { mode: 'asleep', accepts: [], leader: null }

export function gamma(
  { self, nodes }: Identity,
  { passive }: { readonly passive: boolean },
): Protocol<GammaState, GammaMessage, GammaCommand> {
  const others = nodes.filter((id) => id !== self)

  function becomeCandidate(state: GammaState): GammaStep {
    if (!canWake(state, passive)) return { state, effects: NOTHING }
    if (others.length === 0) return { state: { ...state, mode: 'candidate', leader: self }, effects: NOTHING }
    return { state: { ...state, mode: 'candidate' }, effects: sendAll(others, { kind: 'candidate' }) }
  }

  function handleMessage(state: GammaState, from: NodeId, { kind }: GammaMessage): GammaStep {
    switch (kind) {
      case 'candidate': {
        if (state.mode === 'candidate' && compareIds(self, from) < 0) return { state, effects: NOTHING }
        const woken: GammaState = state.mode === 'asleep' ? { ...state, mode: 'passive' } : state
        return { state: woken, effects: [send(from, { kind: 'accept' })] }
      }
      case 'accept': {
        const accepts = withId(state.accepts, from)
        if (accepts.length < others.length) return { state: { ...state, accepts }, effects: NOTHING }
        return { state: { ...state, accepts, leader: self }, effects: sendAll(others, { kind: 'leader' }) }
      }
      case 'leader':
        return state.leader === self
          ? { state, effects: NOTHING }
          : { state: { ...state, leader: from }, effects: NOTHING }
      default:
        return kind satisfies never
    }
  }

  function react(state: GammaState, input: Parameters<Protocol['step']>[1]): GammaStep {
    if (input.type === 'message') return handleMessage(state, input.from, input.body as GammaMessage)
    return input.type === 'command' ? becomeCandidate(state) : { state, effects: NOTHING }
  }

  return {
    start: () => ({ state: ASLEEP, effects: NOTHING }),
    step(state, input) {
      const next = react(state, input)
      return withLeaderNews(self, state.leader, next.state.leader, next)
    },
    view: ({ mode, leader }): View => ({
      role: leader === self ? 'leader' : leader === null && mode === 'candidate' ? 'candidate' : 'follower',
      leader,
      token: null,
      until: null,
      members: null,
      detail: null,
    }),
    shift: (state) => state,
  }
}

/** Whether a node may wake up by itself and become a candidate. */
export function canWake({ mode }: GammaState, passive: boolean): boolean {
  return mode === 'asleep' || (!passive && mode === 'passive')
}
