/** Processes are killed, stopped and restarted. */
import { setTimeout } from 'node:timers/promises'
import { isAlive, signal } from '../supervise/processes.ts'
import type { Finding } from './report.ts'
import { type Settings, Trial } from './trial.ts'
import type { Line } from './witness.ts'

/** Up to so long passes between two blows, so that they fall at different moments of the election's rhythm. */
const MOST_REST_MS = 150

/** Begins a trial, does something to whoever leads so many times, and judges. */
async function repeatedly(
  settings: Settings,
  options: { readonly stubborn: boolean; readonly times: number },
  blow: (trial: Trial, leading: Line, time: number) => Promise<void>,
): Promise<readonly string[]> {
  const trial = await Trial.begin(settings, options)
  try {
    for (let time = 0; time < options.times; time++) {
      settings.say(`${time + 1} of ${options.times}`)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      await trial.settle()
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      await setTimeout(Math.random() * MOST_REST_MS)
      // oxlint-disable-next-line no-await-in-loop -- one blow after the other
      await blow(trial, trial.leading, time)
    }
    // Whoever came back has its chance to do something wrong.
    await trial.settle()
    return trial.problems(options.times + 1)
  } finally {
    await trial.end()
  }
}

/** kill -9 of the leader's node: its command, which only SIGKILL ends, is dead before the next one begins. */
export async function kill(settings: Settings): Promise<Finding> {
  const samplesMs: number[] = []
  const { times, bounds } = settings
  const problems = await repeatedly(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    node.signal('SIGKILL')
    samplesMs.push((await trial.next(leading)).atMs - at)
    await node.ended
    node.start()
  })
  return {
    name: 'kill',
    done: `kill -9 of the leader's "conclave run", ${times} times`,
    problems,
    measures: [{ what: "to the next leader's command", boundMs: bounds.failOverMs, samplesMs }],
    limited: null,
  }
}

/** kill -9 of the guardian alone: the node ends the command itself before it gives the lead away. */
export async function killGuardian(settings: Settings): Promise<Finding> {
  const samplesMs: number[] = []
  const times = Math.ceil(settings.times / 5)
  const problems = await repeatedly(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    if (node.guardian !== null) signal(node.guardian, 'SIGKILL')
    samplesMs.push((await trial.next(leading)).atMs - at)
    await node.ended
    node.start()
  })
  return {
    name: 'kill-guardian',
    done: `kill -9 of the guardian of the leader's command, ${times} times`,
    problems,
    measures: [{ what: "to the next leader's command", boundMs: settings.bounds.failOverMs, samplesMs }],
    limited: null,
  }
}

/** SIGSTOP of the leader's node alone, its command left running: the guardian ends it. */
export async function stop(settings: Settings): Promise<Finding> {
  const samplesMs: number[] = []
  const late: number[] = []
  const { bounds } = settings
  const times = Math.ceil(settings.times / 5)
  const problems = await repeatedly(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    node.signal('SIGSTOP')
    const next = await trial.next(leading)
    samplesMs.push(next.atMs - at)
    late.push(Math.max(0, trial.lastOf(leading).atMs - at))
    node.signal('SIGCONT')
  })
  return {
    name: 'stop',
    done: `SIGSTOP of the leader's "conclave run", its command left running, ${times} times`,
    problems,
    measures: [
      { what: 'until its command wrote last', boundMs: bounds.leaseMs, samplesMs: late },
      { what: "to the next leader's command", boundMs: bounds.failOverMs, samplesMs },
    ],
    limited: null,
  }
}

/** How long stopped, in lock times; the longest is left out where little is done. */
export function pausesOf({ times }: Settings): readonly number[] {
  return times < 5 ? [1, 5] : [1, 5, 30]
}

/** SIGSTOP of node and command for a while, then SIGCONT: the guardian has killed the command meanwhile. */
export async function pause(settings: Settings): Promise<Finding> {
  const problems: string[] = []
  const pauses = pausesOf(settings)
  const rounds = Math.ceil(settings.times / 25)
  const found = await repeatedly(
    settings,
    { stubborn: true, times: rounds * pauses.length },
    async (trial, leading, time) => {
      const node = trial.node(leading.id)
      const lockTimes = pauses[time % pauses.length] as number
      signal(leading.pid, 'SIGSTOP')
      node.signal('SIGSTOP')
      await Promise.all([setTimeout(lockTimes * settings.bounds.lockMs), trial.next(leading)])
      if (isAlive(leading.pid)) problems.push(`the command was still there after ${lockTimes} lock times`)
      signal(leading.pid, 'SIGCONT')
      node.signal('SIGCONT')
    },
  )
  return {
    name: 'pause',
    done: `SIGSTOP of the leader's "conclave run" and of its command for ${pauses.join(', ')} lock times, then SIGCONT, ${rounds} times each`,
    problems: [...found, ...problems],
    measures: [],
    limited: null,
  }
}

/** All nodes restarted in turn by SIGTERM: the lead is handed over, not lost. */
export async function restart(settings: Settings): Promise<Finding> {
  const samplesMs: number[] = []
  const rounds = Math.ceil(settings.times / 10)
  const trial = await Trial.begin(settings)
  let problems: readonly string[]
  try {
    for (let round = 0; round < rounds; round++) {
      settings.say(`${round + 1} of ${rounds}`)
      const left = new Set(trial.nodes)
      while (left.size > 0) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const leading = await trial.settle()
        const leader = trial.node(leading.id)
        // Whoever leads first, so that there is a lead to hand over.
        const [node] = left.has(leader) ? [leader] : [...left]
        if (node === undefined) break
        left.delete(node)
        node.signal('SIGTERM')
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await node.ended
        if (leader === node) {
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          const next = await trial.next(leading)
          samplesMs.push(next.atMs - trial.lastOf(leading).atMs)
        }
        node.start()
      }
    }
    problems = trial.problems(2)
  } finally {
    await trial.end()
  }
  return {
    name: 'restart',
    done: `SIGTERM and start of each of the ${settings.nodes} nodes in turn, the leader first, ${rounds} times`,
    problems,
    measures: [
      {
        what: 'no command at work, a hand-over',
        boundMs: HAND_OVER_MS + HAND_OVER_ROUND_TRIPS * LOOPBACK_ROUND_TRIP_MS,
        samplesMs,
      },
    ],
    limited: null,
  }
}

/** A hand-over takes five round trips and 50 ms at most; on loopback a round trip is a fraction of a millisecond. */
const HAND_OVER_ROUND_TRIPS = 5
const HAND_OVER_MS = 50
const LOOPBACK_ROUND_TRIP_MS = 0.2
