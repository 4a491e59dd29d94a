/** Runs a campaign over many seeds on several threads. The result does not depend on the number of threads. */
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
import { Interruption } from '../interrupt.ts'
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

/** The data that a worker is started with. It then receives ranges of seeds until none are left. */
export type WorkerTask = {
  readonly protocol: string
  readonly load: string | undefined
  readonly settings: SwarmSettings
}
export type WorkerReply =
  | { readonly type: 'ready' }
  | { readonly type: 'done'; readonly tally: CampaignTally }
  | { readonly type: 'failed'; readonly message: string }
export type WorkerRequest = { readonly first: number; readonly last: number }

/** Number of violations that are shrunk and printed. The others are only counted. */
const MAX_SHRUNK = 5
/** Seeds per request to a worker. */
const CHUNK = 16

export async function campaign(flags: CampaignFlags): Promise<number> {
  const [first, last] = parseRange('--seeds', flags.seeds, 0)
  const { lookup, specsFor } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, flags.protocol)
  const nodes = parseRange('--nodes', flags.nodes, definition.leastNodes)
  if (nodes[1] > MOST_NODES)
    throw new UsageError(`--nodes ${flags.nodes}: at most ${MOST_NODES} nodes can be simulated`, '--nodes')
  const fixed = parseOptions(flags.option)
  // Options that map nodes to values must fit the smallest world of the campaign.
  const smallest = Array.from({ length: nodes[0] }, (_, index) => index + 1)
  const checked = checkedOptions(definition, smallest, fixed)
  checkBounds(definition, checked, definition.swarm.delayMs[1], fixed)
  const tolerated = definition.bears(checked)
  const settings: SwarmSettings = {
    nodes,
    options: fixed,
    faults: parseFaults(flags.faults, definition.name, tolerated),
  }
  const draw = scenarioDrawer(definition, settings)
  draw(first) // Throws for invalid options, before any thread starts.
  const threads =
    flags.workers === undefined ? availableParallelism() : parseWholeNumber('--workers', flags.workers, 1)
  const startedAt = performance.now()
  const interruption = new Interruption()
  const tally = await runOnThreads(
    { protocol: flags.protocol, load: flags.load, settings },
    { first, last, threads, signal: interruption.signal },
  ).finally(() => interruption.close())
  const seconds = (performance.now() - startedAt) / 1000
  // To shrink a violation takes a while, which an impatient user does not want.
  const mostShrunk = interruption.isInterrupted ? 0 : MAX_SHRUNK
  const violations = tally.violations.map((violation, index) => ({
    ...(index < mostShrunk ? shrinkViolation(definition, draw, violation, specsFor(definition)) : violation),
    replay: formatReplayCommand(flags, violation.seed),
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
    ...(interruption.isInterrupted ? { interrupted: true } : {}),
    ...(tally.qos === null ? {} : { qos: qosReport(tally.qos) }),
  }
  if (flags.json === true) printJson(report)
  else print(formatCampaign(tally, violations, seconds))
  if (interruption.isInterrupted)
    printNote(`interrupted after ${count(tally.seeds)} of ${plural(last - first + 1, 'seed')}`)
  else warnAbout(tally, vacuous)
  return violations.length > 0 ? EXIT.violated : (interruption.exitCode ?? EXIT.ok)
}

/** What the campaign says nothing about. */
function warnAbout(tally: CampaignTally, vacuous: readonly string[]): void {
  for (const spec of vacuous) printNote(`warning: ${spec} was never judged; this campaign does not test it`)
  for (const goal of tally.goals) {
    if (!goal.reached)
      printNote(`warning: the goal ${goal.name} was never reached; try more seeds or other faults`)
  }
}

type Seeds = {
  readonly first: number
  readonly last: number
  readonly threads: number
  readonly signal: AbortSignal
}

/** When the signal is aborted, resolves with what is known so far. */
function runOnThreads(task: WorkerTask, { first, last, threads, signal }: Seeds): Promise<CampaignTally> {
  const total = last - first + 1
  const progress = startProgress('seeds')
  let next = first
  let tally = EMPTY_TALLY
  const workers = Array.from({ length: Math.min(threads, Math.ceil(total / CHUNK)) }, () => {
    return new Worker(new URL('./campaign-worker.js', import.meta.url), { workerData: task })
  })
  return new Promise<CampaignTally>((resolve, reject) => {
    let active = workers.length
    signal.addEventListener('abort', () => resolve(tally))
    for (const worker of workers) {
      worker.on('error', reject)
      worker.on('message', (reply: WorkerReply) => {
        if (reply.type === 'failed') {
          reject(new Error(reply.message))
          return
        }
        if (reply.type === 'done') {
          tally = addTallies(tally, reply.tally)
          progress.update(tally.seeds, total, plural(tally.violations.length, 'violation'))
        }
        if (next <= last) {
          const request: WorkerRequest = { first: next, last: Math.min(last, next + CHUNK - 1) }
          next = request.last + 1
          worker.postMessage(request)
          return
        }
        active -= 1
        if (active === 0) resolve(tally)
      })
    }
  }).finally(async () => {
    progress.stop()
    await Promise.all(workers.map((worker) => worker.terminate()))
  })
}

function formatReplayCommand(flags: CampaignFlags, seed: number): string {
  const fixed = flags.option.map((option) => ` --option ${quoteForShell(option)}`).join('')
  const loaded = flags.load === undefined ? '' : ` --load ${quoteForShell(flags.load)}`
  return `conclave sim --protocol ${flags.protocol} --nodes ${flags.nodes} --seeds ${seed}..${seed} --faults ${flags.faults}${fixed}${loaded}`
}

function quoteForShell(text: string): string {
  return /^[\w./=:,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

type Replayable = SeedViolation & { readonly replay: string }

function formatCampaign(tally: CampaignTally, violations: readonly Replayable[], seconds: number): string {
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
      .slice(0, MAX_SHRUNK)
      .flatMap(({ seed, spec, why, replay, shrunk }) => [
        '',
        `seed ${seed}: ${spec} violated: ${why}`,
        `  replay: ${replay}`,
        ...(shrunk === null ? [] : [`  shrunk: ${formatShrunk(shrunk)}`]),
      ]),
  ].join(NEW_LINE)
}

function virtualHours({ virtualMicros }: CampaignTally): number {
  return virtualMicros / 3_600_000_000
}

/** Formats a scenario as one line that can be saved to a file and run. */
function formatShrunk(scenario: Scenario): string {
  const { initial, registers, schedule: _schedule, checkpointsMs: _checkpointsMs, ...rest } = scenario
  return JSON.stringify({
    ...rest,
    ...(registers === null ? {} : { registers }),
    ...(initial === null ? {} : { initial }),
  })
}
