/** `conclave chaos`: injects faults into real processes on this machine, and judges them with an independent witness. */
import { rmdirSync } from 'node:fs'
import { Command } from 'commander'
import {
  CASES,
  type ChaosSettings,
  exceedsBound,
  type Finding,
  formatMeasure,
  summarize,
} from '../service/chaos/index.ts'
import { flagOf } from '../service/config/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { Interruption } from './interrupt.ts'
import { TIMING_HELP } from './node-flags.ts'
import { NEW_LINE, print, printJson, printNote } from './output.ts'
import { readPlan } from './plan/config.ts'
import { makeTemporaryFolder } from './temporary.ts'
import { collect, parseMilliseconds, parseWholeNumber } from './values.ts'

type ChaosFlags = {
  readonly nodes: string
  readonly times: string
  readonly datagrams: string
  readonly profile: string
  readonly timing?: string
  readonly leaseMinMs?: string
  readonly leaseMaxMs?: string
  readonly option: readonly string[]
  readonly killBeforeMs: string
  readonly json?: boolean
}

export function chaosCommand(): Command {
  return new Command('chaos')
    .description(
      'kill, stop, partition and flood real processes on this machine, and check that two never lead at once',
    )
    .argument('[case...]', `cases to run: ${Object.keys(CASES).join(', ')} (default: all)`)
    .option('--nodes <n>', 'number of nodes', '5')
    .option('--times <n>', 'how often the leader is killed; the other cases scale with it', '50')
    .option('--datagrams <n>', 'number of hostile datagrams', '2000000')
    .option('--profile <profile>', 'fast, lan, region or wan', 'lan')
    .option('--timing <timing>', TIMING_HELP)
    .option('--lease-min-ms <n>', 'adaptive timing: the shortest lease (default: of the profile)')
    .option('--lease-max-ms <n>', 'adaptive timing: the longest lease (default: of the profile)')
    .option('--option <name=value>', 'set an option of the protocol (repeat for more)', collect, [])
    .option('--kill-before-ms <ms>', 'as in "conclave run"', '15')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave chaos
  conclave chaos kill partition --times 10 --option sigmaMs=60 --kill-before-ms 40

Each node is a "conclave run" whose command repeatedly writes its token into one shared file, the witness. An older token
must never follow a newer one, no token may have two holders, and no command may start while another still runs. The
measured times are printed beside the bounds of the configuration: with adaptive timing, of its longest lease.
docs/how-to/run-chaos.md describes the cases.

Exit code: 0 if all checks pass; 6 if two nodes led at once or another check failed; 1 if half of the times of one kind
exceed their bound, which a busy machine can cause; 2 for bad input. Ctrl-C prints the completed cases and exits with 130.`,
    )
    .action(async (names: readonly string[], flags: ChaosFlags) => {
      process.exitCode = await chaos(names, flags)
    })
}

async function chaos(names: readonly string[], flags: ChaosFlags): Promise<number> {
  const unknown = names.find((name) => CASES[name] === undefined)
  if (unknown !== undefined)
    throw new UsageError(`"${unknown}": unknown case; use ${Object.keys(CASES).join(', ')}`)
  const settings = readSettings(flags)
  // Every case creates a temporary folder. Check once that this works.
  rmdirSync(makeTemporaryFolder('conclave-chaos-'))
  const isJson = flags.json === true
  const findings: Finding[] = []
  const interruption = new Interruption()
  const interrupted = new Promise<null>((resolve) => {
    interruption.signal.addEventListener('abort', () => resolve(null))
  })
  for (const [name, run] of Object.entries(CASES)) {
    if (names.length > 0 && !names.includes(name)) continue
    const ended = run({ ...settings, onProgress: (text) => printNote(`${name}: ${text}`) }).catch(
      (error: Error) => ({
        name,
        done: 'not completed',
        problems: [error.message],
        measures: [],
        limited: null,
      }),
    )
    // oxlint-disable-next-line no-await-in-loop -- one case after the other: they share the machine
    const finding = await Promise.race([ended, interrupted])
    if (finding === null) {
      printNote(`interrupted in the case ${name}`)
      break
    }
    findings.push(finding)
    if (!isJson) print(formatFinding(finding))
  }
  interruption.close()
  const { exitCode } = interruption
  if (isJson) printJson({ ...toJson(findings), ...(exitCode === null ? {} : { interrupted: true }) })
  else print(formatVerdict(findings, exitCode !== null))
  const code = findings.some(({ problems }) => problems.length > 0) ? EXIT.violated : exitCode
  // The processes of the interrupted case end with this one.
  if (exitCode !== null) process.exit(code ?? exitCode)
  if (code !== null) return code
  return findings.some(({ measures }) => measures.some(exceedsBound)) ? EXIT.failure : EXIT.ok
}

function readSettings(flags: ChaosFlags): ChaosSettings {
  const nodes = parseWholeNumber('--nodes', flags.nodes, 3)
  const { profile, option, timing, leaseMinMs, leaseMaxMs } = flags
  const lease = {
    ...(timing === undefined ? {} : { timing }),
    ...(leaseMinMs === undefined ? {} : { leaseMinMs }),
    ...(leaseMaxMs === undefined ? {} : { leaseMaxMs }),
  }
  const plan = readPlan({ nodes: String(nodes), profile, option, ...lease }, {})
  const described = plan.planning.describe(plan)
  if (described.kind !== 'trials')
    throw new UsageError(`${plan.definition.name} computes no bounds that this command could check`)
  const { failOver, leaseEnd, silence } = described.bounds
  return {
    nodes,
    times: parseWholeNumber('--times', flags.times, 1),
    datagrams: parseWholeNumber('--datagrams', flags.datagrams, 1),
    flags: [
      '--profile',
      profile,
      ...Object.entries(lease).flatMap(([field, value]) => [flagOf(field), value]),
      ...option.flatMap((each) => ['--option', each]),
    ],
    killBeforeMs: parseMilliseconds('--kill-before-ms', flags.killBeforeMs),
    bounds: {
      failoverMs: (failOver ?? Number.NaN) / 1000,
      leaseMs: leaseEnd / 1000,
      lockMs: silence / 1000,
    },
    onProgress: () => {},
  }
}

function formatFinding({ name, done, problems, measures, limited }: Finding): string {
  return [
    `${name.padEnd(14)} ${problems.length === 0 ? 'ok' : 'VIOLATED'}  ${done}`,
    ...measures.map((measure) => `  ${formatMeasure(measure)}`),
    ...(limited === null ? [] : [`  limited: ${limited}`]),
    ...problems.map((problem) => `  VIOLATED: ${problem.replaceAll('\n', `${NEW_LINE}    `)}`),
  ].join(NEW_LINE)
}

function formatVerdict(findings: readonly Finding[], isInterrupted: boolean): string {
  const bad = findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name)
  const late = findings.filter(({ measures }) => measures.some(exceedsBound)).map(({ name }) => name)
  if (isInterrupted && findings.length === 0) return `${NEW_LINE}no case was completed`
  if (bad.length > 0) return `${NEW_LINE}violations in ${bad.join(', ')}`
  return `${NEW_LINE}never two leaders at once${late.length > 0 ? `; slower than the bound: ${late.join(', ')}` : ''}`
}

function toJson(findings: readonly Finding[]) {
  return {
    cases: findings.map(({ measures, ...rest }) => ({
      ...rest,
      measures: measures.map((measure) => ({
        what: measure.what,
        boundMs: measure.boundMs,
        ...summarize(measure.samplesMs),
        missed: exceedsBound(measure),
      })),
    })),
  }
}
