/** Cases that kill, stop and restart processes. */
import { setTimeout } from 'node:timers/promises'
import { isAlive, trySignal } from '../supervise/processes.ts'
import type { Finding } from './report.ts'
import { type ChaosSettings, Trial } from './trial.ts'
import type { WitnessLine } from './witness.ts'

/** Random delay before a fault, so that faults hit different phases of the renewal cycle. */
const MAX_JITTER_MS = 150

/** Starts a trial, injects a fault into the leader `times` times, and returns the violations. */
async function repeatFault(
  settings: ChaosSettings,
  options: { readonly stubborn: boolean; readonly times: number },
  fault: (trial: Trial, leading: WitnessLine, time: number) => Promise<void>,
): Promise<readonly string[]> {
  const trial = await Trial.start(settings, options)
  try {
    for (let time = 0; time < options.times; time++) {
      settings.onProgress(`${time + 1} of ${options.times}`)
      // oxlint-disable-next-line no-await-in-loop -- one fault after the other
      await trial.waitUntilStable()
      // oxlint-disable-next-line no-await-in-loop -- one fault after the other
      await setTimeout(Math.random() * MAX_JITTER_MS)
      // oxlint-disable-next-line no-await-in-loop -- one fault after the other
      await fault(trial, trial.latest, time)
    }
    // Gives the restarted nodes time to violate something.
    await trial.waitUntilStable()
    return trial.problems(options.times + 1)
  } finally {
    await trial.stop()
  }
}

/** kill -9 of the leader's node: its command, which ignores SIGTERM, must be dead before the next one starts. */
export async function kill(settings: ChaosSettings): Promise<Finding> {
  const samplesMs: number[] = []
  const { times, bounds } = settings
  const problems = await repeatFault(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    node.signal('SIGKILL')
    samplesMs.push((await trial.waitForNextTerm(leading)).atMs - at)
    await node.exited
    node.start()
  })
  return {
    name: 'kill',
    done: `kill -9 of the leader's "conclave run", ${times} times`,
    problems,
    measures: [{ what: "time to the next leader's command", boundMs: bounds.failoverMs, samplesMs }],
    limited: null,
  }
}

/** kill -9 of the guardian: the node must kill the command before it gives up its term. */
export async function killGuardian(settings: ChaosSettings): Promise<Finding> {
  const samplesMs: number[] = []
  const times = Math.ceil(settings.times / 5)
  const problems = await repeatFault(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    if (node.guardianPid !== null) trySignal(node.guardianPid, 'SIGKILL')
    samplesMs.push((await trial.waitForNextTerm(leading)).atMs - at)
    await node.exited
    node.start()
  })
  return {
    name: 'kill-guardian',
    done: `kill -9 of the guardian of the leader's command, ${times} times`,
    problems,
    measures: [{ what: "time to the next leader's command", boundMs: settings.bounds.failoverMs, samplesMs }],
    limited: null,
  }
}

/** SIGSTOP of the leader's node while its command keeps running: the guardian must kill the command. */
export async function stop(settings: ChaosSettings): Promise<Finding> {
  const samplesMs: number[] = []
  const lastLineMs: number[] = []
  const { bounds } = settings
  const times = Math.ceil(settings.times / 5)
  const problems = await repeatFault(settings, { stubborn: true, times }, async (trial, leading) => {
    const node = trial.node(leading.id)
    const at = performance.now()
    node.signal('SIGSTOP')
    const next = await trial.waitForNextTerm(leading)
    samplesMs.push(next.atMs - at)
    lastLineMs.push(Math.max(0, trial.lastLineOf(leading).atMs - at))
    node.signal('SIGCONT')
  })
  return {
    name: 'stop',
    done: `SIGSTOP of the leader's "conclave run", its command left running, ${times} times`,
    problems,
    measures: [
      { what: 'time to the last line of its command', boundMs: bounds.leaseMs, samplesMs: lastLineMs },
      { what: "time to the next leader's command", boundMs: bounds.failoverMs, samplesMs },
    ],
    limited: null,
  }
}

/** Lengths of the pauses, in lock times. Short runs leave out the longest. */
export function pauseLengths({ times }: ChaosSettings): readonly number[] {
  return times < 5 ? [1, 5] : [1, 5, 30]
}

/** SIGSTOP of node and command, then SIGCONT: the guardian must have killed the command meanwhile. */
export async function pause(settings: ChaosSettings): Promise<Finding> {
  const problems: string[] = []
  const pauses = pauseLengths(settings)
  const rounds = Math.ceil(settings.times / 25)
  const violations = await repeatFault(
    settings,
    { stubborn: true, times: rounds * pauses.length },
    async (trial, leading, time) => {
      const node = trial.node(leading.id)
      const lockTimes = pauses[time % pauses.length] as number
      trySignal(leading.pid, 'SIGSTOP')
      node.signal('SIGSTOP')
      await Promise.all([setTimeout(lockTimes * settings.bounds.lockMs), trial.waitForNextTerm(leading)])
      if (isAlive(leading.pid)) problems.push(`the command was still alive after ${lockTimes} lock times`)
      trySignal(leading.pid, 'SIGCONT')
      node.signal('SIGCONT')
    },
  )
  return {
    name: 'pause',
    done: `SIGSTOP of the leader's "conclave run" and of its command for ${pauses.join(', ')} lock times, then SIGCONT, ${rounds} times each`,
    problems: [...violations, ...problems],
    measures: [],
    limited: null,
  }
}

/** Restarts all nodes in turn by SIGTERM: the leader must step down instead of losing its lease. */
export async function restart(settings: ChaosSettings): Promise<Finding> {
  const samplesMs: number[] = []
  const rounds = Math.ceil(settings.times / 10)
  const trial = await Trial.start(settings)
  let problems: readonly string[]
  try {
    for (let round = 0; round < rounds; round++) {
      settings.onProgress(`${round + 1} of ${rounds}`)
      const left = new Set(trial.nodes)
      while (left.size > 0) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const leading = await trial.waitUntilStable()
        const leader = trial.node(leading.id)
        // The leader first, so that there is a term to end.
        const [node] = left.has(leader) ? [leader] : [...left]
        if (node === undefined) break
        left.delete(node)
        node.signal('SIGTERM')
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await node.exited
        if (leader === node) {
          // oxlint-disable-next-line no-await-in-loop -- one after the other
          const next = await trial.waitForNextTerm(leading)
          samplesMs.push(next.atMs - trial.lastLineOf(leading).atMs)
        }
        node.start()
      }
    }
    problems = trial.problems(2)
  } finally {
    await trial.stop()
  }
  return {
    name: 'restart',
    done: `SIGTERM and start of each of the ${settings.nodes} nodes in turn, the leader first, ${rounds} times`,
    problems,
    measures: [
      {
        what: 'time without a command after a step-down',
        boundMs: STEP_DOWN_MS + STEP_DOWN_ROUND_TRIPS * LOOPBACK_ROUND_TRIP_MS,
        samplesMs,
      },
    ],
    limited: null,
  }
}

/** A step-down takes at most five round trips and 50 ms. On loopback a round trip takes a fraction of a millisecond. */
const STEP_DOWN_ROUND_TRIPS = 5
const STEP_DOWN_MS = 50
const LOOPBACK_ROUND_TRIP_MS = 0.2
