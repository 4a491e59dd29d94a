/** The Prometheus rules and the Grafana dashboard, checked by promtool. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { METRICS } from '../../src/service/agent/metrics.ts'
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
