/** The leader and a minority are cut off from the rest: by the nodes' own fault commands, or by the network itself. */
import { Namespaces } from './namespaces.ts'
import type { Finding } from './report.ts'
import type { Faults } from './run-node.ts'
import { type Settings, Trial } from './trial.ts'

/** How a group is split in two and made whole again. */
type Knife = { split(minority: readonly number[]): void; heal(): void }

export async function partition(settings: Settings): Promise<Finding> {
  const trial = await Trial.begin(settings, { stubborn: true })
  const ids = trial.nodes.map(({ id }) => id)
  const knife: Knife = {
    split(minority) {
      for (const [place, node] of trial.nodes.entries()) {
        const others = ids.filter((_, other) => minority.includes(other) !== minority.includes(place))
        node.spoil(Object.fromEntries(others.map((id) => [id, { cut: true }])) satisfies Faults)
      }
    },
    heal() {
      for (const node of trial.nodes) node.spoil({})
    },
  }
  return splitting('partition', 'by fault commands', trial, knife)
}

export async function namespaces(settings: Settings): Promise<Finding> {
  const problem = Namespaces.problem()
  if (problem !== null)
    return { name: 'namespaces', done: 'nothing', problems: [], measures: [], limited: problem }
  const spaces = Namespaces.make(settings.nodes)
  try {
    const trial = await Trial.begin(settings, { stubborn: true, namespaces: spaces })
    return await splitting('namespaces', 'between network namespaces', trial, spaces)
  } finally {
    spaces.close()
  }
}

async function splitting(name: string, how: string, trial: Trial, knife: Knife): Promise<Finding> {
  const { settings } = trial
  const { bounds } = settings
  const times = Math.ceil(settings.times / 5)
  const [gone, next] = [[] as number[], [] as number[]]
  const problems: string[] = []
  try {
    for (let time = 0; time < times; time++) {
      settings.say(`${time + 1} of ${times}`)
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const leading = await trial.settle()
      const minority = minorityWith(trial, leading.id)
      const isCutOff = (id: string): boolean => minority.some((place) => trial.nodes[place]?.id === id)
      knife.split(minority)
      const at = performance.now()
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const led = await trial.after(
        trial.witness.lines.length,
        ({ token, id }) => token > leading.token && !isCutOff(id),
        'nobody leads in the majority',
      )
      next.push(led.atMs - at)
      const last = trial.witness.lines.findLast(({ id }) => isCutOff(id))
      gone.push(Math.max(0, (last?.atMs ?? at) - at))
      const from = trial.witness.lines.length
      // oxlint-disable-next-line no-await-in-loop -- one split after the other
      const intruder = await trial.witness.first(({ id }) => isCutOff(id), from, 3 * bounds.lockMs)
      if (intruder !== null) problems.push(`${intruder.id} led in the minority with token ${intruder.token}`)
      knife.heal()
    }
    await trial.settle()
    problems.push(...trial.problems(times + 1))
  } finally {
    await trial.end()
  }
  return {
    name,
    done: `the leader and a minority cut off from the rest ${how}, then healed, ${times} times`,
    problems,
    measures: [
      { what: 'the last sign of a command in the minority', boundMs: bounds.leaseMs, samplesMs: gone },
      { what: 'to the first command in the majority', boundMs: bounds.failOverMs, samplesMs: next },
    ],
    limited: null,
  }
}

/** As many as can be without a majority, this one among them. */
function minorityWith({ nodes }: Trial, id: string): readonly number[] {
  const first = nodes.findIndex((node) => node.id === id)
  return Array.from(
    { length: Math.floor((nodes.length - 1) / 2) },
    (_, step) => (first + step) % nodes.length,
  )
}
