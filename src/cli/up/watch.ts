/** The two interfaces of `conclave up`: lines on standard input and output, or a table and keys in a terminal. */
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { UsageError } from '../errors.ts'
import { print, printJson, printNote } from '../output.ts'
import { execute } from './commands.ts'
import { renderScreen } from './frame.ts'
import { Keys } from './keys.ts'
import type { LocalGroup } from './local-group.ts'
import { Screen } from './screen.ts'
import { formatState } from './text.ts'

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
    failoverMs: group.failovers.last?.ms ?? null,
    nodes: group.agents.map(({ id, state, url }) => ({ id, standing: state, url })),
  }
}

export async function watchInTerminal(group: LocalGroup, ended: AbortController): Promise<void> {
  const { stdin } = process
  const keys = new Keys(group, {
    quit: () => ended.abort(),
    execute: (line) => void executeReporting(group, line, ended.signal),
  })
  const screen = new Screen((size) => renderScreen(group, keys, size))
  const onKey = (data: Buffer): void => {
    keys.take(data.toString())
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

async function repeat(signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one refresh after the other
    await action()
    // oxlint-disable-next-line no-await-in-loop -- one refresh after the other
    await setTimeout(REFRESH_INTERVAL_MS, undefined, { signal }).catch(() => {})
  }
}
