import { expect, it } from 'vitest'
import { diffTraces } from './diff.ts'
import type { Trace } from './ndjson.ts'
import type { TraceRecord } from './records.ts'

const header: Trace['header'] = { trace: 1, protocol: 'bully', nodes: [1, 2], options: {}, seed: 1 }
const event = (at: number, node: number): TraceRecord => ({ type: 'world', at, event: { crash: node } })
const trace = (...records: readonly TraceRecord[]): Trace => ({ header, records })

it('finds no difference between equal traces with another order of fields', () => {
  const reordered: TraceRecord = { event: { crash: 1 }, at: 5, type: 'world' }
  expect(diffTraces(trace(event(5, 1)), trace(reordered))).toBeNull()
})

it('counts the header as line 1', () => {
  const other = { header: { ...header, seed: 2 }, records: [event(5, 1)] }
  expect(diffTraces(trace(event(5, 1)), other)).toEqual({ line: 1, left: header, right: other.header })
})

it('finds the first of several differences', () => {
  const left = trace(event(1, 1), event(2, 1), event(3, 1))
  const right = trace(event(1, 1), event(2, 2), event(3, 2))
  expect(diffTraces(left, right)).toEqual({ line: 3, left: event(2, 1), right: event(2, 2) })
})

it('reports a line that one trace lacks as null', () => {
  const longer = trace(event(1, 1), event(2, 1))
  expect(diffTraces(longer, trace(event(1, 1)))).toEqual({ line: 3, left: event(2, 1), right: null })
  expect(diffTraces(trace(event(1, 1)), longer)).toEqual({ line: 3, left: null, right: event(2, 1) })
})
