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
  tenantsIn,
  weightOf,
} from '../links/index.ts'
import type { PeerHosting } from './hosting.ts'
import { hostingOf } from './hostings.ts'
import type { Insight } from './insight.ts'

/** A group in plain words: its protocol's options have been checked and filled in. */
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

/** What fits into an Ethernet frame beside the headers of IPv6 and UDP, the seal and the session. */
const FRAME: Room = { most: 1452 - 33 - 98, weigh: weightOf }

/** Until there is a group. */
const NO_GROUP: SessionTerms = { leastDelay: 0, fast: 1_000_000, rho: 0.0001, stampAge: 0 }

/** The hosting of a protocol whose nodes exchange messages. Throws where this process cannot run it. */
export function peerHosting(protocol: string): PeerHosting {
  const hosting = hostingOf(protocol)
  if (hosting?.needs === 'peers') return hosting
  throw new Error(
    `${protocol} is not a protocol that this process can run over the network: load its module first`,
  )
}

export function groupFor(self: NodeId, { protocol, nodes, options }: GroupSpec): Group {
  return peerHosting(protocol).group({ self, nodes }, options)
}

/** What an operator may ask of a group; `state` is that of its protocol. */
export function insightFor(self: NodeId, spec: GroupSpec, state: Plain, now: Micros): Insight {
  const { protocol, nodes, options } = spec
  return peerHosting(protocol).insight({ self, nodes }, options, state, now)
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
      const tenants = tenantsIn(state)
      const tenant = shown === null ? tenants[0] : tenants.find(({ name }) => name === shown)
      return tenant === undefined
        ? NOTHING_YET
        : groupFor(self, tenant.spec as GroupSpec).protocol.view(tenant.state, now)
    },
  }
}
