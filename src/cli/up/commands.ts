/** The commands of `conclave up`: lines on standard input, or typed after ":" in the terminal. */
import { setTimeout } from 'node:timers/promises'
import { plural } from '../../core/text.ts'
import type { LinkFault } from '../../service/runtime/index.ts'
import { UsageError } from '../errors.ts'
import { parseMilliseconds } from '../values.ts'
import type { LocalAgent } from './local-agent.ts'
import type { Direction, LocalGroup } from './local-group.ts'

/** The commands, each with what it does. */
export const UP_COMMAND_ROWS: readonly (readonly [string, string])[] = [
  ['kill NODES, restart NODES', 'kill -9, start again'],
  ['pause NODES, resume NODES', 'SIGSTOP, SIGCONT'],
  ['step-down [NODE]', 'the leader hands over, to NODE or to any node'],
  ['partition n1,n2 [n3,n4 ...]', 'cut the links between these parts and the rest'],
  ['cut LINK', 'drop all messages'],
  ['slow LINK MIN..MAX', 'delay each message by MIN to MAX milliseconds'],
  ['lose LINK RATIO', 'drop messages at random; 0.3 drops 30 %'],
  ['heal [LINK]', 'remove the faults of this link, or of all links'],
  ['wait', 'wait until exactly one node leads'],
  ['sleep MS', 'wait this many milliseconds'],
  ['quit', 'stop all nodes and exit'],
]

export const UP_COMMANDS = `${UP_COMMAND_ROWS.map(([name, meaning]) => `  ${name.padEnd(30)}  ${meaning}`).join('\n')}
NODES: n1 or n1,n3 or leader or all. LINK: n1>n2 (from n1 to n2) or n1-n2 (both directions).`

const POLL_INTERVAL_MS = 20

type Action = (group: LocalGroup, words: readonly string[], signal: AbortSignal) => void | Promise<void>

const CUT: LinkFault = { cut: true }

/** `words`: the minimum and maximum number of arguments. */
const COMMANDS: {
  readonly [name: string]: { readonly words: readonly [number, number]; readonly run: Action }
} = {
  kill: { words: [1, 1], run: onNodes('killed', (agent) => agent.kill(), 'was killed') },
  restart: { words: [1, 1], run: onNodes('started', (agent) => agent.start()) },
  pause: { words: [1, 1], run: onNodes('paused', (agent) => agent.pause(true), 'was paused') },
  resume: { words: [1, 1], run: onNodes('resumed', (agent) => agent.pause(false)) },
  'step-down': {
    words: [0, 1],
    async run(group, [name]) {
      const [successor] = name === undefined ? [] : findAgents(group, name)
      const [leader] = group.leaders
      const problem = leader === undefined ? 'no node leads' : await leader.stepDown(successor?.id ?? null)
      if (problem !== null) group.report(`step-down: ${problem}`)
    },
  },
  partition: {
    words: [1, 25],
    run(group, parts) {
      const named = parts.map((part) => findAgents(group, part).map(({ id }) => id))
      const rest = group.ids.filter((id) => !named.flat().includes(id))
      group.injectFault(group.directions(), null)
      group.injectFault(group.between(named), CUT)
      const shown = rest.length === 0 ? named : [...named, rest]
      group.report(`partition: ${shown.map((part) => part.join(',')).join(' | ')}`)
    },
  },
  cut: { words: [1, 1], run: onLink((_words) => CUT) },
  slow: {
    words: [2, 2],
    run: onLink(([range = '']) => {
      const [minimum = '', maximum = minimum] = range.split('..')
      const delayMs = [parseMilliseconds('slow', minimum), parseMilliseconds('slow', maximum)] as const
      if (delayMs[0] > delayMs[1])
        throw new UsageError(`slow ${range}: the range is reversed; write ${maximum}..${minimum}`)
      return { cut: false, delayMs, loss: 0 }
    }),
  },
  lose: {
    words: [2, 2],
    run: onLink(([ratio = '']) => {
      const loss = /^[01](\.\d+)?$|^\.\d+$/.test(ratio) ? Number(ratio) : Number.NaN
      if (!(loss >= 0 && loss <= 1))
        throw new UsageError(`lose ${ratio}: write a number from 0 to 1, such as 0.3`)
      return { cut: false, delayMs: [0, 0], loss }
    }),
  },
  heal: {
    words: [0, 1],
    run(group, [link]) {
      group.injectFault(link === undefined ? group.directions() : parseLink(group, link), null)
      group.report(`healed${link === undefined ? '' : ` ${link}`}`)
    },
  },
  wait: {
    words: [0, 0],
    async run(group, _words, signal) {
      do {
        // oxlint-disable-next-line no-await-in-loop -- polling
        await pause(POLL_INTERVAL_MS, signal)
        // oxlint-disable-next-line no-await-in-loop -- polling
        await group.refresh()
      } while (group.leaders.length !== 1 && !signal.aborted)
    },
  },
  sleep: { words: [1, 1], run: (_group, [ms = ''], signal) => pause(parseMilliseconds('sleep', ms), signal) },
}

/** Runs one command and resolves when it is done. Throws a UsageError if the line is not a command. */
export async function execute(group: LocalGroup, line: string, signal: AbortSignal): Promise<void> {
  const [name = '', ...words] = line.trim().split(/\s+/)
  if (name === '' || name.startsWith('#')) return
  const command = COMMANDS[name]
  if (command === undefined)
    throw new UsageError(`"${name}": unknown command; use ${Object.keys(COMMANDS).join(', ')} or quit`)
  const [minimum, maximum] = command.words
  if (words.length < minimum || words.length > maximum)
    throw new UsageError(
      `${name}: takes ${minimum === maximum ? plural(minimum, 'argument') : `${minimum} to ${maximum} arguments`}, not ${words.length}`,
    )
  await command.run(group, words, signal)
}

/**
 * Does something to each of the named agents, and reports which of them changed. `harm`: how the term of the leader
 * ends by it.
 */
function onNodes(
  done: string,
  action: (agent: LocalAgent) => boolean | Promise<boolean>,
  harm: string | null = null,
): Action {
  return async (group, [names = '']) => {
    const agents = findAgents(group, names)
    if (harm !== null) for (const { id } of agents) group.failovers.harm(id, harm)
    const results = await Promise.all(
      agents.map(async (agent) => ({ agent, hasChanged: await action(agent) })),
    )
    for (const { agent, hasChanged } of results) {
      if (hasChanged) group.report(`${agent.id} ${done}`)
      else if (names !== 'all') group.report(`${agent.id} is already ${agent.state}`)
    }
    if (results.length === 0) group.report('no node leads')
  }
}

function onLink(parseFault: (words: readonly string[]) => LinkFault): Action {
  return (group, [link = '', ...words]) => {
    const fault = parseFault(words)
    group.injectFault(parseLink(group, link), fault)
    group.report(`${link}: ${formatFault(fault)}`)
  }
}

function formatFault(fault: LinkFault): string {
  if (fault.cut) return 'cut'
  const [minimum, maximum] = fault.delayMs
  return fault.loss > 0 ? `drops ${fault.loss}` : `delayed by ${minimum}..${maximum} ms`
}

function findAgents(group: LocalGroup, text: string): readonly LocalAgent[] {
  if (text === 'all') return group.agents
  return text.split(',').flatMap((id) => {
    if (id === 'leader') return group.leaders
    const agent = group.agents.find((one) => one.id === id)
    if (agent === undefined)
      throw new UsageError(`"${id}": unknown node; use ${group.ids.join(', ')}, leader or all`)
    return [agent]
  })
}

function parseLink(group: LocalGroup, text: string): readonly Direction[] {
  const match = /^([^>-]+)([>-])([^>-]+)$/.exec(text)
  if (match === null) throw new UsageError(`"${text}": not a link; write n1>n2 or n1-n2`)
  const [, first = '', sign, second = ''] = match
  const directions = findAgents(group, first).flatMap(({ id: from }) =>
    findAgents(group, second).flatMap(({ id: to }) => (from === to ? [] : [{ from, to }])),
  )
  return sign === '>'
    ? directions
    : directions.flatMap(({ from, to }) => [
        { from, to },
        { from: to, to: from },
      ])
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {})
}
