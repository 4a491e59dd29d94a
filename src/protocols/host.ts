/**
 * The protocol that a real process runs: any number of groups over one session per pair of processes. It is a protocol
 * like any other, so a world can run it, and a recorded run of a process can be replayed through it.
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
  tenantsIn,
  weightOf,
} from '../links/index.ts'
import type { PeerHosting } from './hosting.ts'
import { hostingOf } from './hostings.ts'
import type { Insight, LeaseInsight, Pulse } from './insight.ts'

/** A group as plain data. The options of its protocol are checked and complete. */
export type GroupSpec = PlainObject & {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
}

export type HostSettings = {
  readonly self: NodeId
  readonly groups: { readonly [name: string]: GroupSpec }
  readonly room?: Room
}

/** The space in an Ethernet frame after the headers of IPv6 and UDP, the seal and the session. */
const FRAME: Room = { most: 1452 - 33 - 98, weigh: weightOf }

/** The terms of sessions before the first group is joined. */
const NO_GROUP: SessionTerms = { leastDelay: 0, fast: 1_000_000, rho: 0.0001, stampAge: 0 }

/** The hosting of a protocol whose nodes exchange messages. Throws if this process cannot run the protocol. */
export function peerHosting(protocol: string): PeerHosting {
  const hosting = hostingOf(protocol)
  if (hosting?.needs === 'peers') return hosting
  throw new Error(`this process cannot run the protocol ${protocol} over the network; load its module first`)
}

export function groupFor(self: NodeId, { protocol, nodes, options }: GroupSpec): Group {
  return peerHosting(protocol).group({ self, nodes }, options)
}

/** What an operator can ask about a group. `state` is the state of its protocol. */
export function insightFor(self: NodeId, spec: GroupSpec, state: Plain, now: Micros): Insight {
  const { protocol, nodes, options } = spec
  return peerHosting(protocol).insight({ self, nodes }, options, state, now)
}

/** What changes with every renewal. Undefined: the protocol tells it in the view and the insight only. */
export function pulseFor(self: NodeId, spec: GroupSpec, state: Plain, now: Micros): Pulse | undefined {
  const { protocol, nodes, options } = spec
  return peerHosting(protocol).pulse?.({ self, nodes }, options, state, now)
}

/** The present length of leases in a group, and why; null where the timing is fixed. */
export function leaseInsightFor(self: NodeId, spec: GroupSpec, state: Plain): LeaseInsight | null {
  const { protocol, nodes, options } = spec
  return peerHosting(protocol).leaseInsight?.({ self, nodes }, options, state) ?? null
}

/** Why the leader of a group cannot hand over to a node; null if it can. */
export function handOverProblemFor(
  self: NodeId,
  { protocol, nodes, options }: GroupSpec,
  state: Plain,
  to: NodeId,
  now: Micros,
): string | null {
  const { handOverProblem } = peerHosting(protocol)
  if (handOverProblem === undefined) return `under ${protocol} the next leader cannot be chosen`
  return handOverProblem({ self, nodes }, options, state, to, now)
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

/** A host with the view of one of its groups, once it has joined that group. `shown` null: of the first group. */
export function hostShowing(self: NodeId, shown: string | null): Protocol {
  return {
    ...host({ self, groups: {} }),
    view(state, now) {
      const tenants = tenantsIn(state)
      const tenant = shown === null ? tenants[0] : tenants.find(({ name }) => name === shown)
      return tenant === undefined
        ? NOTHING_YET
        : groupFor(self, tenant.spec as GroupSpec).protocol.view(tenant.state, now)
    },
  }
}
