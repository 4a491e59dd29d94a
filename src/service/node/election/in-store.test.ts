import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pending, until } from '../../../../test/support/wait.ts'
import { type ConclaveNode, join, LeadershipLostError, type StoreJoinOptions, type Term } from '../index.ts'

let folder: string
let nodes: ConclaveNode[]

beforeEach(() => {
  folder = mkdtempSync(path(tmpdir(), 'conclave-epochs-'))
  nodes = []
})

afterEach(async () => {
  await Promise.all(nodes.map((each) => each.close()))
  rmSync(folder, { recursive: true, force: true })
})

/** The machine that runs the tests is busy. */
const SLACK = { periodMs: 300, accessMs: 30 }
const MORE_SLACK = { periodMs: 1000, accessMs: 160 }

/** Whether a term ended for another reason than a machine too busy to renew in time. */
function wasInterrupted(term: Term | null): boolean {
  const reason: unknown = term?.signal.reason
  return reason instanceof LeadershipLostError && /its write|overtaken/.test(reason.detail ?? '')
}

async function node(id: string, more: Partial<StoreJoinOptions> = {}): Promise<ConclaveNode> {
  const joined = await join({
    group: 'g',
    id,
    protocol: 'epochs',
    store: `file:${folder}`,
    isolation: 'thread',
    options: SLACK,
    ...more,
  })
  nodes.push(joined)
  return joined
}

/** Leads in every term, and keeps the last one. */
function leading(member: ConclaveNode): { term: Term | null; done: Promise<void> } {
  const kept: { term: Term | null; done: Promise<void> } = { term: null, done: Promise.resolve() }
  kept.done = member.lead(
    (term) =>
      new Promise((resolve) => {
        kept.term = term
        term.signal.addEventListener('abort', () => resolve())
      }),
  )
  kept.done.catch(() => {})
  return kept
}

describe('a group in a shared folder', () => {
  it.each(['thread', 'worker'] as const)('has one leader, alone at first, in a %s', async (isolation) => {
    const a = await node('a', { isolation, options: MORE_SLACK })
    const kept = leading(a)
    // A busy machine may lose a term before it is looked at; the next one follows.
    await until(() => (kept.term?.remaining() ?? 0) > 0 && a.status().leader?.token === kept.term?.token)
    expect(kept.term?.token).toBeGreaterThanOrEqual(1)
    expect(a.status()).toMatchObject({ mode: 'store', voters: [['a']] })
  })

  it('warns once on each node of leases of another length, with which two nodes can lead', async () => {
    const [a, b, c] = [await node('a'), await node('b', { options: MORE_SLACK }), await node('c')]
    const mismatches = (of: ConclaveNode): readonly string[] =>
      of
        .status()
        .warnings.filter(({ what }) => what === 'mismatch')
        .map(({ detail }) => detail)
    await until(() => [a, b, c].every((each) => each.members().length === 3))
    await until(() => mismatches(a).length > 0 && mismatches(b).length > 1 && mismatches(c).length > 0)
    expect(mismatches(a)).toEqual([
      expect.stringMatching(
        /^b is configured differently: its leases last [\d.]+ ms, and those of this node/,
      ),
    ])
    expect(mismatches(c)).toEqual(mismatches(a))
    expect(mismatches(b)).toHaveLength(2)
  })

  it('refuses a node whose leases have another length than those of its leader, but not after a crash', async () => {
    const a = await node('a')
    const kept = leading(a)
    await until(() => (kept.term?.remaining() ?? 0) > 0)
    await expect(node('b', { options: MORE_SLACK })).rejects.toThrow(
      /^profile: a writes to this store, and its leases last [\d.]+ ms, but those of this node [\d.]+ ms, so that both could lead/,
    )
    // In the copy no process writes for `a`, although one holds its register.
    const copy = path(folder, 'copy')
    cpSync(path(folder, 'g'), path(copy, 'g'), { recursive: true })
    const b = await node('b', { options: MORE_SLACK, store: `file:${copy}` })
    await until(() => b.status().warnings.some(({ what }) => what === 'mismatch'))
  })

  it('a node that joins does not interrupt the leader, follows its token, and takes over with a larger one', async () => {
    const a = await node('a', { options: MORE_SLACK })
    const first = leading(a)
    await until(() => first.term !== null)
    const b = await node('b', { options: MORE_SLACK })
    const second = leading(b)
    const isFollowing = (): boolean => {
      const { role, leader } = b.view()
      return role === 'follower' && leader?.id === 'a' && leader.token === first.term?.token
    }
    await until(() => a.members().length === 2 && isFollowing() && (first.term?.remaining() ?? 0) > 0)
    expect(wasInterrupted(first.term)).toBe(false)
    expect(await a.stepDown()).toBe(true)
    expect(() => first.term?.assertHeld()).toThrow('no longer leads: stepped down')
    await until(() => second.term !== null)
    expect(second.term?.token).toBeGreaterThan(first.term?.token ?? Number.NaN)
  })

  it.each(['thread', 'worker'] as const)(
    'a node that steps down or leaves releases its lease: no node waits two minutes for it, in a %s',
    async (isolation) => {
      const more = { isolation, options: { ...SLACK, leaseMs: 120_000 } }
      const [a, b, c] = [await node('a', more), await node('b', more), await node('c', more)]
      const first = leading(a)
      await until(() => first.term !== null)
      const second = leading(b)
      await until(() => b.view().leader?.id === 'a')
      await a.stepDown()
      await until(() => second.term !== null)
      const third = leading(c)
      await until(() => c.view().leader?.id === 'b')
      await a.close()
      await b.close()
      await until(() => third.term !== null)
      expect(third.term?.token).toBeGreaterThan(second.term?.token ?? Number.NaN)
    },
    60_000,
  )

  it('a leader that closes in the middle of a renewal still releases its lease', async () => {
    // Renewals follow each other closely here, so that one is often pending. No node waits for the lease.
    const more = { options: { periodMs: 31, accessMs: 5, leaseMs: 120_000 } }
    let [first, second] = [await node('a', more), await node('b', more)]
    let kept = leading(first)
    await until(() => kept.term !== null)
    for (let times = 0; times < 8; times++) {
      const next = leading(second)
      // oxlint-disable-next-line no-await-in-loop -- one hand-over after the other
      await until(() => second.view().leader?.id === first.id)
      // oxlint-disable-next-line no-await-in-loop -- one hand-over after the other
      await first.close()
      // oxlint-disable-next-line no-await-in-loop -- one hand-over after the other
      await until(() => next.term !== null)
      expect(next.term?.token).toBeGreaterThan(kept.term?.token ?? Number.NaN)
      kept = next
      // oxlint-disable-next-line no-await-in-loop -- one hand-over after the other
      ;[first, second] = [second, await node(String(first.id), more)]
    }
  }, 60_000)

  it('a node does not lead until lead is called', async () => {
    const [a, b] = [await node('a'), await node('b')]
    const kept = leading(b)
    await until(() => kept.term !== null && a.view().leader?.id === 'b')
    expect(a.ineligibleReason).toBe('lead not called')
  })

  it('work that has not ended keeps its lease until it expires; only then another node leads', async () => {
    const a = await node('a', { drainMs: 0 })
    const b = await node('b')
    const gate = pending()
    const terms: Term[] = []
    const working = a.lead(
      (term) => {
        terms.push(term)
        return gate.promise
      },
      { once: true },
    )
    await until(() => terms.length === 1)
    const other = leading(b)
    expect(await a.stepDown()).toBe(false)
    await until(() => other.term !== null)
    expect(terms[0]?.remaining()).toBe(0)
    gate.resolve()
    await working
  })

  it('a node that is gone for good is removed by the leader, and its id is not used again', async () => {
    const a = await node('a')
    const b = await node('b')
    const kept = leading(a)
    await until(() => kept.term !== null && a.members().length === 2)
    const { term } = kept
    await expect(a.removeVoter('z')).rejects.toThrow(
      'removeVoter was refused: z has no register; the group has a, b',
    )
    await expect(a.removeVoter('a')).rejects.toThrow('a node cannot remove itself')
    await expect(a.addVoter('c')).rejects.toThrow('a node is added by starting it')
    const removed = pending<string>()
    a.on('warning', ({ what, detail }) => what === 'removed' && removed.resolve(detail))
    await b.close()
    await a.removeVoter('b')
    expect(await removed.promise).toBe('b was removed from the group for good')
    await until(() => a.members().length === 1)
    await expect(node('b')).rejects.toThrow('b was removed from this group permanently')
    expect(wasInterrupted(term)).toBe(false)
  })

  it('a live node that is removed stops by itself', async () => {
    const [a, b] = [await node('a'), await node('b')]
    const kept = leading(a)
    await until(() => kept.term !== null && a.members().length === 2)
    await a.removeVoter('b')
    await until(() => b.isClosed)
    await expect(b.lead(() => {})).rejects.toThrow(/no longer this process's|was removed/)
  })

  it.each(['rename', 'sector'])(
    'two nodes remove a third at the same time, in a folder (%s)',
    async (mode) => {
      const store = `file:${folder}?mode=${mode}`
      const more = { store, options: MORE_SLACK }
      const [a, b, c] = [await node('a', more), await node('b', more), await node('c', more)]
      const kept = leading(a)
      await until(() => kept.term !== null && a.members().length === 3 && b.members().length === 3)
      const { term } = kept
      await c.close()
      await Promise.all([a.removeVoter('c'), b.removeVoter('c')])
      await until(() => a.members().length === 2 && b.members().length === 2)
      expect([a.isClosed, b.isClosed]).toEqual([false, false])
      expect(wasInterrupted(term)).toBe(false)
    },
  )

  it('in sectors a live node is not removed until it ends, and the remover keeps leading', async () => {
    const more = { store: `file:${folder}?mode=sector`, options: MORE_SLACK }
    const [a, b] = [await node('a', more), await node('b', more)]
    const kept = leading(a)
    const refusal = pending<string>()
    const removed = pending<string>()
    a.on('warning', ({ what, detail }) => {
      if (what === 'removal') refusal.resolve(detail)
      if (what === 'removed') removed.resolve(detail)
    })
    await until(() => kept.term !== null && a.members().length === 2)
    const { term } = kept
    await a.removeVoter('b')
    expect(await refusal.promise).toMatch(/^b is not removed yet: .* its process is alive/)
    expect([a.isClosed, b.isClosed]).toEqual([false, false])
    await b.close()
    expect(await removed.promise).toBe('b was removed from the group for good')
    expect(wasInterrupted(term)).toBe(false)
  })

  it('of two processes with one id the second refuses to start, and the first keeps leading', async () => {
    const a = await node('a')
    const kept = leading(a)
    await until(() => kept.term !== null)
    await expect(node('a')).rejects.toThrow('the id a is in use by another live process')
    // On a busy machine it may lose a term, but no other process leads.
    await until(() => (kept.term?.remaining() ?? 0) > 0)
  })

  it('with a corrupt block of another node no node is elected, and a warning says why', async () => {
    const a = await node('a')
    const warning = pending<string>()
    a.on('warning', ({ what, detail }) => what === 'store' && warning.resolve(detail))
    const kept = leading(a)
    await until(() => kept.term !== null)
    writeFileSync(path(folder, 'g', 'b-b.1'), 'not a block')
    expect(await warning.promise).toContain('the block of b')
    await until(() => kept.term?.signal.aborted === true)
  })

  it.each(['thread', 'worker'] as const)(
    'a lease that expires during an outage blames the store, in a %s: there is no majority',
    async (isolation) => {
      const a = await node('a', { isolation })
      const kept = leading(a)
      await until(() => kept.term !== null)
      writeFileSync(path(folder, 'g', 'b-b.1'), 'not a block')
      await until(() => kept.term?.signal.aborted === true)
      // On a busy machine the reason may be that this node was late.
      const reason: unknown = kept.term?.signal.reason
      expect(reason instanceof LeadershipLostError && reason.detail).toMatch(
        /^the store did not accept a renewal in time$|was late by|were slower/,
      )
    },
  )

  it('warns once about each problem of an outage: the last one may need another remedy than the first', async () => {
    const a = await node('a')
    const warnings: string[] = []
    a.on('warning', ({ what, detail }) => what === 'store' && warnings.push(detail))
    const isReported = (text: string): boolean => warnings.some((detail) => detail.includes(text))
    const [first, second] = [path(folder, 'g', 'b-b.1'), path(folder, 'g', 'b-c.1')]
    writeFileSync(first, 'not a block')
    await until(() => isReported('the block of b'))
    renameSync(first, second)
    await until(() => isReported('the block of c'))
    renameSync(second, first)
    rmSync(first)
    await until(() => isReported('answers again'))
    expect(warnings.filter((detail) => detail.includes('the block of b'))).toHaveLength(1)
  })
})

describe('options that cannot work are refused with advice', () => {
  it.each<[Partial<StoreJoinOptions> & { readonly [field: string]: unknown }, string]>([
    [{ store: 'ftp://somewhere' }, 'store: ftp: is not a kind of store'],
    [{ store: 'postgres', listen: '127.0.0.1:1' }, 'listen: does not apply to the protocol epochs'],
    [{ id: 'x'.repeat(65) }, 'id: must be at most 64 bytes long'],
    [{ options: { periodMs: 20, accessMs: 5 } }, 'options.periodMs: is below 30'],
    [{ options: { clock: 'none' } }, 'options.clock: is for searches'],
    [{ options: { epochs: 3 } }, 'options.epochs: '],
    [{ profile: 'moon' as 'lan' }, 'profile: "moon" is not one of "fast", "lan", "region", "wan"'],
  ])('%j', async (more, message) => {
    await expect(node('a', more)).rejects.toThrow(message)
  })
})
