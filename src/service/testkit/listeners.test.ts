/** What applications do to a node's public emitter: nothing of it may stop `lead`, `observe` or `close`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConclaveNode, Term } from '../node/index.ts'
import { testkit } from './testkit.ts'

const NODES = ['a', 'b', 'c']
const EVENTS = ['elected', 'revoked', 'change', 'warning', 'voters'] as const

/** Errors that listeners threw: an emitter passes them on as uncaught exceptions. */
let uncaught: unknown[] = []
let others: NodeJS.UncaughtExceptionListener[] = []

beforeEach(() => {
  uncaught = []
  others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
})

afterEach(() => {
  process.removeAllListeners('uncaughtException')
  for (const listener of others) process.on('uncaughtException', listener)
})

function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

function throwAlways(): never {
  throw new Error('a listener that throws')
}

type Disturbance = readonly [name: string, disturb: (member: ConclaveNode) => void]

const DISTURBANCES: readonly Disturbance[] = [
  ...EVENTS.map(
    (event): Disturbance => [`a listener of ${event} throws`, (member) => void member.on(event, throwAlways)],
  ),
  [
    'the first listener of every event throws',
    (member) => EVENTS.forEach((event) => member.prependListener(event, throwAlways)),
  ],
  ['all listeners are removed', (member) => void member.removeAllListeners()],
  ['emit is overridden', (member) => void Object.assign(member, { emit: throwAlways })],
]

describe.each(DISTURBANCES)('%s', (_name, disturb) => {
  it('runs work in every term and yields every view, until close', async () => {
    const kit = testkit({ nodes: NODES })
    const [a, b] = (await Promise.all(NODES.map((id) => kit.join(id)))) as [
      ConclaveNode,
      ConclaveNode,
      ConclaveNode,
    ]
    const terms: string[] = []
    const seen: unknown[] = []
    const led = a.lead(async (term) => {
      terms.push(`a ${String(term.token)}`)
      await untilItEnds(term)
    })
    const observed = (async () => {
      for await (const { leader } of a.observe()) seen.push(leader?.id ?? null)
    })()
    await kit.advance(0)
    disturb(a)
    await kit.until(() => terms.length === 1)
    await kit.advance(10)
    disturb(a)
    void b.lead(untilItEnds)
    await a.stepDown()
    await kit.until(() => seen.at(-1) === 'b')
    await b.stepDown()
    await kit.until(() => terms.length === 2)
    disturb(a)
    const closed = a.close()
    await kit.advance(100)
    await Promise.all([closed, led, observed])
    expect(terms).toEqual(['a 1', 'a 3'])
    expect(seen.slice(0, 2)).toEqual([null, 'a'])
    expect(uncaught.every((error) => (error as Error).message === 'a listener that throws')).toBe(true)
  })
})

it('keeps lead working when a listener removes all listeners during an event', async () => {
  const kit = testkit({ nodes: ['a'] })
  const a = await kit.join('a')
  a.on('elected', () => a.removeAllListeners())
  let terms = 0
  void a.lead(async () => void (terms += 1))
  await kit.until(() => terms >= 3)
  const closed = a.close()
  await kit.advance(10)
  await closed
  expect(uncaught).toEqual([])
})

it('keeps only the newest view for an observer that does not read', async () => {
  const kit = testkit({ nodes: ['a'] })
  const a = await kit.join('a')
  const views = a.observe()
  await views.next()
  let terms = 0
  void a.lead(async () => void (terms += 1))
  await kit.until(() => terms >= 20, 60_000)
  const closed = a.close()
  await kit.advance(10)
  await closed
  const read: unknown[] = []
  for await (const view of views) read.push(view)
  expect(read).toEqual([{ role: 'follower', leader: null, members: null }])
})
