/** Metrics in the Prometheus text format. */
import type { Membership } from '../../protocols/index.ts'
import type { GroupStatus, LevelCause, TimingStatus } from '../node/index.ts'
import type { Measured } from '../runtime/index.ts'

export type GroupMetrics = {
  readonly group: string
  readonly id: string
  readonly status: GroupStatus
  readonly terms: number
  readonly views: number
  /** Warnings since the process started. */
  readonly warnings: number
  /** Changes of the length of leases since the process started, by cause. */
  readonly levelChanges: ReadonlyMap<string, number>
  readonly alarm: boolean
  /** Further voters that can fail, in the worst case. */
  readonly failureTolerance: number
}

type Sample = { readonly labels: { readonly [name: string]: string }; readonly value: number }

type Metric = {
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'summary'
  readonly help: string
  of(measured: GroupMetrics): readonly Sample[]
}

const leadingValue = ({ status }: GroupMetrics): number => (status.role === 'leader' ? 1 : 0)

/** One sample with the standard labels. */
const one =
  (value: (measured: GroupMetrics) => number): Metric['of'] =>
  (measured) => [{ labels: { group: measured.group, id: measured.id }, value: value(measured) }]

/** Only for groups whose protocol has views. */
const ofViews =
  (value: (membership: Membership, measured: GroupMetrics) => number): Metric['of'] =>
  (measured) => {
    const { membership } = measured.status
    return membership === null ? [] : one(() => value(membership, measured))(measured)
  }

/** Only for groups whose leases tune themselves. */
const ofTiming =
  (value: (timing: TimingStatus) => number | null): Metric['of'] =>
  (measured) => {
    const { timing } = measured.status
    const shown = timing === null ? null : value(timing)
    return shown === null ? [] : one(() => shown)(measured)
  }

const LEVEL_CAUSES: readonly LevelCause[] = ['late', 'delay', 'round', 'loss', 'quiet', 'bounds', 'inherited']

type Quantiles = readonly (readonly [quantile: string, ms: number])[]

/** One sample per quantile, in seconds; none while nothing was measured. */
const ofQuantiles =
  (values: (measured: Measured) => Quantiles): Metric['of'] =>
  ({ group, id, status }) =>
    values(status.measured).map(([quantile, ms]) => ({ labels: { group, id, quantile }, value: ms / 1000 }))

const toQuantiles = (spread: Measured['delayMs']): Quantiles =>
  spread === null
    ? []
    : [
        ['0.5', spread.p50],
        ['0.99', spread.p99],
        ['1', spread.max],
      ]

/** A constant of the protocol, in seconds; none where the protocol does not have it. */
const ofConstant =
  (ms: (measured: Measured) => number): Metric['of'] =>
  (all) => {
    const value = ms(all.status.measured)
    return value === 0 ? [] : one(() => value / 1000)(all)
  }

export const METRICS: readonly Metric[] = [
  { name: 'conclave_leader', type: 'gauge', help: '1 if this node is the leader', of: one(leadingValue) },
  {
    name: 'conclave_has_leader',
    type: 'gauge',
    help: '1 if this node knows of a leader',
    of: one(({ status }) => (status.leader === null ? 0 : 1)),
  },
  {
    name: 'conclave_token',
    type: 'gauge',
    help: 'fencing token of the current leader, 0 without a leader',
    of: one(({ status }) => status.leader?.token ?? 0),
  },
  {
    name: 'conclave_lease_remaining_seconds',
    type: 'gauge',
    help: 'seconds until the lease of this node expires; 0 if it is not the leader',
    of: one((measured) => (leadingValue(measured) === 1 ? (measured.status.leaseMs ?? 0) / 1000 : 0)),
  },
  {
    name: 'conclave_terms_total',
    type: 'counter',
    help: 'terms of this node since the process started',
    of: one(({ terms: leaderships }) => leaderships),
  },
  {
    name: 'conclave_view_number',
    type: 'gauge',
    help: 'Protocols with views: number of the current view, 0 without a view',
    of: ofViews(({ view }) => view?.id[0] ?? 0),
  },
  {
    name: 'conclave_view_members',
    type: 'gauge',
    help: 'Protocols with views: members of the current view',
    of: ofViews(({ view }) => view?.members.length ?? 0),
  },
  {
    name: 'conclave_in_quorum',
    type: 'gauge',
    help: 'Protocols with views: 1 if a majority of the view responds',
    of: ofViews(({ inQuorum }) => (inQuorum ? 1 : 0)),
  },
  {
    name: 'conclave_views_total',
    type: 'counter',
    help: 'Protocols with views: views that this node has installed since the process started',
    of: ofViews((_membership, { views }) => views),
  },
  {
    name: 'conclave_nodes_reachable',
    type: 'gauge',
    help: 'reachable nodes of the group, including this node',
    of: one(({ status }) => status.nodes.filter(({ reachable }) => reachable).length),
  },
  {
    name: 'conclave_failures_tolerated',
    type: 'gauge',
    help: 'further voters that can fail, in the worst case, before the group loses its leader',
    of: one(({ failureTolerance }) => failureTolerance),
  },
  {
    name: 'conclave_ready',
    type: 'gauge',
    help: '1 if this node takes part in elections',
    of: one(({ status }) => (status.idle === null ? 1 : 0)),
  },
  {
    name: 'conclave_alarm',
    type: 'gauge',
    help: '1 after this node has observed a safety violation',
    of: one(({ alarm }) => (alarm ? 1 : 0)),
  },
  {
    name: 'conclave_warnings_total',
    type: 'counter',
    help: 'warnings of this node since the process started; its status and its log have the text',
    of: one(({ warnings }) => warnings),
  },
  {
    name: 'conclave_scheduling_lateness_seconds',
    type: 'summary',
    help: 'how much later than due the timers of this node fired, by quantile of the last minutes',
    of: ofQuantiles(({ latenessMs }) => toQuantiles(latenessMs)),
  },
  {
    name: 'conclave_sigma_seconds',
    type: 'gauge',
    help: 'σ: the scheduling lateness that the protocol assumes at most',
    of: ofConstant(({ sigmaMs }) => sigmaMs),
  },
  {
    name: 'conclave_message_delay_seconds',
    type: 'summary',
    help: 'delay of the messages from all peers, by quantile of the last minutes',
    of: ofQuantiles(({ delayMs }) => toQuantiles(delayMs)),
  },
  {
    name: 'conclave_delta_seconds',
    type: 'gauge',
    help: 'δ: the message delay that the protocol assumes at most',
    of: ofConstant(({ deltaMs }) => deltaMs),
  },
  {
    name: 'conclave_renewal_margin_seconds',
    type: 'summary',
    help: 'what was left of the lease when it was renewed, by quantile of the last minutes; leader only',
    of: ofQuantiles(({ renewalMarginMs: margin }) =>
      margin === null
        ? []
        : [
            ['0', margin.min],
            ['0.5', margin.p50],
          ],
    ),
  },
  {
    name: 'conclave_lease_level',
    type: 'gauge',
    help: 'Leases that tune themselves: level of the leader, as this node knows it; each level is 5/4 of the one before',
    of: ofTiming(({ level }) => level),
  },
  {
    name: 'conclave_lease_seconds',
    type: 'gauge',
    help: 'Leases that tune themselves: length of the leases of the leader, as this node knows it',
    of: ofTiming(({ leaseMs }) => leaseMs / 1000),
  },
  {
    name: 'conclave_lease_min_seconds',
    type: 'gauge',
    help: 'Leases that tune themselves: the shortest lease that this node asks for and grants',
    of: ofTiming(({ leaseMinMs }) => leaseMinMs / 1000),
  },
  {
    name: 'conclave_lease_max_seconds',
    type: 'gauge',
    help: 'Leases that tune themselves: the longest lease that this node asks for and grants',
    of: ofTiming(({ leaseMaxMs }) => leaseMaxMs / 1000),
  },
  {
    name: 'conclave_failover_expected_seconds',
    type: 'gauge',
    help: 'Leases that tune themselves: expected time from the crash of the leader to the next one, at this level',
    of: ofTiming(({ failoverMs }) => (failoverMs === null ? null : failoverMs.typical / 1000)),
  },
  {
    name: 'conclave_failover_worst_seconds',
    type: 'gauge',
    help: 'Leases that tune themselves: longest time from the crash of the leader to the next one, at this level',
    of: ofTiming(({ failoverMs }) => (failoverMs === null ? null : failoverMs.worst / 1000)),
  },
  {
    name: 'conclave_lease_changes_total',
    type: 'counter',
    help: 'Leases that tune themselves: changes of their length by this node as leader, by cause',
    of: ({ group, id, status, levelChanges }) =>
      status.timing === null
        ? []
        : LEVEL_CAUSES.map((cause) => ({
            labels: { group, id, cause },
            value: levelChanges.get(cause) ?? 0,
          })),
  },
  {
    name: 'conclave_round_trip_seconds',
    type: 'gauge',
    help: 'round-trip time from this node to each peer',
    of: ({ group, id, status }) =>
      status.nodes.flatMap((peer) =>
        peer.rttMs === null || String(peer.id) === id
          ? []
          : [{ labels: { group, id, peer: String(peer.id) }, value: peer.rttMs / 1000 }],
      ),
  },
  {
    name: 'conclave_datagrams_total',
    type: 'counter',
    help: 'datagrams by direction; dropped counts received datagrams that were rejected',
    of: ({ group, id, status: { datagrams } }) =>
      (['sent', 'received', 'dropped'] as const).map((direction) => ({
        labels: { group, id, direction },
        value: datagrams[direction],
      })),
  },
  {
    name: 'leader_election_master_status',
    type: 'gauge',
    help: '1 if this node is the leader; same name as in client-go',
    of: (measured) => [{ labels: { name: measured.group }, value: leadingValue(measured) }],
  },
]

/** Renders the metrics of all groups of the process. */
export function renderMetrics(all: readonly GroupMetrics[]): string {
  return METRICS.map(({ name, type, help, of }) => ({ name, type, help, samples: all.flatMap(of) }))
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => renderMetric(name, type, help, samples))
    .join('')
}

function renderMetric(
  name: string,
  type: 'gauge' | 'counter' | 'summary',
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`)
    return `${name}{${pairs.join(',')}} ${value}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
