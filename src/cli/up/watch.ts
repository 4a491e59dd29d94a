/** The two interfaces of `conclave up`: lines on standard input and output, or a table and keys in a terminal. */
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { UsageError } from '../errors.ts'
import { print, printJson, printNote } from '../output.ts'
import { execute } from './commands.ts'
import type { LocalGroup } from './local-group.ts'
import { Screen } from './screen.ts'
import { formatState, renderScreen } from './text.ts'

const REFRESH_INTERVAL_MS = 100

/** Prints one line per change of the leader or of the state of a node, and runs commands from standard input. */
export async function watchAsLines(group: LocalGroup, ended: AbortController, json: boolean): Promise<void> {
  const { signal } = ended
  const commands = createInterface({ input: process.stdin })
  const commandsDone = executeAll(group, commands, ended)
  let lastText = ''
  await repeat(signal, async () => {
    await group.refresh()
    const text = formatState(group)
    if (text === lastText || signal.aborted) return
    lastText = text
    if (json) printJson(stateJson(group))
    else print(`${(group.elapsedMs / 1000).toFixed(1).padStart(7)} s  ${text}`)
  })
  commands.close()
  process.stdin.destroy()
  await commandsDone
}

/** Runs the commands one after the other. The end of standard input does not end the group. */
async function executeAll(
  group: LocalGroup,
  commands: AsyncIterable<string>,
  ended: AbortController,
): Promise<void> {
  for await (const line of commands) {
    if (ended.signal.aborted) return
    if (line.trim() === 'quit') ended.abort()
    else await executeReporting(group, line, ended.signal)
  }
}

/** Runs a command, and reports bad input instead of throwing it. */
async function executeReporting(group: LocalGroup, line: string, signal: AbortSignal): Promise<void> {
  try {
    await execute(group, line, signal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    group.report(error.message)
  }
}

function stateJson(group: LocalGroup) {
  return {
    atMs: Math.round(group.elapsedMs),
    leaders: group.leaders.map(({ id, status }) => ({ id, token: status?.leader?.token ?? null })),
    nodes: group.agents.map(({ id, state, url }) => ({ id, standing: state, url })),
  }
}

export async function watchInTerminal(group: LocalGroup, ended: AbortController): Promise<void> {
  const { stdin } = process
  const keys = new Keys(group, ended)
  const screen = new Screen((size) => renderScreen(group, keys.chosen, keys.typed, size))
  const onKey = (data: Buffer): void => {
    const text = data.toString()
    // An arrow key arrives as an escape sequence, whose characters are not keys.
    const isSequence = text.length > 1 && text.startsWith('\u001B')
    if (!isSequence) for (const key of text) keys.press(key)
    if (!ended.signal.aborted) screen.draw()
  }
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', onKey)
  screen.open()
  try {
    await repeat(ended.signal, async () => {
      await group.refresh()
      if (!ended.signal.aborted) screen.draw()
    })
  } finally {
    stdin.off('data', onKey)
    stdin.setRawMode(false)
    stdin.pause()
    screen.close()
    printNote('stopping the agents')
  }
}

/** Handles keys. `typed` is the command line that is being typed, if any. */
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
      else this.#execute(typed)
    } else if (key === '\u001B') this.typed = null
    else if (key === '\u007F' || key === '\b') this.typed = typed === '' ? null : typed.slice(0, -1)
    else if (key >= ' ') this.typed = typed + key
  }

  #act(key: string): void {
    const agent = this.#group.agents[this.chosen]
    if (agent === undefined) return
    const { id, state } = agent
    const commands: { readonly [key: string]: string } = {
      k: `kill ${id}`,
      r: `restart ${id}`,
      p: `${state === 'paused' ? 'resume' : 'pause'} ${id}`,
      x: `cut ${id}-all`,
      h: 'heal',
      l: 'kill leader',
      d: 'step-down',
    }
    const command = commands[key]
    if (key === 'q') this.#ended.abort()
    else if (key === ':') this.typed = ''
    else if (command !== undefined) this.#execute(command)
  }

  #execute(line: string): void {
    void executeReporting(this.#group, line, this.#ended.signal)
  }
}

async function repeat(signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one refresh after the other
    await action()
    // oxlint-disable-next-line no-await-in-loop -- one refresh after the other
    await setTimeout(REFRESH_INTERVAL_MS, undefined, { signal }).catch(() => {})
  }
}
