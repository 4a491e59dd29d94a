/**
 * A group that elects through a store. The leader is killed, the server is killed and restarted, and the server hangs for
 * longer than a lease. Not a case of `conclave chaos`, which starts no servers: scripts/stores.mjs and a test run it.
 */
import { setTimeout } from 'node:timers/promises'
import type { Finding } from './report.ts'
import { type ChaosSettings, Trial } from './trial.ts'

/** Control over the server of a store. */
export type StoreServer = {
  /** SIGKILL. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** SIGSTOP of all its processes. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** `server` is null for a store without one, such as a folder. */
export async function tryStore(
  settings: ChaosSettings,
  store: string,
  server: StoreServer | null,
): Promise<Finding> {
  const { times, bounds, onProgress } = settings
  const failOverMs: number[] = []
  const stoppedMs: number[] = []
  const problems: string[] = []
  const trial = await Trial.start(settings, { stubborn: true, store })
  try {
    for (let time = 0; time < times; time++) {
      onProgress(`kill -9 of the leader, ${time + 1} of ${times}`)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      const leading = await trial.waitUntilStable()
      const node = trial.node(leading.id)
      // oxlint-disable-next-line no-await-in-loop -- at different moments of the election's rhythm
      await setTimeout(Math.random() * bounds.lockMs)
      const at = performance.now()
      node.signal('SIGKILL')
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      failOverMs.push((await trial.waitForNextTerm(leading)).atMs - at)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      await node.exited
      node.start()
    }
    if (server !== null) {
      onProgress('kill -9 of the server, and its restart')
      await trial.waitUntilStable()
      const before = trial.witness.lines.length
      await server.kill()
      // Long enough that a renewal falls into it.
      await setTimeout(bounds.leaseMs)
      await server.restart()
      await trial.waitForLine(
        before,
        ({ action: did }) => did === 'begin',
        'no leader after the server was killed',
      )

      onProgress('the server hangs for longer than a lease')
      const leading = await trial.waitUntilStable()
      const at = performance.now()
      await server.pause()
      const isPaused = performance.now()
      await setTimeout(2 * bounds.leaseMs)
      // The leader must have stopped, and no node can have been elected.
      trial.witness.readNewLines()
      const last = trial.witness.latest ?? leading
      stoppedMs.push(last.atMs - at)
      if (last.atMs > isPaused + bounds.leaseMs)
        problems.push(`${last.id} continued for ${(last.atMs - isPaused).toFixed(0)} ms while the store hung`)
      const hung = trial.witness.lines.length
      await server.resume()
      await trial.waitForLine(hung, () => true, 'no leader after the server hung')
    }
    await trial.waitUntilStable()
    problems.push(...trial.problems(times + (server === null ? 1 : 3)))
  } finally {
    await trial.stop()
  }
  const outage =
    server === null ? '' : '; kill -9 and restart of its server; its server stopped for two leases'
  return {
    name: new URL(store).protocol.slice(0, -1),
    done: `${settings.nodes} nodes, kill -9 of the leader ${times} times${outage}`,
    problems,
    measures: [
      { what: "time to the next leader's command", boundMs: bounds.failoverMs, samplesMs: failOverMs },
      ...(server === null
        ? []
        : [
            {
              what: 'time to the last line after the store hung',
              boundMs: bounds.leaseMs,
              samplesMs: stoppedMs,
            },
          ]),
    ],
    limited: null,
  }
}

/** Settings for a group on a store, with the bounds that follow from the period and the access time. */
export function storeSettings(given: {
  readonly protocol: string
  readonly nodes: number
  readonly times: number
  readonly periodMs: number
  readonly accessMs: number
  readonly killBeforeMs: number
  readonly onProgress: (text: string) => void
}): ChaosSettings {
  const { protocol, nodes, times, periodMs, accessMs, killBeforeMs, onProgress } = given
  // A lease lasts one period and three renewals; followers wait longer and poll every eighth of a period.
  const leaseMs = (periodMs + 6 * accessMs) * 1.002
  return {
    nodes,
    times,
    flags: ['--protocol', protocol, '--option', `periodMs=${periodMs}`, '--option', `accessMs=${accessMs}`],
    killBeforeMs,
    bounds: { leaseMs, lockMs: periodMs, failoverMs: leaseMs + periodMs / 4 + nodes * 6 * accessMs * 1.01 },
    datagrams: 0,
    onProgress,
  }
}
