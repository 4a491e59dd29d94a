/**
 * What a real process runs: any number of groups over one session for each pair of processes. It is a protocol like any
 * other, so a world can run it, and a recorded run of a process can be put through it again.
 */
import {
  type Micros,
  type NodeId,
  type Plain,
  type PlainObject,
  type Protocol,
  stack,
  type View,
} from '../core/index.ts'
import {
  bundle,
  failAware,
  type Group,
  type Room,
  type SessionTerms,
  seatsIn,
  weightOf,
} from '../links/index.ts'
import type { Insight } from './insight.ts'
import { localLeaderGroup, timingFor } from './local-leader/group.ts'
import { insightOf } from './local-leader/insight.ts'
import type { LocalLeaderOptions } from './local-leader/options.ts'
import { type OmegaOptions, omegaGroup, omegaInsight } from './omega/group.ts'

/** The protocols that real processes run. */
export const RUNNABLE = ['local-leader', 'omega'] as const
export type RunnableProtocol = (typeof RUNNABLE)[number]

/** A group in plain words: its protocol's options have been checked and filled in. */
export type GroupSpec = PlainObject & {
  readonly protocol: RunnableProtocol
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
}

export type HostSettings = {
  readonly self: NodeId
  readonly groups: { readonly [name: string]: GroupSpec }
  readonly room?: Room
}

/** What fits into an Ethernet frame beside the headers of IPv6 and UDP, the seal and the session. */
const FRAME: Room = { most: 1452 - 33 - 98, weigh: weightOf }

/** Until there is a group. */
const NO_GROUP: SessionTerms = { leastDelay: 0, fast: 1_000_000, rho: 0.0001, stampAge: 0 }

export function groupFor(self: NodeId, { protocol, nodes, options }: GroupSpec): Group {
  if (protocol === 'omega') return omegaGroup({ self, nodes }, options as unknown as OmegaOptions)
  return localLeaderGroup({ self, nodes }, options as unknown as LocalLeaderOptions)
}

/** What an operator may ask of a group; `state` is that of its protocol. */
export function insightFor(self: NodeId, spec: GroupSpec, state: Plain, now: Micros): Insight {
  const { protocol, nodes, options } = spec
  if (protocol !== 'omega') {
    return insightOf(state, nodes, timingFor(options as unknown as LocalLeaderOptions, nodes.length), now)
  }
  return omegaInsight(state, { self, nodes }, options as unknown as OmegaOptions, now)
}

export function host({ self, groups, room = FRAME }: HostSettings): Protocol {
  const open = (_name: string, spec: PlainObject): Group => groupFor(self, spec as GroupSpec)
  const above = bundle({ self, open, room, groups })
  return stack(failAware({ self, nodes: [] }, { ...NO_GROUP, agreed: null, echo: true }), above)
}

const NOTHING_YET: View = {
  role: 'follower',
  leader: null,
  token: null,
  until: null,
  members: null,
  detail: null,
}

/** A host seen from outside as one of its groups is, once it has joined; without a name, as the first is. */
export function hosted(self: NodeId, shown: string | null): Protocol {
  return {
    ...host({ self, groups: {} }),
    view(state, now) {
      const seats = seatsIn(state)
      const seat = shown === null ? seats[0] : seats.find(({ name }) => name === shown)
      return seat === undefined
        ? NOTHING_YET
        : groupFor(self, seat.spec as GroupSpec).protocol.view(seat.state, now)
    },
  }
}
