/** `conclave explore`: every interleaving of a small world. */
import { Command } from 'commander'
import type { Definition, NodeId } from '../core/index.ts'
import { count, plural } from '../core/text.ts'
import { type ExploreReport, explore } from '../workbench/explore/index.ts'
import {
  checkedOptions,
  type Lookup,
  parseScenario,
  promisedSpecs,
  type ScheduleStep,
  USUAL_HISTORY,
} from '../workbench/sim/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { findProtocol, loadProtocols } from './load.ts'
import { formatTable, NEW_LINE, paint, print, printJson } from './output.ts'
import { startProgress } from './progress.ts'
import { collect, findSpec, formatVerdicts, readJsonFile } from './sim.ts'
import { parseChoice, parseOptions, parseWholeNumber } from './values.ts'

type ExploreFlags = {
  readonly protocol?: string
  readonly nodes?: string
  readonly option: readonly string[]
  readonly crashes?: string
  readonly recoveries?: string
  readonly flips?: string
  readonly ticks?: string
  readonly depth?: string
  readonly maxStates: string
  readonly memory: string
  readonly order?: string
  readonly timers?: string
  readonly slack?: string
  readonly raw?: true
  readonly members?: string
  readonly after?: string
  readonly only: readonly string[]
  readonly from?: string
  readonly progress: boolean
  readonly spec: readonly string[]
  readonly load?: string
  readonly json?: true
}

export function exploreCommand(): Command {
  return new Command('explore')
    .description('search every interleaving of a small world for violations')
    .option('--protocol <name>', 'which protocol')
    .option('--nodes <n>', 'how many nodes')
    .option('--option <name=value>', "set one of the protocol's options (repeat for more)", collect, [])
    .option('--crashes <k>', 'how many crashes may happen')
    .option('--recoveries <k>', 'how many recoveries may happen')
    .option('--flips <k>', 'how often a link may be cut or healed')
    .option('--ticks <k>', 'how often time may pass, for protocols with locks and leases')
    .option('--depth <d>', 'search no deeper than this many steps')
    .option('--max-states <m>', 'give up after this many states', '20000000')
    .option('--memory <mb>', 'give up when the states take this much memory', '4000')
    .option('--order <order>', 'fifo: links keep their order; any: they do not')
    .option(
      '--timers <when>',
      'any: a timer may fire at any moment; quiet: only when no message is in flight',
    )
    .option(
      '--slack <w>',
      'where nodes are told of their links: how far an end may lead; 0: both move at once',
    )
    .option('--raw', 'where nodes are told of their links: frames do not bear the incarnation of their link')
    .option('--members <ids>', 'with --from settled: who is in the component, the others begin alone (2,3)')
    .option('--from <start>', 'settled: as after an election; boot: all nodes start')
    .option(
      '--after <file>',
      'begin where the schedule of this scenario ends, instead of before its first step',
    )
    .option('--only <spec>', 'judge only this specification (repeat for more)', collect, [])
    .option('--no-progress', 'do not look for deadlocks and livelocks')
    .option(
      '--spec <name>',
      'judge this specification, too (repeat for more; see conclave specs)',
      collect,
      [],
    )
    .option('--load <file>', 'a module with a protocol of your own')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave explore --protocol bully --nodes 3 --option repaired=false
  conclave explore --protocol bully --nodes 3 --crashes 2 --recoveries 2
  conclave explore --protocol bully --nodes 3 --order any --depth 20 --json

The counterexample is a shortest one, and its scenario runs with "conclave sim".
What is not given is as the protocol's own definition says.
Exit code 0 when nothing was found, 6 when a specification is violated, 2 for bad input.`,
    )
    .action(async (flags: ExploreFlags) => {
      process.exitCode = await run(flags)
    })
}

/** Worlds with more nodes than this are beyond any search. */
const MOST_NODES = 16

async function run(flags: ExploreFlags): Promise<number> {
  if (flags.protocol === undefined) throw new UsageError('explore needs --protocol NAME', '--protocol')
  if (flags.nodes === undefined) throw new UsageError('explore needs --nodes N', '--nodes')
  const { lookup, specsFor } = await loadProtocols(flags.load)
  const definition = findProtocol(lookup, flags.protocol)
  const { exploration } = definition
  const size = parseWholeNumber('--nodes', flags.nodes, definition.leastNodes)
  if (size > MOST_NODES)
    throw new UsageError(`--nodes ${size}: at most ${MOST_NODES} can be explored`, '--nodes')
  const nodes = Array.from({ length: size }, (_, index) => index + 1)
  const given = parseOptions(flags.option)
  const number = (flag: string, text: string | undefined, least: number, otherwise: number): number =>
    text === undefined ? otherwise : parseWholeNumber(flag, text, least)
  const ticks = number('--ticks', flags.ticks, 0, exploration.ticks)
  if (ticks > 0 && exploration.tick === 0) {
    throw new UsageError(
      `--ticks ${ticks}: ${definition.name} does not say how long a tick is (exploration.tick in its definition)`,
      '--ticks',
    )
  }
  const chosen = checkedOptions(definition, nodes, { ...exploration.options, ...given })
  const maxStates = parseWholeNumber('--max-states', flags.maxStates, 1)
  const progress = startProgress('states')
  const report = explore(
    {
      definition,
      nodes,
      options: chosen,
      budget: {
        crashes: number('--crashes', flags.crashes, 0, exploration.crashes),
        recoveries: number('--recoveries', flags.recoveries, 0, exploration.recoveries),
        flips: number('--flips', flags.flips, 0, exploration.flips),
        ticks,
      },
      from:
        flags.from === undefined ? exploration.from : parseChoice('--from', flags.from, ['boot', 'settled']),
      order:
        flags.order === undefined ? definition.order : parseChoice('--order', flags.order, ['fifo', 'any']),
      timers:
        flags.timers === undefined
          ? exploration.timers
          : parseChoice('--timers', flags.timers, ['any', 'quiet']),
      history: {
        slack: number('--slack', flags.slack, 0, USUAL_HISTORY.slack),
        labelled: flags.raw === undefined,
      },
      ...(flags.after === undefined ? {} : { after: scheduleOf(flags.after, definition, nodes, lookup) }),
      ...(flags.members === undefined ? {} : { members: membersAmong(nodes, flags.members) }),
      depth: number('--depth', flags.depth, 1, Number.MAX_SAFE_INTEGER),
      maxStates,
      memoryMB: parseWholeNumber('--memory', flags.memory, 1),
      progress: flags.progress && exploration.progress,
      ...specsFor(definition),
      ...(flags.only.length === 0 ? {} : { specs: flags.only.map((name) => findSpec(name, '--only')) }),
      ...(flags.spec.length === 0
        ? {}
        : {
            specs: [
              ...(specsFor(definition).specs ?? promisedSpecs(definition, chosen)),
              ...flags.spec.map((name) => findSpec(name, '--spec')),
            ],
          }),
    },
    {
      seconds: () => performance.now() / 1000,
      goOn({ states, depth, waiting }) {
        progress.update(states, 0, `depth ${depth}, ${count(waiting)} waiting`)
        return true
      },
    },
  )
  progress.stop()
  if (flags.json === true) printJson(report)
  else print(exploreText(report))
  return report.counterexample === null ? EXIT.ok : EXIT.violated
}

/** The steps of a scenario of this very protocol and these nodes. */
function scheduleOf(
  file: string,
  { name }: Definition,
  nodes: readonly NodeId[],
  lookup: Lookup,
): readonly ScheduleStep[] {
  const { protocol, nodes: theirs, schedule } = parseScenario(readJsonFile(file), lookup)
  if (protocol !== name)
    throw new UsageError(`--after ${file}: protocol must be ${name}, not ${protocol}`, '--after')
  if (theirs.join() !== nodes.join()) {
    throw new UsageError(`--after ${file}: nodes must be ${nodes.join(', ')}, as --nodes says`, '--after')
  }
  if (schedule === null) throw new UsageError(`--after ${file}: it has no schedule`, '--after')
  return schedule
}

function membersAmong(nodes: readonly NodeId[], text: string): readonly NodeId[] {
  const members = text.split(',').map((each) => parseWholeNumber('--members', each.trim(), 1))
  const stranger = members.find((id) => !nodes.includes(id))
  if (stranger === undefined && new Set(members).size === members.length) return members
  throw new UsageError(
    `--members ${text}: write some of ${nodes.join(',')}, each once, with commas between`,
    '--members',
  )
}

function exploreText(report: ExploreReport): string {
  const { counterexample, progress } = report
  const memory = report.bytesPerState * report.states
  const ended = report.complete
    ? 'complete: everything within these bounds was seen'
    : `NOT complete: stopped by ${report.cutShort}`
  return [
    formatTable([
      ['states', count(report.states)],
      ['transitions', count(report.transitions)],
      ['depth', count(report.depth)],
      ['search', ended],
      ['time', `${report.seconds.toFixed(2)} s, ${count(report.statesPerSecond)} states/s`],
      ['memory', `${(memory / 1e6).toFixed(1)} MB, ${report.bytesPerState.toFixed(1)} bytes a state`],
      ['reuse', `${count(report.reuse)} transitions for each run of protocol code`],
    ]),
    '',
    formatVerdicts(report.specs, (steps) => `after ${plural(steps, 'step')}`),
    `progress     ${progress.verdict}${'why' in progress ? `: ${progress.why}` : ''}`,
    formatTable(
      report.goals.map(({ name, reached }) => [`goal ${name}`, reached ? 'reached' : 'NOT reached']),
    ),
    ...(counterexample === null
      ? []
      : [
          '',
          paint(
            'red',
            `${counterexample.spec} is violated in ${plural(counterexample.steps.length, 'step')}:`,
          ),
          ...counterexample.steps.map(
            (step, index) => `  ${String(index + 1).padStart(3)}  ${stepText(step)}`,
          ),
          `  ${counterexample.why}`,
          '',
          'to replay it, save this and run it with "conclave sim FILE --transcript":',
          JSON.stringify(counterexample.scenario),
        ]),
  ].join(NEW_LINE)
}

function whichOf(nth: number | undefined): string {
  return nth === undefined || nth === 0 ? '' : ` (what may be there, number ${nth + 1})`
}

function lateOf(late: true | undefined): string {
  return late === undefined ? '' : ', crashes, and the write is late'
}

export function stepText(step: ScheduleStep): string {
  const cut = 'crashAfter' in step ? `, and crashes after ${step.crashAfter} of its effects` : ''
  switch (step.do) {
    case 'deliver':
      return `${step.node} gets the ${step.nth === undefined ? 'next message' : `message number ${step.nth + 1}`} from ${step.from}${cut}`
    case 'timer':
      return `${step.node}: timer ${step.name} fires${cut}`
    case 'command':
      return `${step.node} is told ${JSON.stringify(step.command)}${cut}`
    case 'crash':
      return `${step.node} crashes`
    case 'recover':
      return `${step.node} recovers${cut}`
    case 'reincarnate':
      return `${step.node} comes back and reads its own register${whichOf(step.nth)}${cut}`
    case 'tickDisk':
      return `${step.node} ticks${step.to === undefined ? '' : ` to epoch ${step.to}`}, in its register${lateOf(step.late)}`
    case 'tickMem':
      return `${step.node}: its write is acknowledged`
    case 'write':
      return `${step.node} writes its register${lateOf(step.late)}`
    case 'read':
      return `${step.node} reads the register of ${step.of}${whichOf(step.nth)}`
    case 'land':
      return `the late write of ${step.node} takes place`
    case 'examine':
      return `another node reads the register of ${step.node}, to remove it`
    case 'bury':
      return `and writes a tombstone there${whichOf(step.nth)}`
    case 'delete':
      return `the register of ${step.node} is deleted`
    case 'cut':
      return `the link between ${step.node} and ${step.peer} is cut`
    case 'heal':
      return `the link between ${step.node} and ${step.peer} is healed`
    case 'flip':
      return `${step.node} sees its link to ${step.peer} change${cut}`
    case 'follow':
      return `${step.node} sees, after ${step.peer}, their link change${cut}`
    case 'tick':
      return 'a tick passes'
    default:
      return step satisfies never
  }
}
