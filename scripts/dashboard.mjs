/**
 * Writes deploy/grafana/dashboard.json, the Grafana dashboard, from the list of metrics.
 *
 *   npm run docs:dashboard
 *   npm run docs:dashboard -- --print     to standard output
 *
 * Every metric has a panel: a metric without an entry below gets one in the section "More".
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { METRICS } from '../dist/service/agent/metrics.js'

const FILE = fileURLToPath(new URL('../deploy/grafana/dashboard.json', import.meta.url))
const SOURCE = { type: 'prometheus', uid: '${source}' }
const MINE = 'group=~"$group"'
const COLUMNS = 24

const stat = (title, expr, more = {}) => ({
  kind: 'stat',
  title,
  targets: [{ expr }],
  width: 4,
  height: 4,
  ...more,
})
const chart = (title, targets, more = {}) => ({
  kind: 'timeseries',
  title,
  targets: targets.map(([expr, legend]) => ({ expr, legend })),
  width: 12,
  height: 8,
  ...more,
})

/** Values, each with a word and a colour, so that no meaning depends on the colour alone. */
const words = (...pairs) => pairs.map(([value, text, color]) => ({ value, text, color }))
const NO_YES = words([0, 'no', 'red'], [1, 'yes', 'green'])

const SECTIONS = [
  {
    title: 'Now',
    panels: [
      stat('Has a leader', `max by (group) (conclave_has_leader{${MINE}})`, { words: NO_YES }),
      stat('Leader', `max by (group, id) (conclave_leader{${MINE}}) == 1`, {
        shows: 'name',
        legend: '{{id}}',
      }),
      stat('Token', `max by (group) (conclave_token{${MINE}})`),
      stat('Further failures tolerated', `max by (group) (conclave_failures_tolerated{${MINE}})`, {
        steps: [
          [null, 'red'],
          [1, 'green'],
        ],
      }),
      stat('Safety alarm', `max by (group) (conclave_alarm{${MINE}})`, {
        words: words([0, 'none', 'green'], [1, 'ALARM', 'red']),
      }),
      stat('Nodes that are ready', `sum by (group) (conclave_ready{${MINE}})`),
    ],
  },
  {
    title: 'Leadership',
    panels: [
      {
        kind: 'state-timeline',
        title: 'Leader over time',
        targets: [{ expr: `max by (id) (conclave_leader{${MINE}})`, legend: '{{id}}' }],
        words: words([0, 'follows', 'gray'], [1, 'leads', 'green']),
        width: 24,
        height: 7,
      },
      chart('Terms per minute', [
        [`sum by (id) (rate(conclave_terms_total{${MINE}}[$__rate_interval])) * 60`, '{{id}}'],
      ]),
      chart(
        'Lease remaining on the leader',
        [[`max by (id) (conclave_lease_remaining_seconds{${MINE}}) > 0`, '{{id}}']],
        { unit: 's' },
      ),
      chart(
        'Left of the lease at renewal',
        [
          [`min by (id) (conclave_renewal_margin_seconds{${MINE}, quantile="0"})`, '{{id}} least'],
          [`min by (id) (conclave_renewal_margin_seconds{${MINE}, quantile="0.5"})`, '{{id}} median'],
        ],
        { unit: 's' },
      ),
      chart('Leader by the name of client-go', [
        ['max by (name) (leader_election_master_status{name=~"$group"})', '{{name}}'],
      ]),
    ],
  },
  {
    title: 'Timing against the assumptions',
    panels: [
      chart(
        'Scheduling lateness and σ',
        [
          [`max by (id) (conclave_scheduling_lateness_seconds{${MINE}, quantile="0.99"})`, '{{id}} p99'],
          [`max(conclave_sigma_seconds{${MINE}})`, 'σ'],
        ],
        { unit: 's' },
      ),
      chart(
        'Message delay and δ',
        [
          [`max by (id) (conclave_message_delay_seconds{${MINE}, quantile="0.99"})`, '{{id}} p99'],
          [`max(conclave_delta_seconds{${MINE}})`, 'δ'],
        ],
        { unit: 's' },
      ),
      chart(
        'Round trips',
        [[`max by (id, peer) (conclave_round_trip_seconds{${MINE}})`, '{{id}} to {{peer}}']],
        {
          unit: 's',
        },
      ),
      chart('Warnings per minute', [
        [`sum by (id) (rate(conclave_warnings_total{${MINE}}[$__rate_interval])) * 60`, '{{id}}'],
      ]),
    ],
  },
  {
    title: 'Leases that tune themselves',
    panels: [
      chart(
        'Length of leases, and its bounds',
        [
          [`max by (id) (conclave_lease_seconds{${MINE}})`, '{{id}}'],
          [`max(conclave_lease_min_seconds{${MINE}})`, 'leaseMinMs'],
          [`min(conclave_lease_max_seconds{${MINE}})`, 'leaseMaxMs'],
        ],
        { unit: 's' },
      ),
      chart(
        'Failover at this length',
        [
          [`max(conclave_failover_expected_seconds{${MINE}})`, 'expected'],
          [`max(conclave_failover_worst_seconds{${MINE}})`, 'at most'],
        ],
        { unit: 's' },
      ),
      chart('Level', [[`max by (id) (conclave_lease_level{${MINE}})`, '{{id}}']]),
      chart('Changes per minute, by cause', [
        [`sum by (cause) (rate(conclave_lease_changes_total{${MINE}}[$__rate_interval])) * 60`, '{{cause}}'],
      ]),
    ],
  },
  {
    title: 'Network',
    panels: [
      chart('Reachable nodes, as each node sees it', [
        [`max by (id) (conclave_nodes_reachable{${MINE}})`, '{{id}}'],
      ]),
      chart('Datagrams per second', [
        [
          `sum by (id, direction) (rate(conclave_datagrams_total{${MINE}}[$__rate_interval]))`,
          '{{id}} {{direction}}',
        ],
      ]),
    ],
  },
  {
    title: 'Views (protocols with views)',
    panels: [
      chart('View', [[`max by (id) (conclave_view_number{${MINE}})`, '{{id}}']]),
      chart('Members of the view', [[`max by (id) (conclave_view_members{${MINE}})`, '{{id}}']]),
      chart('In a quorum', [[`max by (id) (conclave_in_quorum{${MINE}})`, '{{id}}']]),
      chart('Views per minute', [
        [`sum by (id) (rate(conclave_views_total{${MINE}}[$__rate_interval])) * 60`, '{{id}}'],
      ]),
    ],
  },
]

const nameIn = (expr) => METRICS.filter(({ name }) => expr.includes(`${name}{`))
const shown = new Set(
  SECTIONS.flatMap(({ panels }) =>
    panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => nameIn(expr))),
  ),
)

/** A panel for a metric without a place of its own. */
function plainChart({ name, type }) {
  const title = name.replace(/^conclave_/, '').replaceAll('_', ' ')
  const expr =
    type === 'counter'
      ? `sum by (id) (rate(${name}{${MINE}}[$__rate_interval]))`
      : `max by (id) (${name}{${MINE}})`
  return chart(title, [[expr, '{{id}}']], name.endsWith('_seconds') ? { unit: 's' } : {})
}

function sections() {
  const rest = METRICS.filter((metric) => !shown.has(metric))
  return rest.length === 0 ? SECTIONS : [...SECTIONS, { title: 'More', panels: rest.map(plainChart) }]
}

function toMappings(pairs = []) {
  const options = Object.fromEntries(
    pairs.map(({ value, text, color }, index) => [value, { text, color, index }]),
  )
  return pairs.length === 0 ? [] : [{ type: 'value', options }]
}

function toPanel(panel, id, gridPos) {
  const help = [...new Set(panel.targets.flatMap(({ expr }) => nameIn(expr)))].map(({ help: text }) => text)
  const steps = panel.steps ?? [[null, 'text']]
  return {
    id,
    type: panel.kind,
    title: panel.title,
    description: help.join('; '),
    datasource: SOURCE,
    gridPos,
    targets: panel.targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend ?? panel.legend ?? '{{group}}',
      ...(panel.kind === 'stat' ? { instant: true } : {}),
    })),
    fieldConfig: {
      defaults: {
        unit: panel.unit ?? 'short',
        mappings: toMappings(panel.words),
        ...(panel.kind === 'stat'
          ? { thresholds: { mode: 'absolute', steps: steps.map(([value, color]) => ({ value, color })) } }
          : {}),
        ...(panel.kind === 'timeseries' ? { min: 0 } : {}),
      },
      overrides: [],
    },
    options: panel.kind === 'stat' ? { textMode: panel.shows ?? 'value_and_name', graphMode: 'none' } : {},
  }
}

/** Places panels from left to right, one row of sections after the other. */
function layOut() {
  const placed = []
  let y = 0
  const next = () => placed.length + 1
  for (const { title, panels } of sections()) {
    placed.push({
      id: next(),
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    })
    y += 1
    let x = 0
    let lineHeight = 0
    for (const panel of panels) {
      if (x + panel.width > COLUMNS) {
        x = 0
        y += lineHeight
        lineHeight = 0
      }
      placed.push(toPanel(panel, next(), { x, y, w: panel.width, h: panel.height }))
      x += panel.width
      lineHeight = Math.max(lineHeight, panel.height)
    }
    y += lineHeight
  }
  return placed
}

const variable = (name, label, more) => ({ name, label, hide: 0, ...more })

export const dashboard = {
  uid: 'conclave',
  title: 'Conclave',
  description: 'Generated by scripts/dashboard.mjs from the list of metrics',
  tags: ['conclave'],
  schemaVersion: 38,
  editable: true,
  refresh: '10s',
  time: { from: 'now-1h', to: 'now' },
  templating: {
    list: [
      variable('source', 'Data source', { type: 'datasource', query: 'prometheus' }),
      variable('group', 'Group', {
        type: 'query',
        datasource: SOURCE,
        query: { query: 'label_values(conclave_ready, group)', refId: 'group' },
        refresh: 2,
        sort: 1,
        multi: true,
        includeAll: true,
        allValue: '.+',
        current: { text: 'All', value: '$__all' },
      }),
    ],
  },
  annotations: { list: [] },
  panels: layOut(),
}

const text = `${JSON.stringify(dashboard, null, 2)}\n`
if (process.argv.includes('--print')) process.stdout.write(text)
else writeFileSync(FILE, text)
