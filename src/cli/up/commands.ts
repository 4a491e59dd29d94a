/** What `conclave up` can be told, in words: by a line on its standard input, or after ":" in its table. */
import { setTimeout } from 'node:timers/promises'
import type { LinkFault } from '../../service/runtime/index.ts'
import { UsageError } from '../errors.ts'
import { parseMilliseconds } from '../values.ts'
import type { LocalAgent } from './local-agent.ts'
import type { Direction, LocalGroup } from './local-group.ts'

export const UP_COMMANDS = `  kill WHO, restart WHO, pause WHO, resume WHO    kill -9, start again, SIGSTOP, SIGCONT
  step-down                                       the leader hands over
  partition n1,n2 [n3,n4 ...]                     cuts the parts off from one another and from the rest
  cut LINK                                        nothing gets through
  slow LINK MIN..MAX                              held back for so many milliseconds
  lose LINK PART                                  0.3 loses three in ten
  heal [LINK]                                     makes it good again, or everything
  wait                                            goes on when somebody leads alone
  sleep MS                                        goes on after so long
  quit                                            ends everything
WHO: n1 or n1,n3 or leader or all. LINK: n1>n2 (what n1 sends to n2) or n1-n2 (both ways).`

/** How often is looked whether somebody leads. */
const WAIT_STEP_MS = 20

type Deed = (group: LocalGroup, words: readonly string[], signal: AbortSignal) => void | Promise<void>

const CUT: LinkFault = { cut: true }

const DEEDS: { readonly [name: string]: { readonly words: readonly [number, number]; readonly do: Deed } } = {
  kill: { words: [1, 1], do: each('killed', (agent) => agent.kill()) },
  restart: { words: [1, 1], do: each('started', (agent) => agent.start()) },
  pause: { words: [1, 1], do: each('paused', (agent) => agent.pause(true)) },
  resume: { words: [1, 1], do: each('goes on', (agent) => agent.pause(false)) },
  'step-down': {
    words: [0, 0],
    async do(group) {
      const [leader] = group.leaders
      const problem = leader === undefined ? 'nobody leads' : await leader.handOver()
      if (problem !== null) group.say(`step-down: ${problem}`)
    },
  },
  partition: {
    words: [1, 25],
    do(group, parts) {
      const named = parts.map((part) => whoIs(group, part).map(({ id }) => id))
      const rest = group.ids.filter((id) => !named.flat().includes(id))
      group.spoil(group.directions(), null)
      group.spoil(group.between(named), CUT)
      const shown = rest.length === 0 ? named : [...named, rest]
      group.say(`partition: ${shown.map((part) => part.join(',')).join(' | ')}`)
    },
  },
  cut: { words: [1, 1], do: link((_words) => CUT) },
  slow: {
    words: [2, 2],
    do: link(([range = '']) => {
      const [least = '', most = least] = range.split('..')
      const delayMs = [parseMilliseconds('slow', least), parseMilliseconds('slow', most)] as const
      if (delayMs[0] > delayMs[1])
        throw new UsageError(`slow ${range}: runs backwards; write ${most}..${least}`)
      return { cut: false, delayMs, loss: 0 }
    }),
  },
  lose: {
    words: [2, 2],
    do: link(([part = '']) => {
      const loss = /^[01](\.\d+)?$|^\.\d+$/.test(part) ? Number(part) : Number.NaN
      if (!(loss >= 0 && loss <= 1))
        throw new UsageError(`lose ${part}: write a part from 0 to 1, such as 0.3`)
      return { cut: false, delayMs: [0, 0], loss }
    }),
  },
  heal: {
    words: [0, 1],
    do(group, [which]) {
      group.spoil(which === undefined ? group.directions() : directionsOf(group, which), null)
      group.say(`healed${which === undefined ? '' : ` ${which}`}`)
    },
  },
  wait: {
    words: [0, 0],
    async do(group, _words, signal) {
      do {
        // oxlint-disable-next-line no-await-in-loop -- until it is so
        await pause(WAIT_STEP_MS, signal)
        // oxlint-disable-next-line no-await-in-loop -- until it is so
        await group.look()
      } while (group.leaders.length !== 1 && !signal.aborted)
    },
  },
  sleep: { words: [1, 1], do: (_group, [ms = ''], signal) => pause(parseMilliseconds('sleep', ms), signal) },
}

/** Does what a line says, and is done when that is; throws UsageError when it cannot be read. */
export async function obey(group: LocalGroup, line: string, signal: AbortSignal): Promise<void> {
  const [name = '', ...words] = line.trim().split(/\s+/)
  if (name === '' || name.startsWith('#')) return
  const deed = DEEDS[name]
  if (deed === undefined)
    throw new UsageError(`"${name}" is no command; there are ${Object.keys(DEEDS).join(', ')}, quit`)
  const [least, most] = deed.words
  if (words.length < least || words.length > most)
    throw new UsageError(
      `${name} takes ${least === most ? least : `${least} to ${most}`} words, not ${words.length}`,
    )
  await deed.do(group, words, signal)
}

/** Does something to each, and says for whom it made a difference. */
function each(done: string, deed: (agent: LocalAgent) => boolean | Promise<boolean>): Deed {
  return async (group, [who = '']) => {
    const made = await Promise.all(
      whoIs(group, who).map(async (agent) => ({ agent, did: await deed(agent) })),
    )
    for (const { agent, did } of made) {
      if (did) group.say(`${agent.id} ${done}`)
      else if (who !== 'all') group.say(`${agent.id} is ${agent.standing} already`)
    }
    if (made.length === 0) group.say('nobody leads')
  }
}

function link(faultOf: (words: readonly string[]) => LinkFault): Deed {
  return (group, [which = '', ...words]) => {
    const fault = faultOf(words)
    group.spoil(directionsOf(group, which), fault)
    group.say(`${which}: ${faultText(fault)}`)
  }
}

function faultText(fault: LinkFault): string {
  if (fault.cut) return 'cut'
  const [least, most] = fault.delayMs
  return fault.loss > 0 ? `loses ${fault.loss}` : `slowed by ${least}..${most} ms`
}

function whoIs(group: LocalGroup, text: string): readonly LocalAgent[] {
  if (text === 'all') return group.agents
  return text.split(',').flatMap((id) => {
    if (id === 'leader') return group.leaders
    const agent = group.agents.find((one) => one.id === id)
    if (agent === undefined) throw new UsageError(`"${id}" is none of ${group.ids.join(', ')}, leader, all`)
    return [agent]
  })
}

function directionsOf(group: LocalGroup, text: string): readonly Direction[] {
  const match = /^([^>-]+)([>-])([^>-]+)$/.exec(text)
  if (match === null) throw new UsageError(`"${text}" is no link: write n1>n2 or n1-n2`)
  const [, first = '', sign, second = ''] = match
  const directions = whoIs(group, first).flatMap(({ id: from }) =>
    whoIs(group, second).flatMap(({ id: to }) => (from === to ? [] : [{ from, to }])),
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
