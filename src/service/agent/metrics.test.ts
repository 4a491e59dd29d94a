import { describe, expect, it } from 'vitest'
import type { GroupStatus, TimingStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { type GroupMetrics, METRICS, renderMetrics } from './metrics.ts'

const STATUS: GroupStatus = {
  role: 'leader',
  leader: { id: 'a', token: 12 },
  members: null,
  mode: 'majority',
  leaseMs: 250,
  voters: [['a', 'b', 'c']],
  nodes: [
    { id: 'a', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS },
    { id: 'b', reachable: false, evidenceMsAgo: null, heardMsAgo: null, ...NO_DETAILS },
    { id: 'c', reachable: true, evidenceMsAgo: 3, heardMsAgo: 3, ...NO_DETAILS },
  ],
  evidenceForMs: 100,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 5, received: 4, dropped: 1 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}

const measured = (status: Partial<GroupStatus> = {}, more: Partial<GroupMetrics> = {}): GroupMetrics => ({
  group: 'g',
  id: 'a',
  status: { ...STATUS, ...status },
  terms: 3,
  views: 0,
  warnings: 2,
  levelChanges: new Map(),
  alarm: false,
  failureTolerance: 1,
  ...more,
})

/** The values of a metric, by the labels as they are written. */
function valuesOf(name: string, ...all: readonly GroupMetrics[]): { [labels: string]: number } {
  const lines = renderMetrics(all).matchAll(new RegExp(`^${name}\\{(.*)\\} (.*)$`, 'gm'))
  return Object.fromEntries(Array.from(lines, ([, labels = '', value]) => [labels, Number(value)]))
}

const OWN = 'group="g",id="a"'

describe('a metric', () => {
  it.each<[string, Partial<GroupStatus>, number]>([
    ['conclave_leader', {}, 1],
    ['conclave_leader', { role: 'follower' }, 0],
    ['conclave_leader', { role: 'candidate' }, 0],
    ['conclave_has_leader', {}, 1],
    ['conclave_has_leader', { role: 'follower', leader: null }, 0],
    ['conclave_token', {}, 12],
    ['conclave_token', { leader: null }, 0],
    ['conclave_token', { leader: { id: 'a', token: null } }, 0],
    ['conclave_lease_remaining_seconds', {}, 0.25],
    ['conclave_lease_remaining_seconds', { leaseMs: null }, 0],
    // The lease of another node is not this node's.
    ['conclave_lease_remaining_seconds', { role: 'follower' }, 0],
    ['conclave_terms_total', {}, 3],
    ['conclave_nodes_reachable', {}, 2],
    ['conclave_nodes_reachable', { nodes: [] }, 0],
    ['conclave_ready', {}, 1],
    ['conclave_ready', { idle: 'closed' }, 0],
    ['conclave_ready', { idle: 'silent after a restart' }, 0],
    ['conclave_alarm', {}, 0],
    ['conclave_failures_tolerated', {}, 1],
    ['conclave_warnings_total', {}, 2],
  ])('%s with %j is %d', (name, status, value) => {
    expect(valuesOf(name, measured(status))).toEqual({ [OWN]: value })
  })

  it('counts datagrams by direction', () => {
    expect(valuesOf('conclave_datagrams_total', measured())).toEqual({
      [`${OWN},direction="sent"`]: 5,
      [`${OWN},direction="received"`]: 4,
      [`${OWN},direction="dropped"`]: 1,
    })
  })

  it('has the name of client-go for the leader, labelled by the group', () => {
    expect(
      valuesOf('leader_election_master_status', measured(), measured({ role: 'follower' }, { group: 'h' })),
    ).toEqual({ 'name="g"': 1, 'name="h"': 0 })
  })

  it('shows an alarm', () => {
    expect(valuesOf('conclave_alarm', measured({}, { alarm: true }))).toEqual({ [OWN]: 1 })
  })
})

describe('metrics of leases that tune themselves', () => {
  const timing: TimingStatus = {
    level: 9,
    levels: [4, 24],
    leaseMs: 61,
    renewalMs: 24,
    marginMs: 24,
    leaseMinMs: 20,
    leaseMaxMs: 2000,
    failoverMs: { typical: 58, worst: 131 },
    need: null,
    evidence: [],
    refusals: [],
  }
  const levelChanges = new Map([['late', 2]])

  it.each<[string, number]>([
    ['conclave_lease_level', 9],
    ['conclave_lease_seconds', 0.061],
    ['conclave_lease_min_seconds', 0.02],
    ['conclave_lease_max_seconds', 2],
    ['conclave_failover_expected_seconds', 0.058],
    ['conclave_failover_worst_seconds', 0.131],
  ])('%s is %d', (name, value) => {
    expect(valuesOf(name, measured({ timing }))).toEqual({ [OWN]: value })
    expect(valuesOf(name, measured())).toEqual({})
  })

  it('counts changes by their cause, and has no failover where no node can follow', () => {
    const changes = valuesOf('conclave_lease_changes_total', measured({ timing }, { levelChanges }))
    expect(changes[`${OWN},cause="late"`]).toBe(2)
    expect(changes[`${OWN},cause="quiet"`]).toBe(0)
    expect(valuesOf('conclave_lease_changes_total', measured({}, { levelChanges }))).toEqual({})
    const alone = measured({ timing: { ...timing, failoverMs: null } })
    expect(valuesOf('conclave_failover_worst_seconds', alone)).toEqual({})
  })
})

describe('metrics about time', () => {
  const seen = {
    windowMs: 60_000,
    latenessMs: { p50: 1, p99: 20, max: 31 },
    sigmaMs: 30,
    delayMs: { p50: 0.5, p99: 2, max: 4 },
    deltaMs: 10,
    renewalMarginMs: { min: 40, p50: 60 },
  }

  it('have one sample per quantile, in seconds', () => {
    const all = measured({ measured: seen })
    expect(valuesOf('conclave_scheduling_lateness_seconds', all)).toEqual({
      [`${OWN},quantile="0.5"`]: 0.001,
      [`${OWN},quantile="0.99"`]: 0.02,
      [`${OWN},quantile="1"`]: 0.031,
    })
    expect(valuesOf('conclave_message_delay_seconds', all)[`${OWN},quantile="0.99"`]).toBe(0.002)
    expect(valuesOf('conclave_renewal_margin_seconds', all)).toEqual({
      [`${OWN},quantile="0"`]: 0.04,
      [`${OWN},quantile="0.5"`]: 0.06,
    })
  })

  it('come with the limits that the protocol assumes', () => {
    const all = measured({ measured: seen })
    expect(valuesOf('conclave_sigma_seconds', all)).toEqual({ [OWN]: 0.03 })
    expect(valuesOf('conclave_delta_seconds', all)).toEqual({ [OWN]: 0.01 })
  })

  it('show the round trip to each peer that answered', () => {
    const nodes = STATUS.nodes.map((node) => ({ ...node, rttMs: node.id === 'b' ? null : 4 }))
    expect(valuesOf('conclave_round_trip_seconds', measured({ nodes }))).toEqual({
      [`${OWN},peer="c"`]: 0.004,
    })
  })

  it('are left out while nothing was measured', () => {
    const text = renderMetrics([measured()])
    expect(text).not.toMatch(/lateness|delay|margin|round_trip|sigma|delta/)
  })
})

describe('metrics about views', () => {
  const membership: NonNullable<GroupStatus['membership']> = {
    view: { id: [4, 'a'], members: ['a', 'b'], incarnations: [1, 1] },
    incarnation: 1,
    inQuorum: true,
    failureTolerance: 0,
    waitingFor: null,
  }

  it.each<[string, Partial<typeof membership>, number]>([
    ['conclave_view_number', {}, 4],
    ['conclave_view_number', { view: null }, 0],
    ['conclave_view_members', {}, 2],
    ['conclave_view_members', { view: null }, 0],
    ['conclave_in_quorum', {}, 1],
    ['conclave_in_quorum', { inQuorum: false }, 0],
    ['conclave_views_total', {}, 9],
  ])('%s with %j is %d', (name, change, value) => {
    const status = { membership: { ...membership, ...change } }
    expect(valuesOf(name, measured(status, { views: 9 }))).toEqual({ [OWN]: value })
  })

  it('are left out for groups whose protocol has none', () => {
    const both = renderMetrics([measured(), measured({ membership }, { group: 'h' })])
    expect(both.match(/^conclave_view_number.*$/gm)).toEqual(['conclave_view_number{group="h",id="a"} 4'])
    expect(renderMetrics([measured()])).not.toContain('conclave_view')
  })
})

describe('the text', () => {
  it.each([
    ['back\\slash', 'back\\\\slash'],
    ['"quoted"', '\\"quoted\\"'],
    ['two\nlines', 'two\\nlines'],
    ['ünï', 'ünï'],
  ])('escapes the label %j', (group, escaped) => {
    expect(renderMetrics([measured({}, { group })])).toContain(
      `conclave_leader{group="${escaped}",id="a"} 1\n`,
    )
  })

  it('names each metric once, with help and type before its samples', () => {
    const text = renderMetrics([measured(), measured({}, { group: 'h' })])
    const [help, type, first, second] = text.split('\n')
    expect([help, type, first, second]).toEqual([
      '# HELP conclave_leader 1 if this node is the leader',
      '# TYPE conclave_leader gauge',
      'conclave_leader{group="g",id="a"} 1',
      'conclave_leader{group="h",id="a"} 1',
    ])
    expect(text.endsWith('\n')).toBe(true)
  })

  it('is empty without groups', () => {
    expect(renderMetrics([])).toBe('')
  })

  it('follows the conventions of Prometheus: counters, and only they, end in _total', () => {
    for (const { name, type } of METRICS)
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter'])
    expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length)
  })
})
