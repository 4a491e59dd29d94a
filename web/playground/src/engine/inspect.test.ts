import { describe, expect, it } from 'vitest'
import type { NodeId, Plain } from '../../../../src/core/index.ts'
import { catalogue, protocols } from '../../../../src/protocols/index.ts'
import { parseScenario, runScenario } from '../../../../src/workbench/sim/index.ts'
import { drawnFile, recordedRun } from './fixture.ts'
import { changedPaths, Inspector } from './inspect.ts'

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  'the inspector of a run of %s',
  (_, definition) => {
    it('shows the states that the world had', () => {
      const file = drawnFile(definition, 3)
      const inspector = new Inspector(recordedRun(file))
      const now = new Map<NodeId, { readonly state: Plain; readonly stable: Plain }>()
      const expected: (readonly [number, NodeId, Plain, Plain])[] = []
      let moment = -1
      runScenario(definition, parseScenario(file, catalogue), {
        record(_record, states) {
          moment += 1
          for (const { node, state, stable } of states) now.set(node, { state, stable })
          for (const [node, { state, stable }] of now) expected.push([moment, node, state, stable])
        },
      })
      for (const [at, node, state, stable] of expected.filter((_each, index) => index % 29 === 0)) {
        const shown = inspector.inspect(at, node)
        expect(shown.state, `state of ${node} after ${at}`).toEqual(state)
        expect(shown.stable, `stable data of ${node} after ${at}`).toEqual(stable)
      }
    })
  },
)

describe('an inspection', () => {
  const run = recordedRun({
    protocol: 'bully',
    nodes: [1, 2, 3],
    untilMs: 2000,
    events: [
      { atMs: 500, crash: 3 },
      { atMs: 1500, recover: 3 },
    ],
  })
  const inspector = new Inspector(run)
  const momentAt = (at: number): number => run.records.findLastIndex((record) => record.at <= at)

  it('says what the last step received and did, and what it changed', () => {
    const moment = run.records.findIndex(
      (record) => record.type === 'step' && record.input.type === 'message' && record.view !== null,
    )
    const record = run.records[moment]
    const node = record !== undefined && 'node' in record ? record.node : 0
    const shown = inspector.inspect(moment, node)
    expect(shown.input).toMatch(/^receives \w+.* from \d$/)
    expect(shown.changed.length).toBeGreaterThan(0)
    expect(shown.at).toBe(record?.at)
  })

  it('has no state while the node is down', () => {
    expect(inspector.inspect(momentAt(1_000_000), 3)).toMatchObject({ state: null, input: 'crashes' })
    expect(inspector.inspect(momentAt(1_900_000), 3).state).not.toBeNull()
  })

  it('has nothing before the node has started', () => {
    expect(inspector.inspect(-1, 3)).toMatchObject({ state: null, input: null, effects: [] })
  })
})

describe('changedPaths', () => {
  it('names the fields that differ, at any depth', () => {
    const before = { a: 1, b: { c: [1, 2], d: null }, e: 'x' }
    expect(changedPaths(before, { a: 1, b: { c: [1, 3], d: {} }, f: 'x' })).toEqual([
      'b.c.1',
      'b.d',
      'e',
      'f',
    ])
    expect(changedPaths(before, before)).toEqual([])
  })

  it('names nothing when a node starts or crashes', () => {
    expect(changedPaths(null, { a: 1 })).toEqual([])
  })
})
