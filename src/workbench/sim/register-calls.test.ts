import { describe, expect, it } from 'vitest'
import { probeDefinition } from '../../../test/support/probe.ts'
import type { RegisterCall } from '../../core/index.ts'
import { parseScenario } from '../scenario/index.ts'
import { Random } from '../scenario/random.ts'
import { makeNodes } from './make-nodes.ts'
import { RegisterCalls } from './register-calls.ts'
import type { CallTiming, Store } from './store.ts'
import type { Pending, SimNode } from './world-node.ts'

const READ = { op: 'read', of: 2 } as RegisterCall
const WRITE = { op: 'write', value: { n: 1 } } as unknown as RegisterCall
const PROMPT: CallTiming = { at: 10, repliesAt: 20, inTime: true }
const LATE: CallTiming = { at: 90, repliesAt: 50, inTime: false }

function setUp(timing: CallTiming) {
  const lookup = { names: ['probe'], find: () => probeDefinition }
  const scenario = parseScenario({ protocol: 'probe', nodes: [1, 2], untilMs: 1 }, lookup)
  const node = makeNodes(probeDefinition, scenario, new Random(1), false)[0] as SimNode
  node.up = true
  const carriedOut: RegisterCall[] = []
  const store = {
    expected: () => 4,
    drawTiming: () => timing,
    carryOut(call: RegisterCall) {
      carriedOut.push(call)
      return { outcome: 'ok', value: { n: 7 }, version: 5 }
    },
  } as unknown as Store
  const queue: { readonly time: number; readonly pending: Pending }[] = []
  const calls = new RegisterCalls(store, (time, pending) => queue.push({ time, pending }))
  const operation = (): Pending & { type: 'operation' } => {
    const found = queue.find(({ pending }) => pending.type === 'operation')?.pending
    if (found?.type !== 'operation') throw new Error('no operation is queued')
    return found
  }
  const replies = () =>
    queue.flatMap(({ time, pending }) => (pending.type === 'reply' ? [{ time, ...pending.input }] : []))
  return { node, calls, queue, carriedOut, operation, replies }
}

describe('a call', () => {
  it('takes place later, and its caller then receives the result', () => {
    const { node, calls, queue, operation, replies } = setUp(PROMPT)
    calls.call(node, READ, 1, 0)
    expect(queue.map(({ time, pending }) => [time, pending.type])).toEqual([[10, 'operation']])
    calls.operate(operation())
    expect(replies()).toEqual([{ time: 20, type: 'register', call: READ, outcome: 'ok', value: { n: 7 } }])
  })

  it('expects a version only if it writes', () => {
    for (const [call, expected] of [
      [READ, 0],
      [WRITE, 4],
    ] as const) {
      const { node, calls, operation } = setUp(PROMPT)
      calls.call(node, call, 0, 0)
      expect(operation().expected).toBe(expected)
    }
  })

  it('that takes too long has an unknown outcome, though it takes place', () => {
    const { node, calls, carriedOut, operation, replies } = setUp(LATE)
    calls.call(node, WRITE, 0, 0)
    expect(replies()).toEqual([{ time: 50, type: 'register', call: WRITE, outcome: 'unknown', value: null }])
    calls.operate(operation())
    expect(carriedOut).toEqual([WRITE])
    expect(replies()).toHaveLength(1)
  })

  it.each<[string, (node: SimNode) => void]>([
    ['is down', (node) => void (node.up = false)],
    ['has restarted since', (node) => void (node.life += 1)],
  ])('takes place even if its caller %s, but the result goes nowhere', (_what, change) => {
    const { node, calls, carriedOut, operation, replies } = setUp(PROMPT)
    calls.call(node, WRITE, 0, 0)
    change(node)
    calls.operate(operation())
    expect([carriedOut, replies()]).toEqual([[WRITE], []])
  })
})
