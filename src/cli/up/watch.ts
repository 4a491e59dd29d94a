/** How `conclave up` is watched and told what to do: by lines, or by a table and keys. */
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { UsageError } from '../errors.ts'
import { print, printJson, printNote } from '../output.ts'
import { obey } from './commands.ts'
import type { LocalGroup } from './local-group.ts'
import { Screen } from './screen.ts'
import { screenOf, standingText } from './text.ts'

/** How often the agents are asked how they stand. */
const LOOK_MS = 100

/** One line for each change of who leads; commands come by standard input, one after the other. */
export async function watchPlainly(group: LocalGroup, ended: AbortController, json: boolean): Promise<void> {
  const { signal } = ended
  const commands = createInterface({ input: process.stdin })
  const told = obeyAll(group, commands, ended)
  let said = ''
  await everySoOften(signal, async () => {
    await group.look()
    const text = standingText(group)
    if (text === said || signal.aborted) return
    said = text
    if (json) printJson(standingOf(group))
    else print(`${(group.sinceMs / 1000).toFixed(1).padStart(7)} s  ${text}`)
  })
  commands.close()
  process.stdin.destroy()
  await told
}

/** The end of the commands is not the end of everything. */
async function obeyAll(
  group: LocalGroup,
  commands: AsyncIterable<string>,
  ended: AbortController,
): Promise<void> {
  for await (const line of commands) {
    if (ended.signal.aborted) return
    if (line.trim() === 'quit') ended.abort()
    else await obeySaying(group, line, ended.signal)
  }
}

/** What cannot be done is said, and nothing ends. */
async function obeySaying(group: LocalGroup, line: string, signal: AbortSignal): Promise<void> {
  try {
    await obey(group, line, signal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    group.say(error.message)
  }
}

function standingOf(group: LocalGroup) {
  return {
    atMs: Math.round(group.sinceMs),
    leaders: group.leaders.map(({ id, seen }) => ({ id, token: seen?.leader?.token ?? null })),
    nodes: group.agents.map(({ id, standing, url }) => ({ id, standing, url })),
  }
}

export async function watchInTerminal(group: LocalGroup, ended: AbortController): Promise<void> {
  const { stdin } = process
  const keys = new Keys(group, ended)
  const screen = new Screen((size) => screenOf(group, keys.chosen, keys.typed, size))
  const onKey = (data: Buffer): void => {
    const text = data.toString()
    // Arrows and the like come as several characters, none of which was pressed.
    const isSequence = text.length > 1 && text.startsWith('\u001B')
    if (!isSequence) for (const key of text) keys.press(key)
    if (!ended.signal.aborted) screen.draw()
  }
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', onKey)
  screen.open()
  try {
    await everySoOften(ended.signal, async () => {
      await group.look()
      if (!ended.signal.aborted) screen.draw()
    })
  } finally {
    stdin.off('data', onKey)
    stdin.setRawMode(false)
    stdin.pause()
    screen.close()
    printNote('ending the agents')
  }
}

/** What each key does; and a line that is being typed. */
class Keys {
  readonly #group: LocalGroup
  readonly #ended: AbortController
  chosen = 0
  typed: string | null = null

  constructor(group: LocalGroup, ended: AbortController) {
    this.#group = group
    this.#ended = ended
  }

  press(key: string): void {
    if (key === '\u0003') this.#ended.abort()
    else if (this.typed !== null) this.#type(this.typed, key)
    else if (/[1-9]/.test(key)) this.chosen = Math.min(Number(key), this.#group.agents.length) - 1
    else this.#act(key)
  }

  #type(typed: string, key: string): void {
    if (key === '\r' || key === '\n') {
      this.typed = null
      if (typed.trim() === 'quit') this.#ended.abort()
      else this.#obey(typed)
    } else if (key === '\u001B') this.typed = null
    else if (key === '\u007F' || key === '\b') this.typed = typed === '' ? null : typed.slice(0, -1)
    else if (key >= ' ') this.typed = typed + key
  }

  #act(key: string): void {
    const agent = this.#group.agents[this.chosen]
    if (agent === undefined) return
    const { id, standing } = agent
    const orders: { readonly [key: string]: string } = {
      k: `kill ${id}`,
      r: `restart ${id}`,
      p: `${standing === 'paused' ? 'resume' : 'pause'} ${id}`,
      x: `cut ${id}-all`,
      h: 'heal',
      l: 'kill leader',
      d: 'step-down',
    }
    const order = orders[key]
    if (key === 'q') this.#ended.abort()
    else if (key === ':') this.typed = ''
    else if (order !== undefined) this.#obey(order)
  }

  #obey(line: string): void {
    void obeySaying(this.#group, line, this.#ended.signal)
  }
}

async function everySoOften(signal: AbortSignal, look: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    await look()
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}
