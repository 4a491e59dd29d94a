import { describe, expect, it } from 'vitest'
import { type ConclaveNode, LeadershipLostError, type Term } from '../node/index.ts'
import { NodeCrashedError, type Testkit, testkit } from './index.ts'

const NODES = ['a', 'b', 'c']

/** Work that lasts as long as the term. */
function untilItEnds({ signal }: Term): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

async function all(kit: Testkit): Promise<ConclaveNode[]> {
  return Promise.all(NODES.map((id) => kit.join(id)))
}

/** Calls `lead` on all nodes, and logs events with the simulated time. */
async function leading(kit: Testkit, log: string[]): Promise<ConclaveNode[]> {
  const members = await all(kit)
  for (const member of members) {
    member.on('elected', ({ token }) => log.push(`${kit.nowMs.toFixed(0)} ${member.id} elected ${token}`))
    member.on('revoked', ({ reason }) => log.push(`${kit.nowMs.toFixed(0)} ${member.id} revoked ${reason}`))
    member.lead(untilItEnds).catch((error: Error) => log.push(`${member.id} ${error.name}`))
  }
  await kit.until(() => kit.leaders.length === 1)
  return members
}

describe('testkit', () => {
  it('has no leader before a node joins and calls lead', async () => {
    const kit = testkit({ nodes: NODES })
    await kit.advance(1000)
    const [a] = await all(kit)
    await kit.advance(1000)
    expect([kit.leaders, a?.view().leader, kit.nowMs]).toEqual([[], null, 2000])
  })

  it('repeats a run exactly', async () => {
    const run = async (): Promise<readonly string[]> => {
      const log: string[] = []
      const kit = testkit({ nodes: NODES, loss: 0.05 })
      await leading(kit, log)
      kit.crash('a')
      await kit.advance(2000)
      return log
    }
    const [first, second] = [await run(), await run()]
    expect(first).toEqual(second)
    expect(first.length).toBeGreaterThan(2)
  })

  it('hands over to a chosen node, and says in virtual time how long that took', async () => {
    const kit = testkit({ nodes: NODES })
    const [a] = await leading(kit, [])
    const handOver = a?.handOver({ to: 'c' })
    await kit.until(() => kit.leaders.includes('c'))
    await kit.advance(100)
    expect(await handOver).toMatchObject({ to: 'c', leader: { id: 'c', token: 2 }, problem: null })
    expect((await handOver)?.afterMs).toBeLessThanOrEqual(100)
    await expect(a?.handOver({ to: 'b' })).rejects.toThrow('this node does not lead')
    await expect(a?.handOver({} as { to: string })).rejects.toThrow('to: ')
  })

  it('says after 5 s that the chosen node does not lead if no message arrives', async () => {
    const kit = testkit({ nodes: NODES })
    const [a] = await leading(kit, [])
    const handOver = a?.handOver({ to: 'c' })
    kit.partition(['a'], ['b'], ['c'])
    await kit.advance(6000)
    expect(await handOver).toEqual({
      to: 'c',
      released: true,
      leader: null,
      afterMs: null,
      problem: 'this node knows no leader 5 s after it released its lease',
    })
  })

  it('elects the next leader after a crash with a larger token, and lets the crashed node return', async () => {
    const log: string[] = []
    const kit = testkit({ nodes: NODES })
    const [a] = await leading(kit, log)
    kit.crash('a')
    await kit.until(() => kit.leaders.includes('b'))
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'a elected 1',
      'a revoked failed',
      'a NodeCrashedError',
      'b elected 2',
    ])
    await expect(a?.lead(untilItEnds)).rejects.toThrow(NodeCrashedError)
    const again = await kit.join('a')
    await kit.until(() => again.view().leader?.id === 'b')
  })

  it('ends the term of a leader without a majority before the next term starts', async () => {
    const kit = testkit({ nodes: NODES })
    const log: string[] = []
    await leading(kit, log)
    kit.partition(['a'], ['b', 'c'])
    await kit.until(() => log.length >= 3)
    expect(log.map((line) => line.split(' ').slice(1).join(' '))).toEqual([
      'a elected 1',
      'a revoked expired',
      'b elected 2',
    ])
    kit.heal()
    await kit.advance(500)
    expect(kit.leaders).toEqual(['b'])
  })

  it('aborts the work while the lease still lasts', async () => {
    const kit = testkit({ nodes: NODES })
    const [a] = await all(kit)
    const leadersAtEnd: (readonly string[])[] = []
    void a?.lead(async (term) => {
      await untilItEnds(term)
      leadersAtEnd.push(kit.leaders)
    })
    await kit.until(() => kit.leaders.includes('a'))
    kit.partition(['a'])
    await kit.until(() => leadersAtEnd.length > 0)
    expect(leadersAtEnd).toEqual([['a']])
  })

  it('reports a paused leader late, but answers its questions about the term correctly', async () => {
    const kit = testkit({ nodes: NODES })
    const [a] = await all(kit)
    let term: Term | null = null
    void a?.lead((given) => {
      term = given
      return untilItEnds(given)
    })
    await kit.until(() => term !== null)
    const held = term as unknown as Term
    held.assertHeld()
    expect(held.remaining()).toBeGreaterThan(0)
    kit.pause('a', 1000)
    await kit.advance(500)
    expect(held.signal.aborted).toBe(false)
    expect(() => held.assertHeld()).toThrow(LeadershipLostError)
    await kit.advance(600)
    expect(held.signal.aborted).toBe(true)
  })

  it('ends the term of a host that was suspended', async () => {
    const kit = testkit({ nodes: NODES })
    const log: string[] = []
    await leading(kit, log)
    kit.suspend('a', 200)
    await kit.advance(400)
    expect(log.some((line) => line.endsWith('a revoked suspended'))).toBe(true)
  })

  it('keeps the lease for drainMs if the work does not end, then lets it expire', async () => {
    const kit = testkit({ nodes: NODES })
    const a = await kit.join('a', { drainMs: 700 })
    const [b] = await Promise.all([kit.join('b'), kit.join('c')])
    let letGo: () => void = () => {}
    const warnings: string[] = []
    a.on('warning', ({ what }) => warnings.push(what))
    const led = a.lead(
      () =>
        new Promise<void>((resolve) => {
          letGo = resolve
        }),
      { once: true },
    )
    await kit.until(() => kit.leaders.includes('a'))
    void b.lead(untilItEnds)
    const stepped = a.stepDown()
    await kit.advance(650)
    expect([kit.leaders, a.ineligibleReason]).toEqual([['a'], null])
    await kit.advance(600)
    expect([await stepped, kit.leaders, warnings, a.ineligibleReason]).toEqual([
      false,
      ['b'],
      ['draining'],
      'work not ended',
    ])
    letGo()
    await kit.advance(10)
    await led
  })

  it('ends the work of an outranked leader before the other starts', async () => {
    const kit = testkit({ nodes: NODES })
    const [a, b] = await all(kit)
    const log: string[] = []
    const work = (id: string) => async (term: Term) => {
      log.push(`${id} begins`)
      await untilItEnds(term)
      await kit.sleep(30)
      log.push(`${id} ends: ${(term.signal.reason as LeadershipLostError).reason}`)
    }
    void a?.lead(work('a'))
    await kit.until(() => kit.leaders.includes('a'))
    void b?.lead(work('b'))
    await b?.setPriority(5)
    await kit.until(() => log.length >= 3)
    expect(log).toEqual(['a begins', 'a ends: outranked', 'b begins'])
  })

  it('rotates leaders, each after the work of the previous one', async () => {
    const kit = testkit({ nodes: NODES, options: { termMs: 300 } })
    const log: string[] = []
    for (const member of await all(kit)) {
      void member.lead(async (term) => {
        log.push(`${member.id} begins`)
        await untilItEnds(term)
        await kit.sleep(20)
        log.push(`${member.id} ends`)
      })
    }
    await kit.until(() => log.length >= 8)
    const expected = ['a', 'b', 'c', 'a'].flatMap((id) => [`${id} begins`, `${id} ends`])
    expect(log.slice(0, 8)).toEqual(expected)
  })

  it('ends lead when its signal is aborted, after the work', async () => {
    const kit = testkit({ nodes: NODES })
    const [a] = await all(kit)
    const stop = new AbortController()
    const log: string[] = []
    const led = a
      ?.lead(
        async (term) => {
          await untilItEnds(term)
          log.push(`work ended: ${(term.signal.reason as LeadershipLostError).reason}`)
        },
        { signal: stop.signal },
      )
      .then(() => log.push('lead ended'))
    await kit.until(() => kit.leaders.includes('a'))
    stop.abort()
    await kit.advance(1)
    await led
    expect(log).toEqual(['work ended: stopped', 'lead ended'])
    expect(kit.leaders).toEqual([])
  })

  it('names unknown nodes and repeated calls', async () => {
    const kit = testkit({ nodes: NODES })
    await expect(kit.join('z')).rejects.toThrow('unknown node "z"; the nodes are a, b, c')
    await kit.join('a')
    await expect(kit.join('a')).rejects.toThrow('a has already joined')
    const advancing = kit.advance(10)
    await expect(kit.advance(10)).rejects.toThrow('another advance() is running')
    await advancing
  })
})

describe('the health check, in simulated time', () => {
  it('keeps an unhealthy node from leading, makes it step down, and reports the reason once', async () => {
    const kit = testkit({ nodes: NODES })
    let isWell: () => boolean | Promise<boolean> = () => true
    const a = await kit.join('a', {
      healthy: () => isWell(),
      healthIntervalMs: 100,
      healthTimeoutMs: 50,
      priority: 1,
    })
    const [b] = await Promise.all([kit.join('b'), kit.join('c')])
    const warnings: string[] = []
    const reasons: string[] = []
    a.on('warning', ({ what, detail }) => warnings.push(`${what}: ${detail.split(':')[0]}`))
    a.on('revoked', ({ reason }) => reasons.push(reason))
    void a.lead(untilItEnds)
    void b.lead(untilItEnds)
    await kit.until(() => kit.leaders.includes('a'))
    for (const sick of [
      () => false,
      () => Promise.reject(new Error('no database')),
      () => new Promise<boolean>(() => {}),
    ]) {
      isWell = sick
      // oxlint-disable-next-line no-await-in-loop -- one illness after the other
      await kit.until(() => kit.leaders.includes('b'), 1000)
      // oxlint-disable-next-line no-await-in-loop -- it stays so
      await kit.advance(1000)
      expect([kit.leaders, a.ineligibleReason]).toEqual([['b'], 'unhealthy'])
      isWell = () => true
      // oxlint-disable-next-line no-await-in-loop -- and is over
      await kit.until(() => kit.leaders.includes('a'), 2000)
    }
    expect(warnings).toEqual([
      'unhealthy: healthy() answered false; this node does not lead until it is healthy again',
      'unhealthy: healthy() failed',
      'unhealthy: healthy() did not answer within 50 ms; this node does not lead until it is healthy again',
    ])
    expect(reasons).toEqual(['unhealthy', 'unhealthy', 'unhealthy'])
  })
})
