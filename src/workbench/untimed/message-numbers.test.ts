import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { PlainObject } from '../../core/index.ts'
import { parseScenario } from '../scenario/index.ts'
import { runScenario } from '../sim/index.ts'
import type { TraceRecord } from '../trace/index.ts'

const lookup = { names: ['probe'], find: () => probeDefinition }

function record(schedule: readonly PlainObject[], fifo: boolean): readonly TraceRecord[] {
  const file = { protocol: 'probe', nodes: [1, 2], network: { fifo }, schedule }
  const records: TraceRecord[] = []
  runScenario(probeDefinition, parseScenario(file, lookup), { record: (each) => records.push(each) })
  return records
}

function notes(...texts: readonly string[]): PlainObject {
  const effects = texts.map((text) => ({ type: 'send', to: 2, body: { kind: 'note', text } }))
  return { node: 1, do: 'command', command: { do: 'act', effects } }
}

const deliver = (nth?: number): PlainObject => ({
  node: 2,
  do: 'deliver',
  from: 1,
  ...(nth === undefined ? {} : { nth }),
})

function arrived(records: readonly TraceRecord[]): readonly unknown[] {
  return records.flatMap((each) =>
    each.type === 'step' && each.input.type === 'message' ? [[each.message, each.input.body['text']]] : [],
  )
}

describe('messages in the trace of a schedule', () => {
  it('are numbered in the order of sending, and arrive so on links that keep order', () => {
    const records = record([notes('b', 'a'), deliver(), deliver()], true)
    expect(records.flatMap((each) => (each.type === 'step' ? each.sent : []))).toEqual([0, 1])
    expect(arrived(records)).toEqual([
      [0, 'b'],
      [1, 'a'],
    ])
  })

  it('are distinguished by their texts on unordered links; of equal ones the oldest arrives', () => {
    const steps = [notes('c', 'a', 'b'), deliver(1), notes('a'), deliver(), deliver(), deliver()]
    expect(arrived(record(steps, false))).toEqual([
      [2, 'b'],
      [1, 'a'],
      [3, 'a'],
      [0, 'c'],
    ])
  })

  it('are lost on a link that is cut and at a node that is down', () => {
    const lost = record(
      [
        { node: 1, do: 'cut', peer: 2 },
        notes('a'),
        { node: 1, do: 'heal', peer: 2 },
        notes('b'),
        { node: 2, do: 'crash' },
        deliver(),
      ],
      true,
    ).filter(({ type }) => type === 'lost')
    expect(lost).toEqual([
      { type: 'lost', at: 2000, message: 0, why: 'cut' },
      { type: 'lost', at: 6000, message: 1, why: 'down' },
    ])
  })
})
