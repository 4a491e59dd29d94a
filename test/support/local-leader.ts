/**
 * Simulated groups of local-leader, checked against all their promises, and helpers to read their reports.
 */
import { expect } from 'vitest'
import type { NodeId, Plain, PlainObject } from '../../src/core/index.ts'
import type { Report, Snapshot } from '../../src/workbench/sim/index.ts'
import { simulate } from './run.ts'

export const LOCAL = { mode: 'local' }
export const MAJORITY = { mode: 'majority' }

export type Pairs = readonly (readonly [NodeId, NodeId])[]

/** Runs a scenario, strictly by default, and checks all promises. */
export function run(file: PlainObject, strict = true): Report {
  const report = simulate(
    {
      protocol: 'local-leader',
      network: { delayMs: [0.1, 2] },
      clocks: { driftPpm: 50 },
      untilMs: 3000,
      ...file,
    },
    { strict },
  )
  expect(report.specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
  return report
}

/** The violated specifications and why. */
export const violations = ({ specs }: Report): readonly Plain[] =>
  specs.filter(({ verdict }) => verdict === 'violated').map((spec) => ({ ...spec }))

/** The violations of a local-leader scenario. */
export const broken = (scenario: PlainObject): readonly Plain[] =>
  violations(simulate({ protocol: 'local-leader', ...scenario }, { strict: false }))

/** The leaders, and each node's leader, in node order. */
export function leadersOf({ leaders, nodes }: Snapshot): readonly Plain[] {
  return [leaders, Object.values(nodes).map(({ leader }) => leader)]
}

export function at(report: Report, ms: number): Snapshot {
  const snapshot = report.checkpoints[String(ms)]
  if (snapshot === undefined) throw new Error(`no checkpoint ${ms}`)
  return snapshot
}

export const field = (snapshot: Snapshot, node: NodeId, name: string): Plain | undefined =>
  snapshot.nodes[String(node)]?.[name]

export const votersAt = (snapshot: Snapshot, node: NodeId): Plain | undefined =>
  (field(snapshot, node, 'config') as { readonly sets?: Plain } | undefined)?.sets

export const histories = ({ leaderships }: Report): readonly (readonly [NodeId, string, string | null])[] =>
  leaderships.map(({ node, cause, ended }) => [node, cause, ended])

export const leadersIn = ({ leaderships }: Report): readonly NodeId[] => leaderships.map(({ node }) => node)

export const every = (stepMs: number, fromMs: number, toMs: number): readonly number[] =>
  Array.from({ length: Math.floor((toMs - fromMs) / stepMs) + 1 }, (_, index) => fromMs + index * stepMs)
