import { describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { Input } from '../../core/index.ts'
import { createRegisterCalls } from './calls.ts'
import { type Memory, openMemory } from './memory.ts'
import { openRegisters, type Registers } from './registers.ts'
import type { CellStore } from './store.ts'

const OPTIONS = { timeoutMs: 200, probeMs: 20 }

async function node(memory: Memory, self: string, around = (store: CellStore): CellStore => store) {
  const registers: Registers = openRegisters(around(openMemory(memory, 'g')), { self, ...OPTIONS })
  await registers.claim()
  const inputs: Input[] = []
  const faults: string[] = []
  const troubles: string[] = []
  const call = createRegisterCalls(registers, {
    deliver: (input) => inputs.push(input),
    onFailure: ({ name }) => faults.push(name),
    onUnknown: (why) => troubles.push(why),
  })
  return { call, inputs, faults, troubles, registers }
}

describe('createRegisterCalls', () => {
  it('delivers the call and the value; a register that was never written is null', async () => {
    const memory: Memory = new Map()
    const [a, b] = [await node(memory, 'a'), await node(memory, 'b')]
    a.call({ id: 1, op: 'write', value: { ctr: 4 } })
    await until(() => a.inputs.length === 1)
    b.call({ id: 7, op: 'read', of: 'a' })
    b.call({ id: 8, op: 'read', of: 'b' })
    b.call({ id: 9, op: 'read', of: 'unknown' })
    await until(() => b.inputs.length === 3)
    expect(a.inputs).toEqual([
      { type: 'register', call: { id: 1, op: 'write', value: { ctr: 4 } }, outcome: 'ok', value: null },
    ])
    expect(b.inputs.map((input) => input.type === 'register' && [input.call.id, input.value])).toEqual([
      [7, { ctr: 4 }],
      [8, null],
      [9, null],
    ])
  })

  it('reads the store once per step, even while an earlier read is pending', async () => {
    let rounds = 0
    const { call, inputs } = await node(new Map(), 'a', (store) => ({
      ...store,
      read: (signal) => {
        rounds += 1
        return store.read(signal)
      },
    }))
    rounds = 0
    call({ id: 1, op: 'read', of: 'a' })
    call({ id: 2, op: 'read', of: 'b' })
    await Promise.resolve()
    call({ id: 3, op: 'read', of: 'a' })
    await until(() => inputs.length === 3)
    expect(rounds).toBe(2)
  })

  it('delivers unknown after the timeout, and reports the reason', async () => {
    let hangs = false
    const { call, inputs, troubles } = await node(new Map(), 'a', (store) => ({
      ...store,
      read: (signal) => (hangs ? new Promise(() => {}) : store.read(signal)),
    }))
    hangs = true
    call({ id: 1, op: 'read', of: 'b' })
    await until(() => inputs.length === 1)
    expect(inputs).toMatchObject([{ outcome: 'unknown', value: null }])
    expect(troubles).toEqual(['no answer within 200 ms'])
  })

  it('does not starve the event loop when calls fail at once and are repeated at once', async () => {
    let fails = false
    let asked = 0
    const store = (inner: CellStore): CellStore => ({
      ...inner,
      read: (signal) => (fails ? Promise.reject(new Error('no connection')) : inner.read(signal)),
    })
    const registers = openRegisters(store(openMemory(new Map(), 'g')), { self: 'a', ...OPTIONS })
    await registers.claim()
    const ask = createRegisterCalls(registers, {
      deliver: (input) => {
        if (input.type !== 'register' || input.outcome === 'ok') return
        asked += 1
        // So that a starved event loop fails this test instead of hanging it.
        if (asked < 100_000) ask({ id: asked, op: 'read', of: 'b' })
      },
      onFailure: () => {},
    })
    fails = true
    ask({ id: 0, op: 'read', of: 'b' })
    await new Promise((resolve) => setTimeout(resolve, 1))
    fails = false
    expect(asked).toBeLessThan(100_000)
  })

  it('reports a fault when another process has taken over the id', async () => {
    const memory: Memory = new Map()
    const first = await node(memory, 'a')
    await node(memory, 'a')
    first.call({ id: 1, op: 'write', value: 1 })
    await until(() => first.faults.length === 1)
    expect(first.faults).toEqual(['SupersededError'])
    expect(first.inputs).toEqual([])
  })

  it('refuses a value that is too large before anything is sent', async () => {
    const { registers } = await node(new Map(), 'a')
    expect(() => registers.write('x'.repeat(500))).toThrow('but the limit is 480')
    expect(await registers.write('short')).toEqual({ outcome: 'ok' })
  })
})
