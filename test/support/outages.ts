/** Outages that every server has eventually, and the required outcome of register operations. */
/* oxlint-disable no-await-in-loop -- one call after the other: that is what is tried */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Plain } from '../../src/core/index.ts'
import { StoreProxy } from '../../src/service/chaos/store-proxy.ts'
import type { CellStore } from '../../src/service/registers/index.ts'
import { openRegisters, type Registers } from '../../src/service/registers/index.ts'
import { type OwnServer, ownServer, type ServerName } from './servers.ts'
import { until } from './wait.ts'

/** The first operation that the store answers again. */
async function onceAnswered<T extends { readonly outcome: string }>(operation: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await operation()
    if (answer.outcome !== 'unknown') return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Network faults in front of a server that all tests share. They do not harm the server. */
export function networkFaults(
  name: ServerName | 's3',
  url: string,
  open: (url: string, group: string) => Promise<CellStore>,
): void {
  describe(`when the network before ${name} has faults`, () => {
    let proxy: StoreProxy
    let node: Registers
    let count = 0

    beforeEach(async () => {
      proxy = await StoreProxy.start(url)
      count += 1
      const store = await open(proxy.rewrite(url), `network-${process.pid}-${count}`)
      node = openRegisters(store, { self: 'a', timeoutMs: 400, probeMs: 50 })
      await onceAnswered(() => node.claim())
      await written({ ctr: 1 })
    })

    afterEach(async () => {
      proxy.heal()
      await node.close()
      await proxy.close()
    })

    /** On a busy machine an access may take longer than the limit. */
    async function written(value: Plain): Promise<void> {
      while ((await node.write(value)).outcome === 'unknown') await onceAnswered(() => node.claim())
    }

    async function present(): Promise<Plain | undefined> {
      const round = await onceAnswered(() => node.readAll())
      return round.outcome === 'ok' ? round.blocks.get('a')?.value : undefined
    }

    it('abandons a half-open connection, releases it, and opens another', async () => {
      proxy.inject({ is: 'stall' })
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      for (let tries = 0; tries < 4; tries++)
        expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
      // One connection, or a few if the client pools; not one more for every call that timed out.
      expect(proxy.connections).toBeLessThanOrEqual(2)
      proxy.heal()
      expect(await onceAnswered(() => node.claim())).toMatchObject({ outcome: 'ok' })
      await written({ ctr: 3 })
      expect(await present()).toEqual({ ctr: 3 })
    })

    it('treats a write whose reply was lost as unknown, and finds it later', async () => {
      proxy.inject({ is: 'mute' })
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      proxy.heal()
      const claim = await onceAnswered(() => node.claim())
      // The server has applied the write: only the reply was lost. (A PostgreSQL client first asks for its
      // parameter types and sends the rest after that reply.)
      const applied = name === 'postgres' ? [{ ctr: 1 }, { ctr: 2 }] : [{ ctr: 2 }]
      expect(applied).toContainEqual(claim.outcome === 'ok' ? claim.own.value : claim)
      await written({ ctr: 3 })
      expect(await present()).toEqual({ ctr: 3 })
    })

    it('treats a write that was cut off in the middle as unknown, and continues afterwards', async () => {
      proxy.inject({ is: 'cut', share: 1 })
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      proxy.heal()
      const claim = await onceAnswered(() => node.claim())
      expect(claim).toMatchObject({ outcome: 'ok', own: { value: { ctr: 1 } } })
      await written({ ctr: 3 })
      expect(await present()).toEqual({ ctr: 3 })
    })

    it('fails fast while connections are refused, without blocking the event loop', async () => {
      proxy.inject({ is: 'refuse' })
      let calls = 0
      let ticks = 0
      const timer = setInterval(() => (ticks += 1), 1)
      while (ticks < 20 && calls < 100_000) {
        calls += 1
        expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
        await new Promise((resolve) => setImmediate(resolve))
      }
      clearInterval(timer)
      expect(ticks).toBeGreaterThanOrEqual(20)
      proxy.heal()
      expect(await onceAnswered(() => node.readAll())).toMatchObject({ outcome: 'ok' })
    })

    it('releases an abandoned connection attempt', async () => {
      // All connections break, and new connections are refused.
      proxy.inject({ is: 'refuse' })
      proxy.inject({ is: 'stall' })
      await until(() => proxy.connections === 0)
      let tries: Promise<unknown> = Promise.resolve()
      await until(() => {
        tries = Promise.all([tries, node.readAll()])
        return proxy.connections > 0
      })
      await tries
      await node.close()
      await until(() => proxy.connections === 0)
      expect(proxy.connections).toBe(0)
    })

    it.each(['stall', 'refuse', 'mute'] as const)('holds no connection after a close (%s)', async (is) => {
      proxy.inject({ is })
      const given = Promise.all([node.readAll(), node.write({ ctr: 2 })])
      await node.close()
      await given
      await until(() => proxy.connections === 0)
      expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
      expect(proxy.connections).toBe(0)
    })
  })
}

/** `url`: of the server that all tests share. */
export function outages(
  name: ServerName,
  url: string,
  open: (url: string, group: string) => Promise<CellStore>,
): void {
  networkFaults(name, url, open)
  describe(`when ${name} fails`, () => {
    let server: OwnServer | null = null
    let nodes: Registers[] = []
    afterEach(async () => {
      await Promise.allSettled(nodes.map((node) => node.close()))
      await server?.end()
      nodes = []
    })

    async function started(): Promise<readonly [OwnServer, Registers]> {
      const mine = await ownServer(name)
      server = mine
      const node = openRegisters(await open(mine.url, 'g'), { self: 'a', timeoutMs: 1000, probeMs: 50 })
      nodes.push(node)
      expect(await onceAnswered(() => node.claim())).toMatchObject({ outcome: 'ok' })
      expect(await node.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
      return [mine, node]
    }

    it('a server that hangs leaves a write unknown, and its outcome is found later', async () => {
      const [mine, node] = await started()
      await mine.pause()
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
      expect(await node.claim()).toMatchObject({ outcome: 'unknown' })
      await mine.resume()
      const claim = await onceAnswered(() => node.claim())
      const value = claim.outcome === 'ok' ? claim.own.value : claim
      expect([{ ctr: 1 }, { ctr: 2 }]).toContainEqual(value)
      expect(await node.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
      // Requests sent while it hung have been refused by now, or will be.
      const round = await onceAnswered(() => node.readAll())
      expect(round.outcome === 'ok' && round.blocks.get('a')?.value).toEqual({ ctr: 3 })
    })

    it('a server that is killed and restarted has lost no acknowledged write', async () => {
      const [mine, node] = await started()
      await mine.kill()
      expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      await mine.restart()
      const claim = await onceAnswered(() => node.claim())
      expect(claim).toMatchObject({ outcome: 'ok', own: { incarnation: 2 } })
      // The second write may still have been in flight when the server came back.
      const value = claim.outcome === 'ok' ? claim.own.value : claim
      expect([{ ctr: 1 }, { ctr: 2 }]).toContainEqual(value)
      expect(await node.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
    })
  })
}
