/** conclave chaos: real processes on this machine are killed, stopped and cut off, and an independent witness judges. */
import { rmdirSync } from 'node:fs'
import { Command } from 'commander'
import { guaranteesOf } from '../protocols/local-leader/guarantees.ts'
import {
  CASES,
  type Finding,
  isMissed,
  measureText,
  type Settings,
  summaryOf,
} from '../service/chaos/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { NEW_LINE, print, printJson, printNote } from './output.ts'
import { planOf } from './plan/config.ts'
import { makeTemporaryFolder } from './temporary.ts'
import { parseMilliseconds, parseWholeNumber } from './values.ts'

type ChaosFlags = {
  readonly nodes: string
  readonly times: string
  readonly datagrams: string
  readonly profile: string
  readonly option: readonly string[]
  readonly killBeforeMs: string
  readonly json?: boolean
}

const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

export function chaosCommand(): Command {
  return new Command('chaos')
    .description(
      'kill, stop, cut off and pester real processes on this machine, and see whether two ever lead',
    )
    .argument('[case...]', `what to do: ${Object.keys(CASES).join(', ')}; everything unless named`)
    .option('--nodes <n>', 'how many', '5')
    .option('--times <n>', 'how often the leader is killed; other things are done in proportion', '50')
    .option('--datagrams <n>', 'how many hostile datagrams', '2000000')
    .option('--profile <profile>', 'lan, region or wan', 'lan')
    .option('--option <name=value>', "set one of the protocol's options (repeat for more)", collect, [])
    .option('--kill-before-ms <ms>', 'as for "conclave run"', '15')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave chaos
  conclave chaos kill partition --times 10 --option sigmaMs=60 --kill-before-ms 40

Each node is a "conclave run" whose command writes its token into one file, again and again: the witness. Whatever is
done, an older token must never follow a newer one, no token may have two holders, and no command may begin while
another still lives. Times are printed beside what the configuration promises; docs/how-to/run-chaos.md says what is done and how
it is judged.

Exit code: 0 when all is well; 6 when two led at once or something else happened that must not; 1 when half of the
times of a kind were beyond their bound (a busy machine can do that); 2 for bad input.`,
    )
    .action(async (names: readonly string[], flags: ChaosFlags) => {
      process.exitCode = await chaos(names, flags)
    })
}

async function chaos(names: readonly string[], flags: ChaosFlags): Promise<number> {
  const stranger = names.find((name) => CASES[name] === undefined)
  if (stranger !== undefined)
    throw new UsageError(`there is no case "${stranger}"; there are ${Object.keys(CASES).join(', ')}`)
  const settings = settingsOf(flags)
  // Every case makes one of its own: better said before than in each of them.
  rmdirSync(makeTemporaryFolder('conclave-chaos-'))
  const isJson = flags.json === true
  const findings: Finding[] = []
  for (const [name, run] of Object.entries(CASES)) {
    if (names.length > 0 && !names.includes(name)) continue
    // oxlint-disable-next-line no-await-in-loop -- one after the other: they share the machine
    const finding = await run({ ...settings, say: (text) => printNote(`${name}: ${text}`) }).catch(
      (error: Error) => ({
        name,
        done: 'not to its end',
        problems: [error.message],
        measures: [],
        limited: null,
      }),
    )
    findings.push(finding)
    if (!isJson) print(findingText(finding))
  }
  if (isJson) printJson(reportOf(findings))
  else print(verdictText(findings))
  if (findings.some(({ problems }) => problems.length > 0)) return EXIT.violated
  return findings.some(({ measures }) => measures.some(isMissed)) ? EXIT.failure : EXIT.ok
}

function settingsOf(flags: ChaosFlags): Settings {
  const nodes = parseWholeNumber('--nodes', flags.nodes, 3)
  const { profile, option } = flags
  const plan = planOf({ nodes: String(nodes), profile, option }, {})
  const { failOver, leaseEnd, timing } = guaranteesOf(plan.options, plan.nodes)
  return {
    nodes,
    times: parseWholeNumber('--times', flags.times, 1),
    datagrams: parseWholeNumber('--datagrams', flags.datagrams, 1),
    words: ['--profile', profile, ...option.flatMap((each) => ['--option', each])],
    killBeforeMs: parseMilliseconds('--kill-before-ms', flags.killBeforeMs),
    bounds: {
      failOverMs: (failOver?.worst ?? Number.NaN) / 1000,
      leaseMs: leaseEnd / 1000,
      lockMs: timing.lockTime / 1000,
    },
    say: () => {},
  }
}

function findingText({ name, done, problems, measures, limited }: Finding): string {
  return [
    `${name.padEnd(14)} ${problems.length === 0 ? 'ok' : 'VIOLATED'}  ${done}`,
    ...measures.map((measure) => `  ${measureText(measure)}`),
    ...(limited === null ? [] : [`  limited: ${limited}`]),
    ...problems.map((problem) => `  VIOLATED: ${problem.replaceAll('\n', `${NEW_LINE}    `)}`),
  ].join(NEW_LINE)
}

function verdictText(findings: readonly Finding[]): string {
  const bad = findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name)
  const late = findings.filter(({ measures }) => measures.some(isMissed)).map(({ name }) => name)
  if (bad.length > 0) return `${NEW_LINE}NOT as promised: ${bad.join(', ')}`
  return `${NEW_LINE}never two leaders at once${late.length > 0 ? `; slower than promised: ${late.join(', ')}` : ''}`
}

function reportOf(findings: readonly Finding[]) {
  return {
    cases: findings.map(({ measures, ...rest }) => ({
      ...rest,
      measures: measures.map((measure) => ({
        what: measure.what,
        boundMs: measure.boundMs,
        ...summaryOf(measure.samplesMs),
        missed: isMissed(measure),
      })),
    })),
  }
}
