/** The warning about a node that is configured differently, in the words and units of the configuration. */
import type { NodeId, Output, Plain } from '../../../core/index.ts'

/** Constants that nodes compare in microseconds or as fractions, and the options that set them. */
const OPTIONS: { readonly [field: string]: readonly [option: string, unit: number] } = {
  delta: ['deltaMs', 1 / 1000],
  deltaMin: ['deltaMinMs', 1 / 1000],
  fast: ['fastMs', 1 / 1000],
  sigma: ['sigmaMs', 1 / 1000],
  rho: ['rhoPpm', 1_000_000],
  renewalInterval: ['renewalIntervalMs', 1 / 1000],
  electionPeriod: ['electionPeriodMs', 1 / 1000],
  expires: ['expiresMs', 1 / 1000],
}

type Bounds = { readonly leaseMinMs: number; readonly leaseMaxMs: number }

export function mismatchWarning({ peer, field, ours = null, theirs = null }: Output): string {
  const name = field as string
  if (name === 'lease bounds')
    return boundsWarning(peer as NodeId, ours as unknown as Bounds, theirs as unknown as Bounds)
  if (name === 'protocol')
    return `${peer as NodeId} is configured differently: its protocol is ${protocolIn(theirs)}, and that of this node ${protocolIn(ours)}; use the same protocol on all nodes`
  if (name === 'peers')
    return `${peer as NodeId} is configured differently: it has the peer ${JSON.stringify(theirs)}, which is not among the nodes of this group here, ${JSON.stringify(ours)}; list the same nodes everywhere`
  if (name === 'timing' || (name in OPTIONS && (ours === null || theirs === null)))
    return differs(
      peer as NodeId,
      'timing',
      JSON.stringify(timingOf(name, theirs)),
      JSON.stringify(timingOf(name, ours)),
    )
  const [option, unit] = OPTIONS[name] ?? [name, 1]
  const shown = (value: Plain): string =>
    typeof value === 'number' && unit !== 1 ? String(round(value * unit)) : JSON.stringify(value)
  return differs(peer as NodeId, option, shown(theirs), shown(ours))
}

function differs(peer: NodeId, option: string, there: string, here: string): string {
  return `${peer} is configured differently: ${option} is ${there} there and ${here} here; use the same profile and options on all nodes`
}

/** The settings of some protocols do not name it. */
function protocolIn(value: Plain): string {
  return value === null ? 'another one' : JSON.stringify(value)
}

/** Only nodes with adaptive timing name their timing, and only nodes with fixed timing have constants to agree on. */
function timingOf(field: string, value: Plain): Plain {
  if (field === 'timing') return value ?? 'fixed'
  return value === null ? 'adaptive' : 'fixed'
}

/** No lease suits both nodes, so neither has the vote of the other. */
function boundsWarning(peer: NodeId, ours: Bounds, theirs: Bounds): string {
  const between = ({ leaseMinMs, leaseMaxMs }: Bounds): string =>
    `${round(leaseMinMs)} to ${round(leaseMaxMs)} ms`
  return `${peer} grants leases of ${between(theirs)} and this node of ${between(ours)}, so neither has the vote of the other; set leaseMinMs and leaseMaxMs so that they overlap by a factor of 1.25 or more`
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
