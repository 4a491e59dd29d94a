/** A node with another key, another group or other constants: it never leads, and both sides log why. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Finding } from './report.ts'
import type { RunNode } from './run-node.ts'
import { type ChaosSettings, Trial } from './trial.ts'

type Misconfiguration = {
  readonly name: string
  /** Changes the flags. */
  readonly change: (args: readonly string[], folder: string) => readonly string[]
  /** Matches the log line that both sides must write. */
  readonly report: RegExp
}

const MISCONFIGURATIONS: readonly Misconfiguration[] = [
  {
    name: 'another key',
    change: (args, folder) => replaceFlag(args, '--key-file', join(folder, 'other-key')),
    report: /uses another key/,
  },
  {
    name: 'another group',
    change: (args) => replaceFlag(args, '--group', 'other'),
    report: /another group/,
  },
  {
    name: 'other constants',
    change: (args) => insertFlags(args, ['--option', 'renewalIntervalMs=137']),
    report: /configured differently/,
  },
]

/** How long the node runs, in lock times, and the limit for the expected log lines. */
const LOCK_TIMES = 10
const TIMEOUT_MS = 30_000
/** Limit of log lines per node about one misconfiguration. */
const MAX_REPORTS = 6

export async function strangers(settings: ChaosSettings): Promise<Finding> {
  const problems: string[] = []
  const trial = await Trial.start(settings)
  try {
    writeFileSync(join(trial.folder, 'other-key'), randomBytes(32), { mode: 0o600 })
    for (const kind of MISCONFIGURATIONS) {
      settings.onProgress(kind.name)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      problems.push(...(await tryMisconfigured(trial, kind)))
    }
    problems.push(...trial.problems(1))
  } finally {
    await trial.stop()
  }
  return {
    name: 'strangers',
    done: `a node restarted with ${MISCONFIGURATIONS.map(({ name }) => name).join(', then with ')}`,
    problems,
    measures: [],
    limited: null,
  }
}

async function tryMisconfigured(
  trial: Trial,
  { name, change, report }: Misconfiguration,
): Promise<readonly string[]> {
  const { id: leader } = await trial.waitUntilStable()
  const node = trial.nodes.find(({ id }) => id !== leader) as RunNode
  const rest = trial.nodes.filter((other) => other !== node)
  node.signal('SIGTERM')
  await node.exited
  const from = trial.witness.lines.length
  const logged = rest.map(({ log }) => log.length)
  const stranger = node.withCommand((args) => change(args, trial.folder))
  stranger.start()
  await stranger.joined
  await setTimeout(LOCK_TIMES * trial.settings.bounds.lockMs)
  const problems: string[] = []
  const wrong = trial.witness.lines.slice(from).find(({ id }) => id === node.id)
  if (wrong !== undefined) problems.push(`${name}: ${node.id} led with token ${wrong.token}`)
  const isReported = (): boolean =>
    rest.every(({ log }, place) => log.slice(logged[place]).some((line) => report.test(line))) &&
    stranger.log.some((line) => report.test(line))
  const until = performance.now() + TIMEOUT_MS
  // oxlint-disable-next-line no-await-in-loop -- poll until it is logged
  while (!isReported() && performance.now() < until) await setTimeout(50)
  if (!isReported()) problems.push(`${name}: a node did not log what is wrong`)
  const often = rest.filter(
    ({ log }, place) => log.slice(logged[place]).filter((line) => report.test(line)).length > MAX_REPORTS,
  )
  problems.push(...often.map(({ id }) => `${name}: ${id} logged it more than ${MAX_REPORTS} times`))
  if (stranger.pid === null) problems.push(`${name}: ${node.id} exited`)
  stranger.signal('SIGKILL')
  await stranger.exited
  node.start()
  return problems
}

function replaceFlag(args: readonly string[], flag: string, value: string): readonly string[] {
  return args.map((word, place) => (args[place - 1] === flag ? value : word))
}

/** Inserts flags before the `--` that starts the command. */
function insertFlags(args: readonly string[], more: readonly string[]): readonly string[] {
  const at = args.indexOf('--')
  return [...args.slice(0, at), ...more, ...args.slice(at)]
}
