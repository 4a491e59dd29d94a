/** A campaign of seeds, spread over threads. What it reports does not depend on how many there are. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { count, plural } from '../../core/text.ts'
import {
  addTallies,
  type CampaignTally,
  checkBounds,
  checkedOptions,
  EMPTY_TALLY,
  MOST_NODES,
  type Scenario,
  type SeedViolation,
  type SwarmSettings,
  scenarioDrawer,
  shrinkViolation,
} from '../../workbench/sim/index.ts'
import { qosReport } from '../../workbench/trace/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { findProtocol, loadProtocols } from '../load.ts'
import { formatTable, formatTimes, NEW_LINE, paint, print, printJson, printNote } from '../output.ts'
import { startProgress } from '../progress.ts'
import { formatQos } from '../qos-text.ts'
import { parseFaults, parseOptions, parseRange, parseWholeNumber } from '../values.ts'

export type CampaignFlags = {
  readonly protocol: string
  readonly nodes: string
  readonly seeds: string
  readonly faults: string
  readonly option: readonly string[]
  readonly workers?: string
  readonly load?: string
  readonly json?: true
}

/** What a worker is started with; it asks for seeds until there are none. */
export type WorkerTask = {
  readonly protocol: string
  readonly load: string | undefined
  readonly settings: SwarmSettings
}
export type WorkerAnswer =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly tally: CampaignTally }
  | { readonly type: 'failed'; readonly message: string }
export type WorkerQuestion = { readonly first: number; readonly last: number }

/** Violations beyond these are counted and named, not shrunk: nobody reads a hundred. */
const SHRUNK = 5
const CHUNK = 16

export async function campaign(flags: CampaignFlags): Promise<number> {
  const [first, last] = parseRange('--seeds', flags.seeds, 0)
  const { lookup, specsFor } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, flags.protocol)
  const nodes = parseRange('--nodes', flags.nodes, definition.leastNodes)
  if (nodes[1] > MOST_NODES)
    throw new UsageError(`--nodes ${flags.nodes}: at most ${MOST_NODES} nodes in one world`, '--nodes')
  const fixed = parseOptions(flags.option)
  // Maps by node must fit the smallest world that may be drawn.
  const smallest = Array.from({ length: nodes[0] }, (_, index) => index + 1)
  const checked = checkedOptions(definition, smallest, fixed)
  checkBounds(definition, checked, definition.swarm.delayMs[1], fixed)
  const borne = definition.bears(checked)
  const settings: SwarmSettings = {
    nodes,
    options: fixed,
    faults: parseFaults(flags.faults, definition.name, borne),
  }
  const draw = scenarioDrawer(definition, settings)
  draw(first) // Wrong options show here, before any thread starts.
  const threads =
    flags.workers === undefined ? availableParallelism() : parseWholeNumber('--workers', flags.workers, 1)
  const began = performance.now()
  const tally = await spread({ protocol: flags.protocol, load: flags.load, settings }, first, last, threads)
  const seconds = (performance.now() - began) / 1000
  const violations = tally.violations.map((violation, index) => ({
    ...(index < SHRUNK ? shrinkViolation(definition, draw, violation, specsFor(definition)) : violation),
    replay: replayCommand(flags, violation.seed),
  }))
  const vacuous = Object.entries(tally.judged).flatMap(([spec, judged]) => (judged === 0 ? [spec] : []))
  const report = {
    protocol: flags.protocol,
    seeds: tally.seeds,
    steps: tally.steps,
    virtualHours: virtualHours(tally),
    violations,
    goals: tally.goals,
    vacuous,
    ...(tally.qos === null ? {} : { qos: qosReport(tally.qos) }),
  }
  if (flags.json === true) printJson(report)
  else print(campaignText(tally, violations, seconds))
  for (const spec of vacuous)
    printNote(`warning: ${spec} was never judged: this campaign says nothing about it`)
  for (const goal of tally.goals) {
    if (!goal.reached)
      printNote(`warning: the goal ${goal.name} was never reached: try more seeds or other faults`)
  }
  return violations.length > 0 ? EXIT.violated : EXIT.ok
}

function spread(task: WorkerTask, first: number, last: number, threads: number): Promise<CampaignTally> {
  const total = last - first + 1
  const progress = startProgress('seeds')
  let next = first
  let tally = EMPTY_TALLY
  const workers = Array.from({ length: Math.min(threads, Math.ceil(total / CHUNK)) }, () => {
    return new Worker(new URL('./campaign-worker.js', import.meta.url), { workerData: task })
  })
  return new Promise<CampaignTally>((resolve, reject) => {
    let working = workers.length
    for (const worker of workers) {
      worker.on('error', reject)
      worker.on('message', (answer: WorkerAnswer) => {
        if (answer.type === 'failed') {
          reject(new Error(answer.message))
          return
        }
        if (answer.type === 'done') {
          tally = addTallies(tally, answer.tally)
          progress.update(tally.seeds, total, plural(tally.violations.length, 'violation'))
        }
        if (next <= last) {
          const question: WorkerQuestion = { first: next, last: Math.min(last, next + CHUNK - 1) }
          next = question.last + 1
          worker.postMessage(question)
          return
        }
        working -= 1
        if (working === 0) resolve(tally)
      })
    }
  }).finally(async () => {
    progress.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  })
}

function replayCommand(flags: CampaignFlags, seed: number): string {
  const fixed = flags.option.map((option) => ` --option ${shellWord(option)}`).join('')
  const loaded = flags.load === undefined ? '' : ` --load ${shellWord(flags.load)}`
  return `conclave sim --protocol ${flags.protocol} --nodes ${flags.nodes} --seeds ${seed}..${seed} --faults ${flags.faults}${fixed}${loaded}`
}

function shellWord(text: string): string {
  return /^[\w./=:,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

type Replayable = SeedViolation & { readonly replay: string }

function campaignText(tally: CampaignTally, violations: readonly Replayable[], seconds: number): string {
  const hours = virtualHours(tally).toFixed(2)
  const rate = count(tally.steps / seconds)
  return [
    `${count(tally.seeds)} seeds, ${count(tally.steps)} steps, ${hours} virtual hours (${rate} steps/s)`,
    '',
    formatTable(
      tally.goals.map(({ name, count: times }) => [`goal ${name}`, `reached ${formatTimes(times)}`]),
    ),
    formatTable(
      Object.entries(tally.judged).map(([spec, times]) => [`spec ${spec}`, `judged ${formatTimes(times)}`]),
    ),
    ...(tally.qos === null ? [] : ['', formatQos(qosReport(tally.qos))]),
    '',
    violations.length === 0
      ? paint('green', 'no violation')
      : paint('red', plural(violations.length, 'violation')),
    ...violations
      .slice(0, SHRUNK)
      .flatMap(({ seed, spec, why, replay, shrunk }) => [
        '',
        `seed ${seed}: ${spec} violated: ${why}`,
        `  replay: ${replay}`,
        ...(shrunk === null ? [] : [`  shrunk: ${shrunkText(shrunk)}`]),
      ]),
  ].join(NEW_LINE)
}

function virtualHours({ virtualMicros }: CampaignTally): number {
  return virtualMicros / 3_600_000_000
}

/** The scenario as one line that can be saved to a file and run. */
function shrunkText(scenario: Scenario): string {
  const { initial, registers, schedule: _schedule, checkpointsMs: _checkpointsMs, ...rest } = scenario
  return JSON.stringify({
    ...rest,
    ...(registers === null ? {} : { registers }),
    ...(initial === null ? {} : { initial }),
  })
}
