/** The main thread ends a term by its own clock while the worker reports the same end. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../../../test/support/wait.ts'
import { join } from '../api/join.ts'
import { WorkerChannel } from './worker-channel.ts'

/** The main thread looks for messages of the worker this many times in vain, at most, before they arrive. */
const MOST_LOOKS = 9

it('ends each term once, whenever the report of the worker arrives', async () => {
  const node = await join({
    group: 'g',
    id: 'a',
    key: new Uint8Array(32).fill(7),
    listen: '127.0.0.1:0',
    peers: [],
    maxStallMs: 50,
    timing: 'fixed',
  })
  onTestFinished(() => node.close())
  const revoked: unknown[] = []
  node.on('revoked', ({ token }) => revoked.push(token))
  const terms: unknown[] = []
  void node.lead(async ({ token, signal }) => {
    terms.push(token)
    if (!signal.aborted) await new Promise((end) => signal.addEventListener('abort', end))
  })
  let left = 0
  const drain = WorkerChannel.prototype.drain
  const spy = vi.spyOn(WorkerChannel.prototype, 'drain').mockImplementation(function (this: WorkerChannel) {
    if (left > 0) left -= 1
    else drain.call(this)
  })
  onTestFinished(() => spy.mockRestore())
  for (let looks = 0; looks <= MOST_LOOKS; looks++) {
    // oxlint-disable-next-line no-await-in-loop -- one term after the other
    await until(() => terms.length > looks)
    // oxlint-disable-next-line no-await-in-loop -- one term after the other
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        left = looks
        // The lease ends, and the worker reports it, while this thread is blocked. Then timers run before messages.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
        resolve()
      })
    })
  }
  await until(() => terms.length > MOST_LOOKS + 1)
  expect(revoked).toEqual([...new Set(revoked)])
  // On a busy machine a term may end before its work starts, so more terms than these may have ended.
  expect(revoked).toEqual(expect.arrayContaining(terms.slice(0, MOST_LOOKS + 1)))
}, 60_000)
