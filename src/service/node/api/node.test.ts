import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { pending, until } from '../../../../test/support/wait.ts'

import {
  AlreadyLeadingError,
  CommandRefusedError,
  type ConclaveNode,
  InvalidOptionsError,
  type JoinOptions,
  join,
  LeadershipLostError,
  NodeClosedError,
  type NodeView,
  type Term,
} from '../index.ts'

const ISOLATIONS = ['worker', 'thread'] as const
const KEY = new Uint8Array(32).fill(3)
/** A busy machine must not make healthy processes look dead. */
const PATIENT = { sigmaMs: 300, renewalIntervalMs: 100 }

let members: ConclaveNode[] = []

afterEach(async () => {
  await Promise.all(members.map((member) => member.close()))
  members = []
})

async function group(ids: readonly string[], more: Partial<JoinOptions> = {}): Promise<ConclaveNode[]> {
  const ports = await freePorts(ids.length)
  const at = (index: number): string => `127.0.0.1:${ports[index]}`
  members = await Promise.all(
    ids.map((id, index) =>
      join({
        group: 'test',
        id,
        listen: at(index),
        peers: ids.flatMap((peer, place) => (peer === id ? [] : [`${peer}=${at(place)}`])),
        key: KEY,
        options: PATIENT,
        ...more,
      }),
    ),
  )
  return members
}

/** Work that lasts as long as the term. */
function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

const byId = (id: string): ConclaveNode => members.find((member) => member.id === id) as ConclaveNode
const leaderOf = (id: string): unknown => byId(id).view().leader?.id ?? null

describe.each(ISOLATIONS)('lead, with its election in a %s', (isolation) => {
  it('runs the work in one process at a time, with growing tokens, and hands over when the work is done', async () => {
    await group(['a', 'b', 'c'], { isolation })
    const started: { readonly id: unknown; readonly token: number }[] = []
    let running = 0
    let most = 0
    const done = new AbortController()
    const all = members.map((member) =>
      member.lead(
        async (term) => {
          running += 1
          most = Math.max(most, running)
          started.push({ id: member.id, token: term.token as number })
          term.assertHeld()
          expect(term.remaining()).toBeGreaterThan(0)
          await setTimeout(5)
          running -= 1
        },
        { signal: done.signal },
      ),
    )
    await until(() => started.length >= 6)
    done.abort()
    await Promise.all(all)
    expect(most).toBe(1)
    const tokens = started.map(({ token }) => token)
    expect(tokens).toEqual([...new Set(tokens)].toSorted((x, y) => x - y))
    expect(new Set(started.map(({ id }) => id)).size).toBeGreaterThan(1)
  }, 30_000)

  it('starts the work when the node knows itself as the leader', async () => {
    await group(['a', 'b', 'c'], { isolation })
    const seen = await new Promise<unknown>((resolve) => {
      void byId('b').lead((term) => {
        const { role, leader } = byId('b').view()
        resolve({ role, leader: leader?.id, token: leader?.token === term.token })
        return untilItEnds(term)
      })
    })
    expect(seen).toEqual({ role: 'leader', leader: 'b', token: true })
  }, 30_000)

  it('starts no work in a term that ended between the election and the work', async () => {
    await group(['a'], { isolation })
    const node = byId('a')
    let isAbortedAtStart = false
    let rounds = 0
    node.on('elected', async () => {
      // oxlint-disable-next-line no-await-in-loop -- one microtask after the other
      for (let step = 0; step < rounds; step++) await Promise.resolve()
      await node.stepDown()
      rounds += 1
    })
    void node.lead((term) => {
      isAbortedAtStart ||= term.signal.aborted
      return term.signal.aborted ? undefined : untilItEnds(term)
    })
    await until(() => rounds > 12)
    expect(isAbortedAtStart).toBe(false)
  }, 30_000)

  it('is needed: a node without it votes, but is never elected', async () => {
    await group(['a', 'b', 'c'], { isolation })
    void byId('c').lead(untilItEnds)
    await until(() => leaderOf('a') === 'c')
    expect(byId('a').view().role).toBe('follower')
  }, 30_000)

  it('keeps the term until the work has ended, although stepDown was called', async () => {
    await group(['a', 'b', 'c'], { isolation })
    let letGo: () => void = () => {}
    let held: Term | null = null
    const led = byId('a').lead(
      (term) => {
        held = term
        return new Promise<void>((resolve) => {
          letGo = resolve
        })
      },
      { once: true },
    )
    await until(() => held !== null)
    let hasBegun = false
    void byId('b').lead((term) => {
      hasBegun = true
      return untilItEnds(term)
    })
    const stepped = byId('a').stepDown()
    const term = held as unknown as Term
    expect(term.signal.aborted).toBe(true)
    expect(() => term.assertHeld()).toThrow(LeadershipLostError)
    await setTimeout(100)
    expect(hasBegun).toBe(false)
    letGo()
    expect(await stepped).toBe(true)
    await led
    await until(() => leaderOf('c') === 'b')
  }, 30_000)

  it('continues when the work rethrows the end of its term in any form', async () => {
    await group(['a', 'b', 'c'], { isolation })
    let terms = 0
    const done = new AbortController()
    const led = byId('a').lead(
      async ({ signal }) => {
        terms += 1
        if (terms === 2) done.abort()
        else await setTimeout(60_000, undefined, { signal })
      },
      { signal: done.signal },
    )
    await until(() => terms === 1)
    await byId('a').stepDown()
    await led
    expect(terms).toBe(2)
  }, 30_000)

  it('reports the end of every term, for any reason, and rethrows an error of the work', async () => {
    await group(['a', 'b', 'c'], { isolation })
    const reasons: string[] = []
    byId('a').on('revoked', ({ reason }) => reasons.push(reason))
    await expect(
      byId('a').lead(() => {
        throw new Error('the work failed')
      }),
    ).rejects.toThrow('the work failed')
    await until(() => reasons.length > 0)
    expect(reasons).toEqual(['stepped down'])
  }, 30_000)
})

describe.each(ISOLATIONS)('status, with its election in a %s', (isolation) => {
  it('reports reachable nodes, voters, and the remaining time of the lease', async () => {
    await group(['a', 'b', 'c'], { isolation })
    void byId('a').lead(untilItEnds)
    await until(
      () =>
        leaderOf('b') === 'a' &&
        byId('b')
          .status()
          .nodes.every(({ reachable: there }) => there),
    )
    const status = byId('b').status()
    expect(status).toMatchObject({
      role: 'follower',
      mode: 'majority',
      voters: [['a', 'b', 'c']],
      idle: null,
    })
    expect(status.leaseMs).toBeGreaterThan(0)
    expect(status.nodes.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    await byId('c').close()
    await until(() => byId('b').status().nodes[2]?.reachable === false)
    expect(byId('b').status().nodes[2]?.heardMsAgo).toBeGreaterThan(0)
    expect(byId('c').status().idle).toBe('closed')
  }, 30_000)
})

describe.each(ISOLATIONS)('view, with its election in a %s', (isolation) => {
  it('never names a leader again that has released its lease', async () => {
    await group(['a', 'b', 'c'], { isolation, options: { sigmaMs: 100, renewalIntervalMs: 50 } })
    for (const id of ['a', 'b']) void byId(id).lead(untilItEnds)
    await until(() => leaderOf('c') !== null)
    const tokens: number[] = []
    const released = new Set<number>()
    const namedAgain: number[] = []
    let isWatching = true
    const watching = (async () => {
      while (isWatching) {
        const token = byId('c').view().leader?.token ?? 0
        if (token !== tokens.at(-1)) {
          tokens.push(token)
          if (released.has(token)) namedAgain.push(token)
        }
        // oxlint-disable-next-line no-await-in-loop -- at every turn of the event loop
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const handOver = async (): Promise<void> => {
      // A follower may know the new leader first, and a node that does not know its term yet has none to end.
      await until(() => ['a', 'b'].some((id) => leaderOf('c') === id && byId(id).view().role === 'leader'))
      const before = Math.max(...tokens)
      await byId(leaderOf('c') as string).stepDown()
      released.add(before)
      await until(() => (tokens.at(-1) as number) > before)
    }
    try {
      // oxlint-disable-next-line no-await-in-loop -- one hand-over after the other
      for (let round = 0; round < 10; round++) await handOver()
    } finally {
      isWatching = false
      await watching
    }
    expect(namedAgain).toEqual([])
    // A leader that has released its lease is no leader (0) until the next one is known. A node that stalls may also lose
    // sight of a leader for a while.
    const named = tokens.filter((token) => token !== 0)
    expect(named).toEqual(named.toSorted((x, y) => x - y))
    expect(new Set(named).size).toBeGreaterThan(10)
  }, 60_000)
})

describe.each(ISOLATIONS)('observe, with its election in a %s', (isolation) => {
  it('reports the leader, and every change of it, until it ends', async () => {
    await group(['a', 'b', 'c'], { isolation })
    const seen: NodeView[] = []
    const stop = new AbortController()
    void byId('a').lead(untilItEnds)
    const watching = (async () => {
      for await (const view of byId('c').observe({ signal: stop.signal })) seen.push(view)
    })()
    await until(() => seen.at(-1)?.leader?.id === 'a')
    void byId('b').lead(untilItEnds)
    await byId('a').close()
    await until(() => seen.at(-1)?.leader?.id === 'b')
    stop.abort()
    await watching
    const tokens = seen.flatMap(({ leader }) => (leader === null ? [] : [leader.token as number]))
    expect(tokens).toEqual(tokens.toSorted((x, y) => x - y))
  }, 30_000)
})

it('runs one lead at a time: a second one is refused with advice, and the first continues', async () => {
  const node = await join({
    group: 'g',
    id: 'a',
    listen: '127.0.0.1:0',
    peers: [],
    key: KEY,
    options: PATIENT,
  })
  members = [node]
  const started = pending()
  const leading = node.lead(async ({ signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  await started.promise
  await expect(node.lead(() => {})).rejects.toThrow(AlreadyLeadingError)
  await expect(node.lead(() => {})).rejects.toThrow(/is running; .* abort the first by its signal/)
  expect(node.view().role).toBe('leader')
  await node.close()
  await leading
}, 30_000)

describe('joining', () => {
  const good: JoinOptions = { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: ['b=127.0.0.1:9'], key: KEY }

  it('rejects invalid options before anything is opened, all problems at once', async () => {
    const wrong = { ...good, id: 'a b', listen: '127.0.0.1', drainMs: -1 }
    await expect(join(wrong)).rejects.toMatchObject({
      name: 'InvalidOptionsError',
      code: 'ERR_CONCLAVE_INVALID_OPTIONS',
      field: 'drainMs',
      problems: [{ field: 'drainMs' }, { field: 'id' }, { field: 'listen' }],
    })
    await expect(join({ ...good, key: new Uint8Array(3) })).rejects.toMatchObject({
      name: 'InvalidKeyError',
      code: 'ERR_CONCLAVE_INVALID_KEY',
    })
  })

  it('keeps its promises in the data directory, which one process at a time may use', async () => {
    const data = mkdtempSync(pathJoin(tmpdir(), 'conclave-member-'))
    const alone = { ...good, peers: [], data, options: PATIENT }
    const tokens: number[] = []
    const tokenOf = async (): Promise<void> => {
      await using node = await join(alone)
      await expect(join(alone)).rejects.toThrow('is used by another process')
      await node.lead((term) => void tokens.push(term.token as number), { once: true })
    }
    await tokenOf()
    await tokenOf()
    expect(tokens).toHaveLength(2)
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number)
    rmSync(data, { recursive: true })
  }, 30_000)

  it('without a data directory starts silent, with larger tokens than before its restart', async () => {
    const alone = { ...good, peers: [], options: PATIENT }
    const tokens: number[] = []
    for (let life = 0; life < 2; life++) {
      // oxlint-disable-next-line no-await-in-loop -- one life after the other
      const node = await join(alone)
      members = [node]
      // oxlint-disable-next-line no-await-in-loop -- one life after the other
      await until(() => node.status().idle === 'silent after a restart')
      // oxlint-disable-next-line no-await-in-loop -- one life after the other
      await node.lead((term) => void tokens.push(term.token as number), { once: true })
      // oxlint-disable-next-line no-await-in-loop -- one life after the other
      await node.close()
    }
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number)
  }, 30_000)

  it('can be aborted, before and after', async () => {
    const reason = new Error('given up')
    await expect(join({ ...good, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const given = new AbortController()
    const joining = join({ ...good, peers: [], signal: given.signal })
    given.abort(reason)
    await expect(joining).rejects.toBe(reason)
    const later = new AbortController()
    const node = await join({ ...good, peers: [], signal: later.signal })
    members = [node]
    const led = node.lead(untilItEnds)
    later.abort()
    await led
    expect([node.isClosed, node.ineligibleReason]).toEqual([true, 'closed'])
  })

  it.each(ISOLATIONS)(
    'on an address in use is refused, and the error names the field, in a %s',
    async (isolation) => {
      const [port = 0] = await freePorts(1)
      const listen = `127.0.0.1:${port}`
      const squatter = createSocket('udp4').bind(port, '127.0.0.1')
      await once(squatter, 'listening')
      const refused = join({ ...good, listen, isolation })
      await expect(refused).rejects.toThrow(/^listen: .*another process uses the address/)
      await expect(refused).rejects.toBeInstanceOf(InvalidOptionsError)
      squatter.close()
      await once(squatter, 'close')
      members = [await join({ ...good, listen, isolation })]
    },
  )

  it('warns when another process is configured differently, and names the setting', async () => {
    const [one = 0, two = 0] = await freePorts(2)
    const warnings: string[] = []
    const options = (
      id: string,
      port: number,
      peer: string,
      peerPort: number,
      sigmaMs: number,
    ): JoinOptions => ({
      ...good,
      id,
      listen: `127.0.0.1:${port}`,
      peers: [`${peer}=127.0.0.1:${peerPort}`],
      options: { ...PATIENT, sigmaMs },
    })
    // A difference is reported once, so each node is listened to before the other one speaks.
    for (const settings of [options('a', one, 'b', two, 100), options('b', two, 'a', one, 120)]) {
      // oxlint-disable-next-line no-await-in-loop -- the first must be listened to before the second starts
      const member = await join(settings)
      member.on('warning', ({ detail }) => warnings.push(detail))
      members.push(member)
    }
    await until(() => warnings.length >= 2)
    expect(warnings.some((text) => text.startsWith('b is configured differently: '))).toBe(true)
    expect(warnings.some((text) => text.startsWith('a is configured differently: '))).toBe(true)
    expect([leaderOf('a'), leaderOf('b')]).toEqual([null, null])
  }, 30_000)
})

describe.each(ISOLATIONS)('orders, with the election in a %s', (isolation) => {
  it('change the priority and the voters; a command that the protocol refuses throws', async () => {
    await group(['a', 'b', 'c'], { isolation })
    void byId('a').lead(untilItEnds)
    await until(() => leaderOf('c') === 'a')
    void byId('b').lead(untilItEnds)
    await Promise.all(
      [1.5, Number.NaN, 1e7, 'x' as unknown as number].map((nonsense) =>
        expect(byId('b').setPriority(nonsense)).rejects.toThrow('setPriority was refused: '),
      ),
    )
    await byId('b').setPriority(3)
    await until(() => leaderOf('c') === 'b')
    for (const nonsense of [undefined, null, '', 1.5, {}] as unknown as string[]) {
      for (const order of ['addVoter', 'removeVoter', 'removePeer'] as const) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other, to the same node
        await expect(byId('b')[order](nonsense)).rejects.toThrow('must be the id of a node')
      }
    }
    await expect(byId('b').addPeer(undefined as unknown as string)).rejects.toThrow('peer: ')
    await expect(byId('a').removeVoter('c')).rejects.toThrow(CommandRefusedError)
    await expect(byId('a').removeVoter('c')).rejects.toThrow('this node does not lead')
    await expect(byId('a').setPriority(1, { signal: AbortSignal.abort() })).rejects.toThrow('abort')
    const changes: unknown[] = []
    byId('b').on('voters', (sets) => changes.push(sets))
    await byId('b').removeVoter('c')
    await until(() => JSON.stringify(changes.at(-1)) === '[["a","b"]]')
    await until(() => JSON.stringify(byId('a').status().voters) === '[["a","b"]]')
    await until(() => byId('c').view().role === 'observer')
    await byId('c').close()
    await expect(byId('c').setPriority(1)).rejects.toThrow(NodeClosedError)
  }, 30_000)

  it('an observer follows the leader and never leads; a witness never leads', async () => {
    const ids = ['a', 'b', 'c', 'd']
    const ports = await freePorts(ids.length)
    const at = (id: string): string => `127.0.0.1:${ports[ids.indexOf(id)]}`
    members = await Promise.all(
      ids.map((id) =>
        join({
          group: 'test',
          id,
          listen: at(id),
          peers: ids.flatMap((peer) => (peer === id ? [] : [`${peer}=${at(peer)}`])),
          key: KEY,
          isolation,
          ...(id === 'a' ? { observer: true } : {}),
          ...(id === 'b' ? { witness: true } : {}),
          options: { ...PATIENT, ...(id === 'a' ? {} : { observers: ['a'] }) },
        }),
      ),
    )
    for (const member of members) void member.lead(untilItEnds)
    const first = (): unknown => leaderOf('a')
    await until(() => first() !== null && ids.every((id) => leaderOf(id) === first()))
    const [leader, other] = first() === 'c' ? ['c', 'd'] : ['d', 'c']
    expect([leader, byId('a').ineligibleReason, byId('b').ineligibleReason]).toEqual([
      first(),
      'observer',
      'witness',
    ])
    expect(byId('a').view().role).toBe('observer')
    expect(byId('b').status().voters).toEqual([['b', 'c', 'd']])
    // The observer takes part in nothing, and is reachable all the same, for longer than evidence counts.
    const isObserverReachable = (): boolean =>
      byId(other)
        .status()
        .nodes.some(({ id, reachable }) => id === 'a' && reachable)
    await until(isObserverReachable)
    for (let step = 0; step < 20; step++) {
      // oxlint-disable-next-line no-await-in-loop -- it must stay reachable, not only become so
      await setTimeout(200)
      expect(isObserverReachable()).toBe(true)
    }
    const warned = byId('a').status().warnings
    expect(warned.filter(({ what }) => what === 'link')).toEqual([])
    await byId(leader).close()
    await until(() => leaderOf('a') === other)
  }, 30_000)
})
