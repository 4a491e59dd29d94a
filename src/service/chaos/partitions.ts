/** Partitions that isolate the leader with a minority: by fault injection in the nodes, or between network namespaces. */
import { Namespaces } from './namespaces.ts'
import type { Finding } from './report.ts'
import type { Faults } from './run-node.ts'
import { type ChaosSettings, Trial } from './trial.ts'

/** Splits the group in two, and heals it. */
type Partitioner = { split(minority: readonly number[]): void; heal(): void }

export async function partition(settings: ChaosSettings): Promise<Finding> {
  const trial = await Trial.start(settings, { stubborn: true })
  const ids = trial.nodes.map(({ id }) => id)
  const partitioner: Partitioner = {
    split(minority) {
      for (const [index, node] of trial.nodes.entries()) {
        const others = ids.filter((_, other) => minority.includes(other) !== minority.includes(index))
        node.injectFaults(Object.fromEntries(others.map((id) => [id, { cut: true }])) satisfies Faults)
      }
    },
    heal() {
      for (const node of trial.nodes) node.injectFaults({})
    },
  }
  return runPartitions('partition', 'by fault injection', trial, partitioner)
}

export async function namespaces(settings: ChaosSettings): Promise<Finding> {
  const problem = Namespaces.unavailableReason()
  if (problem !== null)
    return { name: 'namespaces', done: 'skipped', problems: [], measures: [], limited: problem }
  const spaces = Namespaces.create(settings.nodes)
  try {
    const trial = await Trial.start(settings, { stubborn: true, namespaces: spaces })
    return await runPartitions('namespaces', 'between network namespaces', trial, spaces)
  } finally {
    spaces.close()
  }
}

async function runPartitions(
  name: string,
  how: string,
  trial: Trial,
  partitioner: Partitioner,
): Promise<Finding> {
  const { settings } = trial
  const { bounds } = settings
  const times = Math.ceil(settings.times / 5)
  const [lastLineMs, failoverMs] = [[] as number[], [] as number[]]
  const problems: string[] = []
  try {
    for (let time = 0; time < times; time++) {
      settings.onProgress(`${time + 1} of ${times}`)
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const leading = await trial.waitUntilStable()
      const minority = chooseMinority(trial, leading.id)
      const isIsolated = (id: string): boolean => minority.some((index) => trial.nodes[index]?.id === id)
      partitioner.split(minority)
      const at = performance.now()
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const led = await trial.waitForLine(
        trial.witness.lines.length,
        ({ token, id }) => token > leading.token && !isIsolated(id),
        'no leader in the majority',
      )
      failoverMs.push(led.atMs - at)
      const last = trial.witness.lines.findLast(({ id }) => isIsolated(id))
      lastLineMs.push(Math.max(0, (last?.atMs ?? at) - at))
      const from = trial.witness.lines.length
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const intruder = await trial.witness.waitForLine(({ id }) => isIsolated(id), from, 3 * bounds.lockMs)
      if (intruder !== null) problems.push(`${intruder.id} led in the minority with token ${intruder.token}`)
      partitioner.heal()
    }
    await trial.waitUntilStable()
    problems.push(...trial.problems(times + 1))
  } finally {
    await trial.stop()
  }
  return {
    name,
    done: `the leader and a minority partitioned from the rest ${how}, then healed, ${times} times`,
    problems,
    measures: [
      {
        what: 'time to the last line of a command in the minority',
        boundMs: bounds.leaseMs,
        samplesMs: lastLineMs,
      },
      {
        what: 'time to the first command in the majority',
        boundMs: bounds.failoverMs,
        samplesMs: failoverMs,
      },
    ],
    limited: null,
  }
}

/** The largest minority that contains this node, as indexes. */
function chooseMinority({ nodes }: Trial, id: string): readonly number[] {
  const first = nodes.findIndex((node) => node.id === id)
  return Array.from(
    { length: Math.floor((nodes.length - 1) / 2) },
    (_, step) => (first + step) % nodes.length,
  )
}
