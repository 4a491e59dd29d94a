/** A model of the explorer that is a plain graph, for tests of the search itself. */
import type { Action, ActionKind, Batch } from '../../src/workbench/explore/batch.ts'
import { TICK, TIMER } from '../../src/workbench/explore/batch.ts'
import { sumOf } from '../../src/workbench/explore/hash.ts'
import type { Violation } from '../../src/workbench/explore/judge.ts'
import type { Model } from '../../src/workbench/explore/model.ts'

export type Graph = {
  /** The successors of each state; state 0 is the first. */
  readonly edges: { readonly [state: number]: readonly number[] }
  /** Edges that are faults, as `from>to`. */
  readonly faults?: readonly string[]
  /** States that violate a specification. */
  readonly bad?: readonly number[]
  /** Edges, as `from>to`, whose step violates a specification. */
  readonly badSteps?: readonly string[]
  /** States that the specifications accept as settled. */
  readonly settled?: readonly number[]
  readonly beginsBadly?: boolean
}

export const violationOf = (why: string): Violation => ({ spec: 'graph', why, all: [{ spec: 'graph', why }] })

/** The states in the order in which they were expanded. */
export type GraphModel = Model & { readonly expanded: readonly number[] }

export function graphModel(graph: Graph): GraphModel {
  const { edges, faults = [], bad = [], badSteps = [], settled = [], beginsBadly = false } = graph
  const expanded: number[] = []
  const successors = (state: number): readonly number[] => edges[state] ?? []
  const model = {
    expanded,
    columns: 1,
    usesSleepSets: false,
    largest: 0xffff,
    memoryAt: 0,
    bytes: 0,
    begin: () => ({ row: Int32Array.from([0]), violation: beginsBadly ? violationOf('at the start') : null }),
    expand(row: Int32Array, into: Batch): void {
      const state = row[0] as number
      expanded.push(state)
      for (const [choice, to] of successors(state).entries()) {
        const edge = `${state}>${to}`
        const kind: ActionKind = faults.includes(edge) ? TICK : TIMER
        if (badSteps.includes(edge)) into.addViolation(violationOf(`by ${edge}`), kind, 0, choice, 0)
        else {
          into.rows[into.beginSuccessor(row)] = to
          into.addSuccessor(sumOf(Int32Array.from([to]), 0, 1), kind, 0, choice, 0)
        }
      }
    },
    stateViolation: (row: Int32Array) =>
      bad.includes(row[0] as number) ? violationOf(`in ${row[0]}`) : null,
    settledViolation: (row: Int32Array) =>
      settled.includes(row[0] as number) ? null : violationOf(`${row[0]} is not settled`),
    isBusy: (row: Int32Array) => successors(row[0] as number).length > 0,
    describe: (row: Int32Array, { choice }: Action) => ({
      node: row[0] as number,
      do: 'timer',
      name: `to ${successors(row[0] as number)[choice]}`,
    }),
  }
  // Only these members are used by the search.
  return model as unknown as GraphModel
}

/** The states that steps lead to. */
export function statesAlong(steps: readonly { readonly do: string }[]): readonly number[] {
  return steps.map((step) => Number((step as unknown as { name: string }).name.slice('to '.length)))
}
