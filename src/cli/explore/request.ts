/** Turns the flags of `conclave explore` into a request to the explorer. */
import type { Definition, NodeId } from '../../core/index.ts'
import type { explore } from '../../workbench/explore/index.ts'
import {
  checkedOptions,
  DEFAULT_LINK_HISTORY,
  type Lookup,
  parseScenario,
  promisedSpecs,
  type ScheduleStep,
} from '../../workbench/sim/index.ts'
import { UsageError } from '../errors.ts'
import { useScenarioFile } from '../input-files.ts'
import { findProtocol, type Loaded } from '../load.ts'
import { addSpecs, findSpec } from '../sim/scenario-file.ts'
import { parseChoice, parseOptions, parseWholeNumber } from '../values.ts'

export type ExploreFlags = {
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

type ExploreRequest = Parameters<typeof explore>[0]

/** No search of a larger world ends. */
const MAX_NODES = 16

/** Everything that no flag sets is as the protocol's definition says. */
export function readExploreRequest(flags: ExploreFlags, { lookup, specsFor }: Loaded): ExploreRequest {
  if (flags.protocol === undefined) throw new UsageError('explore needs --protocol NAME', '--protocol')
  if (flags.nodes === undefined) throw new UsageError('explore needs --nodes N', '--nodes')
  const definition = findProtocol(lookup, flags.protocol)
  const { exploration } = definition
  const nodes = readNodes(flags.nodes, definition)
  const options = checkedOptions(definition, nodes, { ...exploration.options, ...parseOptions(flags.option) })
  const own = specsFor(definition)
  return {
    definition,
    nodes,
    options,
    budget: readBudget(flags, definition),
    from:
      flags.from === undefined ? exploration.from : parseChoice('--from', flags.from, ['boot', 'settled']),
    order:
      flags.order === undefined ? definition.order : parseChoice('--order', flags.order, ['fifo', 'any']),
    timers:
      flags.timers === undefined
        ? exploration.timers
        : parseChoice('--timers', flags.timers, ['any', 'quiet']),
    history: {
      slack: readNumber('--slack', flags.slack, 0, DEFAULT_LINK_HISTORY.slack),
      labelled: flags.raw === undefined,
    },
    ...(flags.after === undefined ? {} : { after: readSchedule(flags.after, definition, nodes, lookup) }),
    ...(flags.members === undefined ? {} : { members: parseMembers(flags.members, nodes) }),
    depth: readNumber('--depth', flags.depth, 1, Number.MAX_SAFE_INTEGER),
    maxStates: parseWholeNumber('--max-states', flags.maxStates, 1),
    memoryMB: parseWholeNumber('--memory', flags.memory, 1),
    progress: flags.progress && exploration.progress,
    ...own,
    ...(flags.only.length === 0 ? {} : { specs: flags.only.map((name) => findSpec(name, '--only')) }),
    ...addSpecs(flags.spec, own.specs ?? promisedSpecs(definition, options)),
  }
}

function readNodes(text: string, { leastNodes }: Definition): readonly NodeId[] {
  const size = parseWholeNumber('--nodes', text, leastNodes)
  if (size > MAX_NODES)
    throw new UsageError(`--nodes ${size}: at most ${MAX_NODES} nodes can be explored`, '--nodes')
  return Array.from({ length: size }, (_, index) => index + 1)
}

function readBudget(flags: ExploreFlags, { name, exploration }: Definition): ExploreRequest['budget'] {
  const ticks = readNumber('--ticks', flags.ticks, 0, exploration.ticks)
  if (ticks > 0 && exploration.tick === 0) {
    throw new UsageError(
      `--ticks ${ticks}: ${name} does not define the length of a tick; set exploration.tick in its definition`,
      '--ticks',
    )
  }
  return {
    crashes: readNumber('--crashes', flags.crashes, 0, exploration.crashes),
    recoveries: readNumber('--recoveries', flags.recoveries, 0, exploration.recoveries),
    flips: readNumber('--flips', flags.flips, 0, exploration.flips),
    ticks,
  }
}

function readNumber(flag: string, text: string | undefined, minimum: number, byDefault: number): number {
  return text === undefined ? byDefault : parseWholeNumber(flag, text, minimum)
}

/** Reads the schedule of a scenario, which must be of the same protocol and nodes. */
function readSchedule(
  file: string,
  { name }: Definition,
  nodes: readonly NodeId[],
  lookup: Lookup,
): readonly ScheduleStep[] {
  const scenario = useScenarioFile(file, (content) => parseScenario(content, lookup))
  if (scenario.protocol !== name)
    throw new UsageError(`--after ${file}: protocol must be ${name}, not ${scenario.protocol}`, '--after')
  if (scenario.nodes.join() !== nodes.join())
    throw new UsageError(`--after ${file}: nodes must be ${nodes.join(', ')}, as in --nodes`, '--after')
  if (scenario.schedule === null)
    throw new UsageError(`--after ${file}: schedule is missing; use a scenario with a schedule`, '--after')
  return scenario.schedule
}

function parseMembers(text: string, nodes: readonly NodeId[]): readonly NodeId[] {
  const members = text.split(',').map((each) => parseWholeNumber('--members', each.trim(), 1))
  if (members.every((id) => nodes.includes(id)) && new Set(members).size === members.length) return members
  throw new UsageError(
    `--members ${text}: write different ids from ${nodes.join(',')}, separated by commas`,
    '--members',
  )
}
