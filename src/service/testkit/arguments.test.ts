/** Every method of a node, called with what cannot be: a clear error, and the node goes on. */
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { CommandRefusedError, type ConclaveNode, InvalidArgumentError, type Term } from '../node/index.ts'
import { type Testkit, testkit } from './testkit.ts'

const WRONG: readonly unknown[] = [
  null,
  0,
  1,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 60,
  '',
  'x',
  true,
  Symbol('s'),
  () => {},
  [],
  {},
  new Date(0),
]

function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

async function alone(): Promise<{ readonly kit: Testkit; readonly node: ConclaveNode }> {
  const kit = testkit({ nodes: ['a'] })
  return { kit, node: await kit.join('a') }
}

/** A method as it can be called from JavaScript. */
type Loose = (...given: readonly unknown[]) => unknown

function methodOf(node: ConclaveNode, name: string): Loose {
  const method = (node as unknown as { readonly [name: string]: Loose })[name] as Loose
  return (...given) => method.apply(node, [...given])
}

describe('an invalid signal', () => {
  const calls: readonly (readonly [string, readonly unknown[]])[] = [
    ['lead', [untilItEnds]],
    ['stepDown', []],
    ['setPriority', [1]],
    ['addVoter', ['b']],
    ['removeVoter', ['b']],
    ['addPeer', ['b=127.0.0.1:7400']],
    ['removePeer', ['b']],
    ['close', []],
  ]

  it.each(calls)('is refused by %s without side effects', async (name, given) => {
    const { kit, node } = await alone()
    void node.lead(untilItEnds)
    await kit.until(() => kit.leaders.length > 0)
    for (const signal of WRONG) {
      const refused = methodOf(node, name)(...given, { signal })
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(refused).rejects.toMatchObject({ name: 'InvalidArgumentError', field: 'signal' })
    }
    for (const options of [null, 5, 'x', true]) {
      const refused = methodOf(node, name)(...given, options)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(refused).rejects.toMatchObject({ name: 'InvalidArgumentError', field: 'options' })
    }
    await kit.advance(50)
    expect([node.isClosed, kit.leaders]).toEqual([false, ['a']])
    const closed = node.close()
    await kit.advance(50)
    await closed
  })

  it('is refused by observe at once', async () => {
    const { node } = await alone()
    for (const signal of WRONG)
      expect(() => methodOf(node, 'observe')({ signal })).toThrow(InvalidArgumentError)
    for (const options of [null, 5, 'x'])
      expect(() => methodOf(node, 'observe')(options)).toThrow(InvalidArgumentError)
  })
})

it('refuses work that is not a function, and a once that is not a boolean', async () => {
  const { node } = await alone()
  const all = WRONG.filter((each) => typeof each !== 'function')
  await Promise.all(all.map((work) => expect(methodOf(node, 'lead')(work)).rejects.toThrow('work: ')))
  await expect(methodOf(node, 'lead')()).rejects.toThrow('work: undefined must be a function')
  await expect(methodOf(node, 'lead')(untilItEnds, { once: 'yes' })).rejects.toThrow(
    'once: "yes" must be true or false',
  )
  expect(node.ineligibleReason).toBe('lead not called')
})

it.each(['addVoter', 'removeVoter', 'removePeer'])('refuses an invalid id in %s', async (name) => {
  const { kit, node } = await alone()
  void node.lead(untilItEnds)
  await kit.until(() => kit.leaders.length > 0)
  await Promise.all(
    [undefined, ...WRONG.filter((each) => each !== 'x')].map((id) =>
      expect(methodOf(node, name)(id)).rejects.toBeInstanceOf(InvalidArgumentError),
    ),
  )
  await kit.advance(50)
  expect(kit.leaders).toEqual(['a'])
})

it('rejects invalid faults before they are injected', async () => {
  const { node } = await alone()
  const wrong = [
    { b: null },
    { b: {} },
    { b: { cut: false } },
    { b: { cut: false, delayMs: [0], loss: 0 } },
    { b: { cut: false, delayMs: [0, Number.NaN], loss: 0 } },
    { b: { cut: false, delayMs: [0, 1], loss: 2 } },
  ]
  for (const faults of [undefined, null, 5, 'x', [], ...wrong])
    expect(() => methodOf(node, 'injectFaults')(faults)).toThrow(InvalidArgumentError)
  for (const faults of [{}, { b: { cut: true } }, { b: { cut: false, delayMs: [0, 5], loss: 0.5 } }])
    expect(() => methodOf(node, 'injectFaults')(faults)).not.toThrow()
})

it('says what setPriority and addPeer expect', async () => {
  const { kit, node } = await alone()
  await Promise.all(
    [undefined, ...WRONG.filter((each) => ![0, 1, -1].includes(each as number))].map((priority) =>
      expect(methodOf(node, 'setPriority')(priority)).rejects.toBeInstanceOf(CommandRefusedError),
    ),
  )
  await Promise.all(
    [undefined, ...WRONG].map((peer) =>
      expect(methodOf(node, 'addPeer')(peer)).rejects.toBeInstanceOf(InvalidArgumentError),
    ),
  )
  void node.lead(untilItEnds)
  await kit.until(() => kit.leaders.length > 0)
})

it('refuses an invalid number of milliseconds in assertHeld, during and after the term', async () => {
  const { kit, node } = await alone()
  const terms: Term[] = []
  void node.lead(async (term) => {
    terms.push(term)
    await untilItEnds(term)
  })
  await kit.until(() => terms.length > 0)
  const [term] = terms as [Term]
  const asserting = (leastMs: unknown) => () => (term.assertHeld as Loose).call(term, leastMs)
  const wrong = [null, Number.NaN, -1, '5', true, {}, [], 5n, Symbol('s')]
  for (const leastMs of wrong) expect(asserting(leastMs)).toThrow(InvalidArgumentError)
  expect(asserting(Number.NaN)).toThrow('leastMs: NaN must be a number of milliseconds, 0 or more')
  for (const leastMs of [undefined, 0, 0.5]) expect(asserting(leastMs)).not.toThrow()
  expect(asserting(Number.POSITIVE_INFINITY)).toThrow('ms are left, Infinity ms are needed')
  await node.stepDown()
  for (const leastMs of wrong) expect(asserting(leastMs)).toThrow(InvalidArgumentError)
  expect(asserting(0)).toThrow('this node no longer leads: stepped down')
})

it('removes its listeners from signals', async () => {
  const { kit, node } = await alone()
  const { signal } = new AbortController()
  const stop = new AbortController()
  const observed = (async () => {
    for await (const view of node.observe({ signal: stop.signal })) if (view === undefined) break
  })()
  for (let round = 0; round < 3; round++) {
    const led = node.lead(async () => {}, { signal, once: true })
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await kit.advance(500)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await led
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for await (const view of node.observe({ signal })) if (view !== undefined) break
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await node.setPriority(round, { signal })
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await node.stepDown({ signal })
  }
  void node.lead(untilItEnds)
  await kit.until(() => kit.leaders.length > 0)
  await node.stepDown({ signal })
  stop.abort()
  await observed
  const closed = node.close({ signal })
  await kit.advance(100)
  await closed
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
})

describe('testkit', () => {
  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '5', null, undefined, 2 ** 60])(
    'refuses %s milliseconds, and its time goes on',
    async (ms) => {
      const { kit, node } = await alone()
      const loosely = kit as unknown as { readonly [name: string]: Loose }
      const call = (name: string, ...given: readonly unknown[]): unknown =>
        loosely[name]?.apply(kit, [...given])
      await expect(call('advance', ms)).rejects.toThrow('ms: ')
      await expect(call('sleep', ms)).rejects.toThrow('ms: ')
      expect(() => call('pause', 'a', ms)).toThrow('ms: ')
      expect(() => call('suspend', 'a', ms)).toThrow('ms: ')
      if (ms !== undefined) await expect(call('until', () => true, ms)).rejects.toThrow('withinMs: ')
      if (ms !== undefined) expect(() => testkit({ nodes: ['a'], delayMs: ms as number })).toThrow('delayMs')
      expect(() => call('lose', ms)).toThrow('probability')
      void node.lead(untilItEnds)
      await kit.until(() => kit.leaders.length > 0)
      expect(kit.nowMs).toBeGreaterThan(0)
    },
  )

  it('refuses invalid nodes, seeds and probabilities', async () => {
    const loosely = testkit as unknown as Loose
    for (const nodes of [undefined, null, [], 'abc', [1], [''], ['a', 'a']])
      expect(() => loosely({ nodes })).toThrow('nodes')
    expect(() => loosely()).toThrow('nodes')
    for (const loss of [Number.NaN, -0.1, 1.1, '1'])
      expect(() => loosely({ nodes: ['a'], loss })).toThrow('loss')
    for (const seed of [Number.NaN, 0.5, '1']) expect(() => loosely({ nodes: ['a'], seed })).toThrow('seed')
    const { kit } = await alone()
    await expect((kit.until as Loose).call(kit, true)).rejects.toThrow('condition: true must be a function')
  })
})
