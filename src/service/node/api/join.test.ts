/** Joining that is aborted, repeated, or has no worker: it leaves nothing behind. */
import { getEventListeners } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { until } from '../../../../test/support/wait.ts'
import { threadScript } from '../election/worker-script.ts'
import { ElectionThread } from '../election/worker-thread.ts'
import { type JoinOptions, join, type StoreJoinOptions } from '../index.ts'

const ISOLATIONS = ['worker', 'thread'] as const
let folder: string

beforeEach(() => {
  folder = mkdtempSync(pathJoin(tmpdir(), 'conclave-join-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function places(isolation: 'worker' | 'thread'): Promise<readonly (JoinOptions | StoreJoinOptions)[]> {
  const [port] = await freePorts(1)
  const common = { group: 'g', id: 'a', isolation }
  const key = new Uint8Array(32).fill(1)
  return [
    { ...common, listen: `127.0.0.1:${port}`, peers: [], key, data: pathJoin(folder, 'fixed') },
    { ...common, listen: '127.0.0.1:0', peers: [], key, data: pathJoin(folder, 'any') },
    { ...common, protocol: 'epochs', store: `file:${pathJoin(folder, 'store')}` },
  ]
}

describe.each(ISOLATIONS)('joining with the election in a %s', (isolation) => {
  it('leaves nothing behind when its signal is aborted', async () => {
    const { signal } = new AbortController()
    for (const options of await places(isolation)) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const node = await join({ ...options, signal })
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await node.close()
      expect(getEventListeners(signal, 'abort')).toEqual([])
      const bad = { ...options, signal, options: { noSuchOption: 1 } } as JoinOptions
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(join(bad)).rejects.toThrow('options')
      expect(getEventListeners(signal, 'abort')).toEqual([])
    }
  }, 60_000)

  it('can be repeated right after it was aborted, at any moment', async () => {
    for (const options of await places(isolation)) {
      for (const pauses of [0, 20]) {
        const stop = new AbortController()
        const given = join({ ...options, signal: stop.signal })
        // oxlint-disable-next-line no-await-in-loop -- another moment each time
        for (let turn = 0; turn < pauses; turn++) await setImmediate()
        stop.abort()
        const again = join(options)
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const [first, node] = await Promise.all([
          given.then(
            () => 'joined before it was aborted',
            (error: Error) => error.name,
          ),
          again,
        ])
        expect(['AbortError', 'joined before it was aborted']).toContain(first)
        let hasLed = false
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await node.lead(async () => void (hasLed = true), { once: true })
        expect(hasLed).toBe(true)
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await node.close()
      }
    }
  }, 60_000)

  it('rejects at once with the reason of a signal that was aborted before', async () => {
    const reason = new Error('shutting down')
    const signal = AbortSignal.abort(reason)
    const all = (await places(isolation)).map((options) => join({ ...options, signal }))
    for (const result of await Promise.allSettled(all)) expect(result).toEqual({ status: 'rejected', reason })
    expect(existsSync(pathJoin(folder, 'fixed'))).toBe(false)
  })
})

describe('the thread of an election', () => {
  it.each([
    ['never sends a message', 'setInterval(() => {}, 1000)', 'it did not start within 200 ms'],
    [
      'is another',
      "require('worker_threads').parentPort.postMessage('hello'); setInterval(() => {}, 1000)",
      'is not its script',
    ],
    ['fails', "throw new Error('no such module')", 'no such module'],
    ['ends', '', 'it ended with code 0'],
  ])('that %s is abandoned', async (_what, script, why) => {
    const file = pathJoin(folder, 'worker.cjs')
    writeFileSync(file, script)
    const lost: string[] = []
    const onLost = (error: Error): void => void lost.push(error.message)
    // Only the worker that never sends a message may meet its deadline, on any machine.
    const maxStartMs = why.includes('200 ms') ? 200 : 20_000
    const thread = ElectionThread.at(null, onLost, { file: pathToFileURL(file), maxStartMs })
    await until(() => lost.length > 0)
    await thread.leave(onLost)
    expect(lost[0]).toContain(why)
    await setTimeout(0)
  })

  it('runs only the script of the package', () => {
    expect(threadScript().href).toMatch(/\/dist\/bundle\/service\/node\/election\/worker\.js$/)
    const own = new URL('../election/worker-script.ts', import.meta.url).href
    expect(threadScript(own).href).toBe(threadScript().href)
    writeFileSync(pathJoin(folder, 'package.json'), '{"name":"mine"}')
    const elsewhere = [
      undefined,
      'file:///srv/app/bundle.js',
      'file:///srv/app/dist/member/thread-script.js',
      pathToFileURL(pathJoin(folder, 'dist/service/node/election/worker-script.js')).href,
    ]
    for (const place of elsewhere.slice(1))
      expect(() => threadScript(place)).toThrow('isolation: the election cannot run in a worker')
  })
})
