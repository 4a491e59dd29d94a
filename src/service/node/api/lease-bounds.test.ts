/** Leases that tune themselves, on real nodes: what they show, and bounds that are changed while one of them leads. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { CommandRefusedError, InvalidArgumentError } from './errors.ts'
import { join } from './join.ts'
import type { ConclaveNode } from './node.ts'
import type { LevelChange } from './timing-status.ts'

const KEY = new Uint8Array(32).fill(7)
const IDS = ['a', 'b', 'c'] as const
const WAIT = { timeout: 50_000, interval: 20 }

let ports: readonly number[] = []
let nodes: ConclaveNode[] = []
let folder = ''
const stop = new AbortController()

/** Leases of seconds: no test machine is that busy, so that nothing but the bounds ends a term. */
async function joinAll(
  bounds: (id: string) => object,
  isolation: 'thread' | 'worker' = 'thread',
): Promise<void> {
  const address = (id: string): string => `127.0.0.1:${ports[IDS.indexOf(id as 'a')]}`
  nodes = await Promise.all(
    IDS.map((id) =>
      join({
        group: 'bounds',
        id,
        listen: address(id),
        peers: IDS.filter((peer) => peer !== id).map((peer) => `${peer}=${address(peer)}`),
        key: KEY,
        isolation,
        timing: 'adaptive',
        data: joinPath(folder, id),
        ...bounds(id),
      }),
    ),
  )
  for (const node of nodes) void node.lead((term) => untilEnded(term.signal), { signal: stop.signal })
}

const untilEnded = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })

/** All nodes know this leader, and reach each other. */
async function leader(): Promise<ConclaveNode> {
  return vi.waitFor(() => {
    const [first, ...others] = nodes.map((node) => node.status().leader)
    const leading = nodes.find((node) => node.view().role === 'leader')
    expect(others).toEqual([first, first])
    expect(nodes.map(unreachableFrom)).toEqual([[], [], []])
    if (leading === undefined) throw new Error('no leader yet')
    return leading
  }, WAIT)
}

/** When the lease of the leader ends, on the clock of the test: it grows with each renewal. */
const leaseEnd = (node: ConclaveNode): number => performance.now() + (node.status().leaseMs ?? Number.NaN)

const unreachableFrom = (node: ConclaveNode): readonly unknown[] =>
  node.status().nodes.flatMap(({ id, reachable }) => (reachable ? [] : [id]))

beforeAll(async () => {
  ports = await freePorts(IDS.length)
})

beforeEach(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'conclave-bounds-'))
})

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close({ signal: AbortSignal.abort() })))
  nodes = []
  rmSync(folder, { recursive: true })
})

const timingOf = (node: ConclaveNode) => node.status().timing ?? expect.fail('no timing')

describe('bounds that are changed node by node', () => {
  it.each([
    ['the leader first', (leads: ConclaveNode) => [leads, ...nodes.filter((node) => node !== leads)]],
    ['the leader last', (leads: ConclaveNode) => [...nodes.filter((node) => node !== leads), leads]],
  ])('keep the term, and every node hears the others: %s', async (_order, inOrder) => {
    await joinAll(() => ({ leaseMinMs: 2000, leaseMaxMs: 4000 }))
    const leads = await leader()
    const { token } = leads.status().leader ?? expect.fail('no leader')
    const ended: unknown[] = []
    for (const node of nodes) node.on('revoked', (end) => ended.push(end))
    for (const node of inOrder(leads)) {
      // oxlint-disable-next-line no-await-in-loop -- node by node, as in a rolling change
      await node.setLeaseBounds({ leaseMinMs: 3000, leaseMaxMs: 8000 })
      expect(timingOf(node)).toMatchObject({ leaseMinMs: 3000, leaseMaxMs: 8000 })
      const before = leaseEnd(leads)
      // oxlint-disable-next-line no-await-in-loop -- until it has renewed its lease with these bounds
      await vi.waitFor(() => {
        for (const each of nodes) expect(unreachableFrom(each)).toEqual([])
        expect(leaseEnd(leads)).toBeGreaterThan(before + 100)
      }, WAIT)
    }
    await vi.waitFor(() => {
      for (const node of nodes) expect(timingOf(node).leaseMs).toBeGreaterThanOrEqual(3000)
    }, WAIT)
    expect(ended).toEqual([])
    expect(leads.status().leader).toEqual({ id: leads.id, token })
    expect(nodes.flatMap((node) => node.status().warnings).filter(({ what }) => what === 'mismatch')).toEqual(
      [],
    )
  })
})

it('a leader reports each change of the length of leases, and the evidence of its voters', async () => {
  await joinAll(() => ({ leaseMinMs: 1500, leaseMaxMs: 8000 }), 'worker')
  const changes: LevelChange[] = []
  for (const node of nodes) node.on('level', (change) => changes.push(change))
  const leads = await leader()
  await leads.setLeaseBounds({ leaseMinMs: 4000 })
  await vi.waitFor(() => expect(changes.at(-1)?.cause).toBe('bounds'), WAIT)
  const change = changes.at(-1)
  expect(change).toMatchObject({ by: leads.id, leaseMs: 4235.415 })
  expect(change?.text).toBe(
    `lease ${Math.round(change?.fromMs ?? 0)} ms -> 4235 ms: the bounds of ${leads.id} were changed`,
  )
  await vi.waitFor(() => {
    const { evidence, failoverMs, need, leaseMs, levels, level } = timingOf(leads)
    expect(evidence.map(({ id }) => id)).toEqual(IDS.filter((id) => id !== leads.id))
    expect(failoverMs?.typical).toBeGreaterThan(1000)
    expect(failoverMs?.worst).toBeGreaterThan(failoverMs?.typical ?? 0)
    expect([leaseMs, level]).toEqual([4235.415, levels[0]])
    expect(need?.text).toContain('in time')
  }, WAIT)
  const followers = nodes.filter((node) => node !== leads)
  expect(followers.map((node) => timingOf(node).need)).toEqual([null, null])
})

it('a node whose bounds suit no other is named, with its bounds', async () => {
  const others = { leaseMinMs: 1500, leaseMaxMs: 3000 }
  await joinAll((id) => (id === 'c' ? { leaseMinMs: 6000, leaseMaxMs: 9000 } : others))
  const warned = await vi.waitFor(() => {
    const leading = nodes.find((node) => node.view().role === 'leader')
    const warning = leading?.status().warnings.find(({ what }) => what === 'mismatch')
    if (leading === undefined || warning === undefined) throw new Error('no warning yet')
    return { detail: warning.detail, refusals: timingOf(leading).refusals }
  }, WAIT)
  expect(warned).toEqual({
    detail:
      'c grants leases of 6000 to 9000 ms and this node of 1500 to 3000 ms, so neither has the vote of the other; set leaseMinMs and leaseMaxMs so that they overlap by a factor of 1.25 or more',
    refusals: [{ id: 'c', leaseMinMs: 6000, leaseMaxMs: 9000 }],
  })
})

it.each(['thread', 'worker'] as const)(
  'warnings and measurements use the bounds in force: %s',
  async (isolation) => {
    await joinAll(() => ({ profile: 'fast' }), isolation)
    const [node] = nodes as [ConclaveNode]
    const limits = () => {
      const { sigmaMs, deltaMs } = node.status().measured
      return { sigmaMs, deltaMs }
    }
    const before = limits()
    await node.setLeaseBounds({ leaseMaxMs: 200 })
    const after = limits()
    // All times grow with the longest lease, of 2000 ms before.
    expect(after.sigmaMs).toBeLessThan(before.sigmaMs / 5)
    expect(after.deltaMs).toBeLessThan(before.deltaMs / 5)
    await node.setLeaseBounds({ leaseMaxMs: 2000 })
    expect(limits()).toEqual(before)
  },
)

describe('bounds that cannot work are refused', () => {
  it.each<[unknown, string]>([
    [
      { leaseMinMs: 5 },
      'leaseMinMs: 5 is too short, because timers of a process cannot keep such leases; use 10 or more',
    ],
    [{ leaseMaxMs: 90_000 }, 'leaseMaxMs: 90000 is too long'],
    [{ leaseMinMs: '20' }, 'leaseMinMs: "20" must be a number of milliseconds'],
    [{}, 'bounds: give leaseMinMs, leaseMaxMs or both'],
    [undefined, 'bounds: undefined must be an object such as { leaseMinMs, leaseMaxMs }'],
    [{ leaseMinMs: 20, x: 1 }, 'x: unknown field; the fields are leaseMinMs and leaseMaxMs'],
    [
      { leaseMinMs: 3000 },
      'setLeaseBounds was refused: leaseMinMs: 3000 is above leaseMaxMs, which is 2000; set both, leaseMaxMs at least 1.25 times leaseMinMs',
    ],
    [
      { leaseMinMs: 1990 },
      'setLeaseBounds was refused: leaseMaxMs: 2000 is too close to leaseMinMs; use 2488 or more',
    ],
    [
      { leaseMinMs: 50_000, leaseMaxMs: 60_000 },
      'setLeaseBounds was refused: leaseMinMs: 50000 is too close to leaseMaxMs, which is at most 60000; set leaseMinMs to 48000 or less',
    ],
  ])('%o', async (bounds, message) => {
    await joinAll(() => ({ profile: 'fast' }))
    const [node] = nodes as [ConclaveNode]
    const refused = await node.setLeaseBounds(bounds as object).then(
      () => null,
      (error: unknown) => error as Error,
    )
    expect(refused?.message).toContain(message)
    expect(refused).toBeInstanceOf(
      message.includes('was refused') ? CommandRefusedError : InvalidArgumentError,
    )
    const [field] = message.replace('setLeaseBounds was refused: ', '').split(':')
    expect(refused).toMatchObject({ field })
    expect(timingOf(node)).toMatchObject({ leaseMinMs: 20, leaseMaxMs: 2000 })
  })

  it('on a node that would forget them: it has no data directory', async () => {
    const own = { group: 'bounds', id: 'a', listen: `127.0.0.1:${ports[0]}`, peers: [], key: KEY }
    nodes = [await join({ ...own, isolation: 'thread' })]
    const [node] = nodes as [ConclaveNode]
    expect(timingOf(node)).toMatchObject({ leaseMinMs: 60, leaseMaxMs: 1000 })
    await node.setLeaseBounds({ leaseMinMs: 20, leaseMaxMs: 900 })
    await node.setLeaseBounds({ leaseMaxMs: 1000 })
    await expect(node.setLeaseBounds({ leaseMaxMs: 1001 })).rejects.toThrow(
      // Not "or with data": a node with a new data directory has forgotten the leases that it granted.
      /: leaseMaxMs: must be at most 1000, as configured, .*; restart it with a larger leaseMaxMs$/,
    )
  })

  it('where the timing is fixed', async () => {
    await joinAll(() => ({ timing: 'fixed' }))
    const [node] = nodes as [ConclaveNode]
    expect(node.status().timing).toBeNull()
    await expect(node.setLeaseBounds({ leaseMinMs: 20 })).rejects.toThrow(
      'setLeaseBounds was refused: the timing of this node is fixed: its leases have no bounds',
    )
  })
})
