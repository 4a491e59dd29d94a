import { describe, expect, it } from 'vitest'
import type { NodeView } from '../election/election.ts'
import { Notifier, nextTerm, observeViews } from './notifier.ts'
import { CurrentTerm } from './term.ts'

const viewWith = (leader: string | null): NodeView => ({
  role: 'follower',
  leader: leader === null ? null : { id: leader, token: 1 },
  members: null,
})

/** A node whose view and end the test decides. */
function lab() {
  const changes = new Notifier<NodeView>()
  const elections = new Notifier<void>()
  const state = { isClosed: false, view: viewWith(null) }
  const node = { changes, elections, isClosed: () => state.isClosed, view: () => state.view }
  return {
    node,
    elections,
    change(leader: string | null) {
      state.view = viewWith(leader)
      changes.notify(state.view)
    },
    close() {
      state.isClosed = true
      changes.notify(state.view)
    },
  }
}

const held = (token: number): CurrentTerm =>
  new CurrentTerm(token, () => ({ until: 1000, now: 0, token, reason: null }))

describe('Notifier', () => {
  it('calls subscribers in their order, until they unsubscribe', () => {
    const notifier = new Notifier<number>()
    const calls: string[] = []
    const first = notifier.subscribe((value) => calls.push(`first ${value}`))
    notifier.subscribe((value) => calls.push(`second ${value}`))
    notifier.notify(1)
    first()
    first()
    notifier.notify(2)
    expect(calls).toEqual(['first 1', 'second 1', 'second 2'])
  })

  it('lets a subscriber unsubscribe while it is called', () => {
    const notifier = new Notifier<void>()
    let calls = 0
    const end = notifier.subscribe(() => {
      calls += 1
      end()
    })
    notifier.notify()
    notifier.notify()
    expect(calls).toBe(1)
  })
})

describe('observeViews', () => {
  const leaderIn = ({ value }: IteratorResult<NodeView, void>): unknown =>
    value === undefined ? 'done' : (value.leader?.id ?? null)

  it('starts with the current view, and continues with each change', async () => {
    const { node, change } = lab()
    const views = observeViews(node, undefined)
    expect(leaderIn(await views.next())).toBeNull()
    const next = views.next()
    change('a')
    expect(leaderIn(await next)).toBe('a')
  })

  it('gives a slow reader only the newest view', async () => {
    const { node, change } = lab()
    const views = observeViews(node, undefined)
    await views.next()
    for (const leader of ['a', 'b', 'c']) change(leader)
    expect(leaderIn(await views.next())).toBe('c')
    const next = views.next()
    change('d')
    expect(leaderIn(await next)).toBe('d')
  })

  it('ends after the last view of a node that is closed', async () => {
    const { node, close } = lab()
    const views = observeViews(node, undefined)
    await views.next()
    const next = views.next()
    close()
    expect(leaderIn(await next)).toBeNull()
    expect(leaderIn(await views.next())).toBe('done')
  })

  it('ends when the signal is aborted, also while it waits, and drops an unread view', async () => {
    const { node, change } = lab()
    const abort = new AbortController()
    const [waiting, behind] = [observeViews(node, abort.signal), observeViews(node, abort.signal)]
    await waiting.next()
    await behind.next()
    const next = waiting.next()
    abort.abort()
    change('a')
    expect([leaderIn(await next), leaderIn(await behind.next())]).toEqual(['done', 'done'])
  })

  it('yields nothing with a signal that was aborted before', async () => {
    const { node } = lab()
    expect(leaderIn(await observeViews(node, AbortSignal.abort()).next())).toBe('done')
  })
})

describe('nextTerm', () => {
  it('is the current term', async () => {
    const term = held(3)
    expect(await nextTerm(lab().node, undefined, () => term)).toBe(term)
  })

  it('is the next term that the caller accepts', async () => {
    const { node, elections } = lab()
    let current: CurrentTerm | null = null
    const waiting = nextTerm(node, undefined, () => current)
    elections.notify()
    current = held(4)
    elections.notify()
    expect(await waiting).toBe(current)
  })

  it.each<[string, (node: ReturnType<typeof lab>, abort: AbortController) => void]>([
    ['closed', ({ close }) => close()],
    ['told to stop', (_, abort) => abort.abort()],
  ])('is null when the node is %s meanwhile', async (_what, end) => {
    const node = lab()
    const abort = new AbortController()
    const waiting = nextTerm(node.node, abort.signal, () => null)
    node.change('a')
    end(node, abort)
    expect(await waiting).toBeNull()
  })

  it('is null at once for a closed node or an aborted signal, even if there is a term', async () => {
    const { node, close } = lab()
    expect(await nextTerm(node, AbortSignal.abort(), () => held(1))).toBeNull()
    close()
    expect(await nextTerm(node, undefined, () => held(1))).toBeNull()
  })
})
