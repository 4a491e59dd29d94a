/** The Prometheus rules and the Grafana dashboard, checked by promtool. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type GroupMetrics, METRICS, renderMetrics } from '../../src/service/agent/metrics.ts'
import { NO_DETAILS } from '../../src/service/runtime/index.ts'
import { documents, ROOT } from '../support/documents.ts'
import { describeWithTool } from '../support/servers.ts'

const RULES = join(ROOT, 'deploy/prometheus/rules.yaml')
const CASES = join(ROOT, 'deploy/prometheus/rules.test.yaml')
const DASHBOARD = join(ROOT, 'deploy/grafana/dashboard.json')

const folder = mkdtempSync(join(tmpdir(), 'conclave-rules-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Rule = { readonly alert: string; expr: string }
type Rules = { readonly groups: readonly [{ readonly rules: readonly Rule[] }] }
type Panel = {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}

const readRules = (): readonly Rule[] => (parse(readFileSync(RULES, 'utf8')) as Rules).groups[0].rules
const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { readonly panels: readonly Panel[] }
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const namesIn = (expr: string): readonly string[] =>
  expr.match(/\b(?:conclave|leader_election)_[a-z_]+/g) ?? []

/** A node that has something to report under every metric. */
const FULL: GroupMetrics = {
  group: 'g',
  id: 'a',
  terms: 3,
  views: 2,
  warnings: 1,
  levelChanges: new Map(),
  alarm: false,
  failureTolerance: 1,
  status: {
    role: 'leader',
    leader: { id: 'a', token: 12 },
    members: ['a', 'b'],
    mode: 'majority',
    leaseMs: 250,
    voters: [['a', 'b']],
    nodes: [
      { id: 'a', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS },
      { id: 'b', reachable: true, evidenceMsAgo: 3, heardMsAgo: 3, ...NO_DETAILS, rttMs: 1.5 },
    ],
    evidenceForMs: 100,
    idle: null,
    membership: {
      view: { id: [4, 'a'], members: ['a', 'b'], incarnations: [1, 1] },
      incarnation: 1,
      inQuorum: true,
      failureTolerance: 0,
      waitingFor: null,
    },
    primary: null,
    datagrams: { sent: 5, received: 4, dropped: 1 },
    measured: {
      windowMs: 60_000,
      latenessMs: { p50: 1, p99: 20, max: 31 },
      sigmaMs: 30,
      delayMs: { p50: 0.5, p99: 2, max: 4 },
      deltaMs: 10,
      renewalMarginMs: { min: 40, p50: 60 },
    },
    timing: {
      level: 9,
      levels: [9, 28],
      leaseMs: 61,
      renewalMs: 24,
      marginMs: 24,
      leaseMinMs: 60,
      leaseMaxMs: 5000,
      failoverMs: { typical: 58, worst: 113 },
      need: null,
      evidence: [],
      refusals: [],
    },
    warnings: [],
  },
}

describe('the rules', () => {
  it('use existing metrics only', () => {
    const known = METRICS.map(({ name }) => name)
    const used = readRules().flatMap(({ expr }) => namesIn(expr))
    expect(used.length).toBeGreaterThan(10)
    expect(used.filter((name) => !known.includes(name))).toEqual([])
  })

  it('are all explained in the documentation', () => {
    const page = documents.find(({ file }) => file === 'docs/how-to/monitor.md')?.text ?? ''
    expect(readRules().filter(({ alert }) => !page.includes(`\`${alert}\``))).toEqual([])
  })
})

describe('the dashboard', () => {
  it('equals what its script generates', () => {
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'scripts/dashboard.mjs'), '--print'])
    expect(stdout.toString()).toBe(readFileSync(DASHBOARD, 'utf8'))
  })

  it('shows every metric, and no other', () => {
    const shown = new Set(queries.flatMap(namesIn))
    expect([...shown].toSorted()).toEqual(METRICS.map(({ name }) => name).toSorted())
  })

  it('has panels that do not overlap', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
  })
})

await describeWithTool('promtool', 'promtool', (promtool) => {
  const run = (...words: readonly string[]): { readonly status: number | null; readonly said: string } => {
    const { status, stdout, stderr } = spawnSync(promtool, words, { encoding: 'utf8' })
    return { status, said: `${stdout}${stderr}` }
  }

  it('has no objection to the metrics', () => {
    const text = renderMetrics([FULL])
    expect(text.match(/^# TYPE /gm)).toHaveLength(METRICS.length)
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    expect([status, `${stdout}${stderr}`]).toEqual([0, ''])
  })

  it('accepts the rules', () => {
    const { status, said } = run('check', 'rules', '--lint=all', '--lint-fatal', RULES)
    expect([status, said]).toEqual([0, expect.stringContaining(`${readRules().length} rules found`)])
  })

  it('finds that each alert fires in its case, and not before', () => {
    expect(run('test', 'rules', CASES)).toMatchObject({ status: 0 })
  })

  it('would notice each alert that never fires', () => {
    copyFileSync(CASES, join(folder, 'cases.yaml'))
    const rules = parse(readFileSync(RULES, 'utf8')) as Rules
    for (const rule of rules.groups[0].rules) rule.expr = 'vector(0) > 1'
    writeFileSync(join(folder, 'rules.yaml'), JSON.stringify(rules))
    const { status, said } = run('test', 'rules', join(folder, 'cases.yaml'))
    expect(status).toBe(1)
    expect(readRules().filter(({ alert }) => !said.includes(`alertname: ${alert},`))).toEqual([])
  })

  it('parses every query of the dashboard', () => {
    const rules = queries.map((query, index) => ({
      record: `query_${index}`,
      expr: query.replaceAll('$group', '.+').replaceAll('$__rate_interval', '5m'),
    }))
    expect(rules.length).toBeGreaterThan(15)
    const write = (list: readonly object[]): string => {
      const file = join(folder, 'queries.yaml')
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: list }] }))
      return file
    }
    expect(run('check', 'rules', write(rules))).toMatchObject({ status: 0 })
    // And it refuses what is not a query.
    expect(run('check', 'rules', write([{ record: 'x', expr: 'max by (' }]))).toMatchObject({ status: 1 })
  })
})
