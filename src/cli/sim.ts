/** `conclave sim`: one scenario from a file, or a campaign of many seeds. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { Command } from 'commander'
import { present } from '../core/index.ts'
import { count } from '../core/text.ts'
import {
  parseScenario,
  promisedSpecs,
  type Report,
  runScenario,
  type Scenario,
  traceHeader,
} from '../workbench/sim/index.ts'
import { specs as allSpecs, type Spec, type SpecVerdict, specNamed } from '../workbench/specs/index.ts'
import { idleness, type TraceRecord, traceLine, transcriptLine } from '../workbench/trace/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { loadProtocols } from './load.ts'
import { formatTable, formatTimes, NEW_LINE, paint, print, printJson } from './output.ts'
import { type CampaignFlags, campaign } from './parallel/campaign.ts'
import { parseWholeNumber } from './values.ts'

type SimFlags = Partial<CampaignFlags> & {
  readonly seed?: string
  readonly trace?: string
  readonly transcript?: true
  readonly all?: true
  readonly strict?: true
  readonly spec?: readonly string[]
  readonly load?: string
  readonly json?: true
}

export function simCommand(): Command {
  return new Command('sim')
    .description('run a protocol in the simulator: a scenario file, or many seeds')
    .argument('[file]', 'scenario file; - for standard input')
    .option('--json', 'print one JSON object')
    .option('--seed <n>', "instead of the scenario's own seed")
    .option('--trace <file>', 'write the trace (NDJSON)')
    .option('--transcript', 'tell what happens, line by line')
    .option('--all', 'with --transcript: everything, heartbeats too')
    .option('--strict', 'hold the protocol to the contract at every step (slow)')
    .option(
      '--spec <name>',
      'judge this specification, too (repeat for more; see conclave specs)',
      collect,
      [],
    )
    .option('--load <file>', 'a module with a protocol of your own')
    .option('--protocol <name>', 'campaign: which protocol')
    .option('--nodes <n>', 'campaign: how many nodes, or a range such as 3..7')
    .option('--seeds <range>', 'campaign: which seeds, such as 1..10000')
    .option('--faults <kinds>', 'campaign: swarm (all that the protocol bears; the default), none, or a list')
    .option('--option <name=value>', 'campaign: fix an option (repeat for more)', collect, [])
    .option('--workers <n>', 'campaign: how many threads (default: one a core)')
    .addHelpText(
      'after',
      `
Examples:
  conclave sim examples/first-election.json
  conclave sim examples/first-election.json --transcript
  conclave sim scenario.json --json --trace run.ndjson
  conclave sim --protocol bully --nodes 3..5 --seeds 1..10000 --faults swarm
  conclave sim --protocol bully --nodes 3 --seeds 1..500 --option repaired=false

Exit code 0 when all specifications held, 6 when one was violated, 2 for bad input.`,
    )
    .action(async (file: string | undefined, flags: SimFlags) => {
      process.exitCode = file === undefined ? await manySeeds(flags) : await oneFile(file, flags)
    })
}

export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value]
}

function manySeeds(flags: SimFlags): Promise<number> {
  const { protocol, nodes, seeds } = flags
  refuse(
    flags,
    ['seed', 'trace', 'transcript', 'all', 'strict', 'spec'],
    'belongs to a scenario file; a campaign runs many',
  )
  if (protocol === undefined || nodes === undefined || seeds === undefined) {
    throw new UsageError('sim needs a scenario file, or --protocol, --nodes and --seeds for a campaign')
  }
  return campaign({ faults: 'swarm', option: [], ...flags, protocol, nodes, seeds })
}

/** Flags that would be ignored are refused: silence would be taken for consent. */
function refuse(flags: SimFlags, names: readonly (keyof SimFlags)[], why: string): void {
  const misplaced = names.find((name) => {
    const value = flags[name]
    return Array.isArray(value) ? value.length > 0 : value !== undefined
  })
  if (misplaced !== undefined) throw new UsageError(`--${misplaced} ${why}`, `--${misplaced}`)
}

async function oneFile(file: string, flags: SimFlags): Promise<number> {
  refuse(
    flags,
    ['protocol', 'nodes', 'seeds', 'faults', 'workers', 'option'],
    'belongs to a campaign; a file says it itself',
  )
  const { lookup, specsFor } = await loadProtocols(flags.load)
  const parsed = parseScenario(readJsonFile(file), lookup)
  const scenario =
    flags.seed === undefined ? parsed : { ...parsed, seed: parseWholeNumber('--seed', flags.seed, 0) }
  const definition = present(lookup.find(scenario.protocol), 'protocol')
  const sinks = [traceSink(flags, scenario), transcriptSink(flags, definition.kinds)].filter(
    (sink) => sink !== null,
  )
  const report = runScenario(definition, scenario, {
    ...specsFor(definition),
    ...(flags.spec === undefined || flags.spec.length === 0
      ? {}
      : {
          specs: [
            ...(specsFor(definition).specs ?? promisedSpecs(definition, scenario.options)),
            ...flags.spec.map((name) => findSpec(name, '--spec')),
          ],
        }),
    strict: flags.strict === true,
    ...(sinks.length === 0 ? {} : { record: (record) => sinks.forEach((sink) => sink.write(record)) }),
  })
  for (const sink of sinks) sink.end()
  if (flags.json === true) printJson(report)
  else print(formatReport(report))
  return report.specs.some(({ verdict }) => verdict === 'violated') ? EXIT.violated : EXIT.ok
}

export function findSpec(name: string, flag: string): Spec {
  const spec = specNamed(name)
  if (spec !== null) return spec
  const known = allSpecs.map((each) => each.name).join(', ')
  throw new UsageError(`${flag} ${name}: unknown specification (known: ${known})`, flag)
}

export function readJsonFile(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      `${file}: ${code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`}`,
    )
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file}: not JSON: ${(error as Error).message}`)
  }
}

type RecordSink = { write(record: TraceRecord): void; end(): void }

/** How many lines of a trace are written at a time. */
const TRACE_LINES = 1000

function traceSink(flags: SimFlags, scenario: Scenario): RecordSink | null {
  if (flags.trace === undefined) return null
  const { trace } = flags
  let descriptor: number
  try {
    descriptor = openSync(trace, 'w')
  } catch (error) {
    throw new UsageError(
      `--trace ${trace}: cannot be written (${(error as NodeJS.ErrnoException).code})`,
      '--trace',
    )
  }
  let waiting = [traceLine(traceHeader(scenario))]
  const flush = (): void => {
    writeSync(descriptor, `${waiting.join('\n')}\n`)
    waiting = []
  }
  return {
    write(record) {
      waiting.push(traceLine(record))
      if (waiting.length >= TRACE_LINES) flush()
    },
    end() {
      if (waiting.length > 0) flush()
      closeSync(descriptor)
    },
  }
}

function transcriptSink(flags: SimFlags, kinds: readonly string[]): RecordSink | null {
  if (flags.transcript !== true || flags.json === true) return null
  return {
    write(record) {
      const line = transcriptLine(record, { kinds, all: flags.all === true })
      if (line !== null) print(line)
    },
    end() {
      print('')
    },
  }
}

function standingText(node: Report['nodes'][string]): string {
  const idle = node.role === 'leader' ? idleness(node) : null
  return idle === null ? node.role : `leader of a view, ${idle}`
}

export function formatReport(report: Report): string {
  const nodes = Object.entries(report.nodes).map(([id, node]) => [
    id,
    standingText(node),
    String(node.leader ?? '-'),
    node['token'] === null ? '-' : JSON.stringify(node['token']),
  ])
  const { messages, linkMessages } = report
  const kinds = Object.entries(messages.byKind).map(([kind, sent]) => `${kind} ${count(sent)}`)
  return [
    `${report.protocol}, seed ${report.seed}: ${report.endedAtMs} ms of virtual time, ${count(report.steps)} steps`,
    '',
    formatTable([['node', 'role', 'leader', 'token'], ...nodes]),
    '',
    `messages  ${count(messages.total)}${kinds.length === 0 ? '' : ` (${kinds.join(', ')})`}`,
    ...(linkMessages.total === 0 ? [] : [`below     ${count(linkMessages.total)} of the layers underneath`]),
    ...report.leaderships.map(
      ({ node, fromMs, untilMs, ended }) =>
        `led       ${node} from ${fromMs} ms ${ended === null ? 'on' : `until ${untilMs} ms (${ended})`}`,
    ),
    '',
    formatVerdicts(report.specs, (atMs) => `at ${atMs} ms`),
  ].join(NEW_LINE)
}

export function formatVerdicts(specs: readonly SpecVerdict[], when: (atMs: number) => string): string {
  return formatTable(
    specs.map((spec) => {
      switch (spec.verdict) {
        case 'held':
          return [spec.name, `${paint('green', 'held')} (judged ${formatTimes(spec.judged)})`]
        case 'vacuous':
          return [spec.name, `${paint('yellow', 'vacuous')}: ${spec.why}`]
        case 'violated':
          return [spec.name, `${paint('red', 'VIOLATED')} ${when(spec.atMs)}: ${spec.why}`]
        default:
          return spec satisfies never
      }
    }),
  )
}
