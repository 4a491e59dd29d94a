/** Fault recovery in a real process, as one of several groups. What it shows of leaders and members is as under Omega+. */
import {
  type Identity,
  type Micros,
  type NodeId,
  output,
  type Plain,
  type Protocol,
  stack,
} from '../../core/index.ts'
import { type Group, type HistoryLinks, historyLayer } from '../../links/index.ts'
import type { Insight } from '../insight.ts'
import { type OmegaOptions, omegaGroup, omegaInsight } from '../omega/group.ts'
import { recovery } from './recovery.ts'
import { settingsOf } from './settings.ts'
import type { RecoveryState } from './state.ts'
import { checkedRecoveryStable } from './wire.ts'

export type RecoveryOptions = Omit<OmegaOptions, 'quorum' | 'tie' | 'reinit' | 'filter'> & {
  readonly waitMs: number
  readonly stopMs: number
}

type Hosted = { readonly layer: HistoryLinks; readonly upper: RecoveryState; readonly kept: Plain }

const asOmega = (options: RecoveryOptions): OmegaOptions => ({
  ...options,
  quorum: 'static',
  tie: false,
  reinit: 'quorum',
  filter: true,
})

/** The state of a node as that of Omega+ alone. */
const below = ({ layer, upper, kept }: Hosted): Plain => ({ layer, upper: upper.omega, kept })

export function recoveryGroup(identity: Identity, options: RecoveryOptions): Group {
  const membership = omegaGroup(identity, asOmega(options))
  const { waitMs, stopMs } = options
  return {
    ...membership,
    protocol: hostRecovery(identity, options, membership.protocol),
    agreed: { ...membership.agreed, protocol: 'recovery', waitMs, stopMs },
  }
}

function hostRecovery(identity: Identity, options: RecoveryOptions, membership: Protocol): Protocol {
  const { weights, waitMs, stopMs } = options
  const own = recovery(identity, settingsOf({ weights, waitMs, stopMs, misreading: 'none' }))
  const inner = stack(historyLayer(identity, options), own) as unknown as Protocol<Hosted>
  const hosted: Protocol<Hosted> = {
    start: (stable, now) => inner.start(checkedRecoveryStable(stable), now),
    step(state, input, now) {
      const step = inner.step(state, input, now)
      const [before, after] = [state.upper.omega.links, step.state.upper.omega.links]
      if (before === after) return step
      const isIn = (links: typeof before, id: NodeId): boolean => links.some(({ peer }) => peer === id)
      const changed = identity.nodes.filter((id) => isIn(before, id) !== isIn(after, id))
      if (changed.length === 0) return step
      const news = changed.map((peer) => output({ type: 'link', peer, up: isIn(after, peer) }))
      return { state: step.state, effects: [...step.effects, ...news] }
    },
    view(state, now) {
      const seen = membership.view(below(state), now)
      return { ...seen, detail: own.view(state.upper, now).detail }
    },
    shift: (state, by) => inner.shift(state, by),
  }
  return hosted
}

/** `state` is the state of the group's protocol. */
export function recoveryInsight(
  state: Plain,
  identity: Identity,
  options: RecoveryOptions,
  now: Micros,
): Insight {
  return omegaInsight(below(state as unknown as Hosted), identity, asOmega(options), now)
}
