/** Metrics in the text form of Prometheus. */
import type { MemberStatus } from '../member/index.ts'

export type Measured = {
  readonly group: string
  readonly id: string
  readonly status: MemberStatus
  readonly leaderships: number
  readonly alarm: boolean
}

type Sample = { readonly labels: { readonly [name: string]: string }; readonly value: number }

export function metricsText({ group, id, status, leaderships, alarm }: Measured): string {
  const labels = { group, id }
  const leads = status.role === 'leader' ? 1 : 0
  const { sent, received, dropped } = status.datagrams
  const datagrams = [
    { labels: { ...labels, direction: 'sent' }, value: sent },
    { labels: { ...labels, direction: 'received' }, value: received },
    { labels: { ...labels, direction: 'dropped' }, value: dropped },
  ]
  const one = (value: number): readonly Sample[] => [{ labels, value }]
  return [
    metric('conclave_leader', 'gauge', '1 while this node leads', one(leads)),
    metric('conclave_has_leader', 'gauge', '1 while this node knows of a leader', one(status.leader ? 1 : 0)),
    metric(
      'conclave_token',
      'gauge',
      'token of the leader that this node knows of, 0 without',
      one(status.leader?.token ?? 0),
    ),
    metric(
      'conclave_lease_remaining_seconds',
      'gauge',
      'how long this node surely leads; 0 when it does not',
      one(leads === 1 ? (status.leaseMs ?? 0) / 1000 : 0),
    ),
    metric('conclave_leaderships_total', 'counter', 'how often this node was elected', one(leaderships)),
    metric(
      'conclave_members_there',
      'gauge',
      'nodes of the group that are heard, this one too',
      one(status.nodes.filter(({ there }) => there).length),
    ),
    metric('conclave_alarm', 'gauge', '1 once a promise was seen broken', one(alarm ? 1 : 0)),
    metric(
      'conclave_datagrams_total',
      'counter',
      'datagrams; dropped are those of the received ones that were refused',
      datagrams,
    ),
    metric('leader_election_master_status', 'gauge', '1 while this node leads, as client-go has it', [
      { labels: { name: group }, value: leads },
    ]),
  ].join('')
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
