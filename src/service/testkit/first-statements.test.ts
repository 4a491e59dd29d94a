/** A term that its own work or a listener ends early: the lease outlasts the work, and no wish to stop is lost. */
import { describe, expect, it } from 'vitest'
import type { ConclaveNode, Term } from '../node/index.ts'
import { type Testkit, testkit } from './testkit.ts'

/** When the work calls a method of its node. */
const MOMENTS: { readonly [name: string]: (kit: Testkit) => Promise<void> | null } = {
  'in its first statement': () => null,
  'after a microtask': () => Promise.resolve(),
  later: (kit) => kit.sleep(200),
}

/** How a node gives up its term. */
const METHODS: {
  readonly [name: string]: (node: ConclaveNode, to: string, stop: AbortController) => Promise<unknown>
} = {
  stepDown: (node) => node.stepDown(),
  'stepDown to a node': (node, to) => node.stepDown({ to }),
  handOver: (node, to) => node.handOver({ to }),
  close: (node) => node.close(),
  'the abort of the signal of lead': async (_node, _to, stop) => stop.abort(),
}

const CASES = Object.keys(METHODS).flatMap((method) =>
  Object.keys(MOMENTS).map((moment) => [method, moment] as const),
)

function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

const NODES = ['a', 'b', 'c']

/** Which work runs, and how often work started beside other work. */
type Seen = { terms: number; overlaps: number; readonly running: Set<string>; isOver: boolean }

describe('work that ends its own term', () => {
  it.each(CASES)('by %s %s keeps the lease until it has ended', async (method, moment) => {
    const kit = testkit({ nodes: NODES })
    const nodes = await Promise.all(NODES.map((id) => kit.join(id)))
    const seen: Seen = { terms: 0, overlaps: 0, running: new Set(), isOver: false }

    async function giveUp(node: ConclaveNode, term: Term, stop: AbortController): Promise<void> {
      const wait = MOMENTS[moment]?.(kit) ?? null
      if (wait !== null) await wait
      const to = NODES.find((id) => id !== node.id) ?? expect.fail('there is one other node')
      void METHODS[method]?.(node, to, stop)
      await untilItEnds(term)
      // It finishes a write.
      await kit.sleep(1000)
      seen.isOver = true
    }

    for (const node of nodes) {
      const stop = new AbortController()
      const work = async (term: Term): Promise<void> => {
        seen.terms += 1
        seen.overlaps += seen.running.size
        seen.running.add(String(node.id))
        // In the first term the nodes learn that all of them are candidates.
        if (seen.terms === 1) await kit.sleep(500)
        else if (seen.terms === 2) await giveUp(node, term, stop)
        else await untilItEnds(term)
        seen.running.delete(String(node.id))
      }
      void node.lead(work, { signal: stop.signal })
    }
    await kit.until(() => seen.isOver)
    await kit.until(() => seen.terms > 2)
    expect(seen.overlaps).toBe(0)
  })
})

describe('a listener of elected', () => {
  it('that aborts the signal of lead ends the term, and no work starts', async () => {
    const kit = testkit({ nodes: ['a'] })
    const a = await kit.join('a')
    const stop = new AbortController()
    let runs = 0
    let isDone = false
    a.on('elected', () => stop.abort())
    void a
      .lead(
        (term) => {
          runs += 1
          return untilItEnds(term)
        },
        { signal: stop.signal },
      )
      .then(() => (isDone = true))
    await kit.until(() => isDone)
    await kit.until(() => kit.leaders.length === 0)
    expect(runs).toBe(0)
  })

  it('that steps down once does not use up the one term of { once: true }', async () => {
    const kit = testkit({ nodes: ['a'] })
    const a = await kit.join('a')
    let runs = 0
    let isDone = false
    a.once('elected', () => void a.stepDown())
    void a.lead(() => void (runs += 1), { once: true }).then(() => (isDone = true))
    await kit.until(() => isDone)
    expect(runs).toBe(1)
  })
})
