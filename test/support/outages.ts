/** What befalls every server sooner or later, and what its registers must say to it. */
import { afterEach, describe, expect, it } from 'vitest'
import type { CellStore } from '../../src/registers/index.ts'
import { openRegisters, type Registers } from '../../src/registers/index.ts'
import { type OwnServer, ownServer, type ServerName } from './servers.ts'

/** The first operation that the store answers again. */
async function onceAnswered<T extends { readonly outcome: string }>(operation: () => Promise<T>): Promise<T> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it answers
    const answer = await operation()
    if (answer.outcome !== 'unknown') return answer
    // oxlint-disable-next-line no-await-in-loop -- until it answers
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export function outages(name: ServerName, open: (url: string, group: string) => Promise<CellStore>): void {
  describe(`when ${name} is not well`, () => {
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
      const node = openRegisters(await open(mine.url, 'g'), { self: 'a', timeoutMs: 1000, knockMs: 50 })
      nodes.push(node)
      expect(await onceAnswered(() => node.claim())).toMatchObject({ outcome: 'ok' })
      expect(await node.write({ ctr: 1 })).toEqual({ outcome: 'ok' })
      return [mine, node]
    }

    it('a server that hangs leaves a write unknown, and whatever became of it is found later', async () => {
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
      // What was sent while it hung has been refused by now, or will be.
      const round = await onceAnswered(() => node.readAll())
      expect(round.outcome === 'ok' && round.blocks.get('a')?.value).toEqual({ ctr: 3 })
    })

    it('a server that is killed and comes back has lost nothing that it acknowledged', async () => {
      const [mine, node] = await started()
      await mine.kill()
      expect(await node.readAll()).toMatchObject({ outcome: 'unknown' })
      expect(await node.write({ ctr: 2 })).toMatchObject({ outcome: 'unknown' })
      await mine.restart()
      const claim = await onceAnswered(() => node.claim())
      expect(claim).toMatchObject({ outcome: 'ok', own: { incarnation: 2 } })
      // The second write may still have been under way when the server came back.
      const value = claim.outcome === 'ok' ? claim.own.value : claim
      expect([{ ctr: 1 }, { ctr: 2 }]).toContainEqual(value)
      expect(await node.write({ ctr: 3 })).toEqual({ outcome: 'ok' })
    })
  })
}
