/** Metrics in the text form of Prometheus. */

import type { Membership } from '../../protocols/index.ts'
import type { MemberStatus } from '../node/index.ts'

export type Measured = {
  readonly group: string
  readonly id: string
  readonly status: MemberStatus
  readonly leaderships: number
  readonly views: number
  readonly alarm: boolean
}

type Sample = { readonly labels: { readonly [name: string]: string }; readonly value: number }

type Metric = {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly help: string
  of(measured: Measured): readonly Sample[]
}

const leads = ({ status }: Measured): number => (status.role === 'leader' ? 1 : 0)

/** One sample, with the labels that all have. */
const one =
  (value: (measured: Measured) => number): Metric['of'] =>
  (measured) => [{ labels: { group: measured.group, id: measured.id }, value: value(measured) }]

/** Only of groups whose protocol has views. */
const ofViews =
  (value: (membership: Membership, measured: Measured) => number): Metric['of'] =>
  (measured) => {
    const { membership } = measured.status
    return membership === null ? [] : one(() => value(membership, measured))(measured)
  }

export const METRICS: readonly Metric[] = [
  { name: 'conclave_leader', type: 'gauge', help: '1 while this node leads', of: one(leads) },
  {
    name: 'conclave_has_leader',
    type: 'gauge',
    help: '1 while this node knows of a leader',
    of: one(({ status }) => (status.leader === null ? 0 : 1)),
  },
  {
    name: 'conclave_token',
    type: 'gauge',
    help: 'token of the leader that this node knows of, 0 without',
    of: one(({ status }) => status.leader?.token ?? 0),
  },
  {
    name: 'conclave_lease_remaining_seconds',
    type: 'gauge',
    help: 'how long this node surely leads; 0 when it does not',
    of: one((measured) => (leads(measured) === 1 ? (measured.status.leaseMs ?? 0) / 1000 : 0)),
  },
  {
    name: 'conclave_leaderships_total',
    type: 'counter',
    help: 'how often this node was elected',
    of: one(({ leaderships }) => leaderships),
  },
  {
    name: 'conclave_view_number',
    type: 'gauge',
    help: 'omega: number of the view that this node is in, 0 while in none',
    of: ofViews(({ view }) => view?.id[0] ?? 0),
  },
  {
    name: 'conclave_view_members',
    type: 'gauge',
    help: 'omega: members of the view that this node is in',
    of: ofViews(({ view }) => view?.members.length ?? 0),
  },
  {
    name: 'conclave_in_quorum',
    type: 'gauge',
    help: 'omega: 1 while more than half of the view answer from it',
    of: ofViews(({ inQuorum }) => (inQuorum ? 1 : 0)),
  },
  {
    name: 'conclave_views_total',
    type: 'counter',
    help: 'omega: how many views this node has installed',
    of: ofViews((_membership, { views }) => views),
  },
  {
    name: 'conclave_members_there',
    type: 'gauge',
    help: 'nodes of the group that are heard, this one too',
    of: one(({ status }) => status.nodes.filter(({ there }) => there).length),
  },
  {
    name: 'conclave_ready',
    type: 'gauge',
    help: '1 while this node takes part in elections',
    of: one(({ status }) => (status.idle === null ? 1 : 0)),
  },
  {
    name: 'conclave_alarm',
    type: 'gauge',
    help: '1 once a promise was seen broken',
    of: one(({ alarm }) => (alarm ? 1 : 0)),
  },
  {
    name: 'conclave_datagrams_total',
    type: 'counter',
    help: 'datagrams; dropped are those of the received ones that were refused',
    of: ({ group, id, status: { datagrams } }) =>
      (['sent', 'received', 'dropped'] as const).map((direction) => ({
        labels: { group, id, direction },
        value: datagrams[direction],
      })),
  },
  {
    name: 'leader_election_master_status',
    type: 'gauge',
    help: '1 while this node leads, as client-go has it',
    of: (measured) => [{ labels: { name: measured.group }, value: leads(measured) }],
  },
]

/** All groups of a process. */
export function metricsText(all: readonly Measured[]): string {
  return METRICS.map(({ name, type, help, of }) => ({ name, type, help, samples: all.flatMap(of) }))
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => metric(name, type, help, samples))
    .join('')
}

function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const lines = samples.map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`)
    return `${name}{${pairs.join(',')}} ${value}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
