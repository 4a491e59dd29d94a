/**
 * A group that meets in a store: its leader is killed, and so is the store's server; and the server hangs for longer
 * than a lease. Not among the cases of `conclave chaos`, which starts no servers: scripts/stores.mjs and a test do.
 */
import { setTimeout } from 'node:timers/promises'
import type { Finding } from './report.ts'
import { type Settings, Trial } from './trial.ts'

/** What can be done to the server of a store. */
export type StoreServer = {
  /** SIGKILL. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** SIGSTOP, with all its processes. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** `server`: null for a store that has none, such as a folder. */
export async function tryStore(
  settings: Settings,
  store: string,
  server: StoreServer | null,
): Promise<Finding> {
  const { times, bounds, say } = settings
  const failOverMs: number[] = []
  const stoppedMs: number[] = []
  const problems: string[] = []
  const trial = await Trial.begin(settings, { stubborn: true, store })
  try {
    for (let time = 0; time < times; time++) {
      say(`kill -9 of the leader, ${time + 1} of ${times}`)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      const leading = await trial.settle()
      const node = trial.node(leading.id)
      // oxlint-disable-next-line no-await-in-loop -- at different moments of the election's rhythm
      await setTimeout(Math.random() * bounds.lockMs)
      const at = performance.now()
      node.signal('SIGKILL')
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      failOverMs.push((await trial.next(leading)).atMs - at)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      await node.ended
      node.start()
    }
    if (server !== null) {
      say('kill -9 of the server, and its restart')
      await trial.settle()
      const before = trial.witness.lines.length
      await server.kill()
      // Long enough that a renewal falls into it.
      await setTimeout(bounds.leaseMs)
      await server.restart()
      await trial.after(
        before,
        ({ did }) => did === 'begin',
        'nobody leads again after the server was killed',
      )

      say('the server hangs for longer than a lease')
      const leading = await trial.settle()
      const at = performance.now()
      await server.pause()
      const isPaused = performance.now()
      await setTimeout(2 * bounds.leaseMs)
      // Whoever led must have ended by itself, and nobody can have been elected.
      trial.witness.look()
      const last = trial.witness.last ?? leading
      stoppedMs.push(last.atMs - at)
      if (last.atMs > isPaused + bounds.leaseMs)
        problems.push(`${last.id} went on for ${(last.atMs - isPaused).toFixed(0)} ms while the store hung`)
      const hung = trial.witness.lines.length
      await server.resume()
      await trial.after(hung, () => true, 'nobody leads again after the server hung')
    }
    await trial.settle()
    problems.push(...trial.problems(times + (server === null ? 1 : 3)))
  } finally {
    await trial.end()
  }
  const outage =
    server === null ? '' : '; kill -9 and restart of its server; its server stopped for two leases'
  return {
    name: new URL(store).protocol.slice(0, -1),
    done: `${settings.nodes} nodes, kill -9 of the leader ${times} times${outage}`,
    problems,
    measures: [
      { what: "to the next leader's command", boundMs: bounds.failOverMs, samplesMs: failOverMs },
      ...(server === null
        ? []
        : [{ what: 'hung store, to the last line', boundMs: bounds.leaseMs, samplesMs: stoppedMs }]),
    ],
    limited: null,
  }
}

/** The words of a node and what they promise, for a period and an access of so long. */
export function storeSettings(given: {
  readonly nodes: number
  readonly times: number
  readonly periodMs: number
  readonly accessMs: number
  readonly killBeforeMs: number
  readonly say: (text: string) => void
}): Settings {
  const { nodes, times, periodMs, accessMs, killBeforeMs, say } = given
  // As the protocol has it: a period and three renewals; others wait a little longer and look every eighth of a period.
  const leaseMs = (periodMs + 6 * accessMs) * 1.002
  return {
    nodes,
    times,
    words: ['--option', `periodMs=${periodMs}`, '--option', `accessMs=${accessMs}`],
    killBeforeMs,
    bounds: { leaseMs, lockMs: periodMs, failOverMs: leaseMs + periodMs / 4 + nodes * 6 * accessMs * 1.01 },
    datagrams: 0,
    say,
  }
}
