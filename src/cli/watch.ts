/** `conclave watch`: the events of a group, as they happen. */
import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import {
  AgentUnreachableError,
  RequestRefusedError,
  type WatchEvent,
  watch,
} from '../service/client/index.ts'
import { parseAgentUrl, type RequestFlags, readConnection, requestCommand } from './ask/request.ts'
import { formatEvent, formatToken } from './ask/text.ts'
import { print, printJson, printNote } from './output.ts'

type WatchFlags = RequestFlags & { readonly after?: string; readonly reconnect: boolean }

/** Delays before the next attempt to connect. */
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5000

export function watchCommand(): Command {
  return requestCommand(
    'watch',
    'print the events of a group until interrupted, one per line; with --json one object per line',
  )
    .option('--after <id>', 'start after the event with this id, if the agent still has it')
    .option('--no-reconnect', 'exit with 4 when the connection is lost, instead of connecting again')
    .addHelpText(
      'after',
      `
Example:
  conclave watch --agent http://127.0.0.1:7480

When the connection is lost, this command connects again and continues after the last event. It says so on standard error.`,
    )
    .action(async (flags: WatchFlags) => {
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      await watchAgain(flags, stop.signal)
    })
}

/** Watches until the signal is aborted. Throws only if the first attempt fails, or if the agent refuses the request. */
async function watchAgain(flags: WatchFlags, signal: AbortSignal): Promise<void> {
  const agent = parseAgentUrl(flags.agent)
  const { group = null } = flags
  const connection = readConnection(flags)
  let after = flags.after ?? null
  let hasConnected = false
  let delayMs = FIRST_DELAY_MS
  let lastProblem = ''
  while (!signal.aborted) {
    let problem = `the agent at ${agent} closed the connection`
    try {
      // oxlint-disable-next-line no-await-in-loop -- one connection after the other
      for await (const each of watch({ agent, group, after, ...connection, signal })) {
        if (lastProblem !== '') printNote(`connected again to ${agent}`)
        hasConnected = true
        lastProblem = ''
        delayMs = FIRST_DELAY_MS
        if (each.type === 'event') after = each.id
        printEvent(each, flags.json === true)
      }
    } catch (error) {
      if (!hasConnected || !flags.reconnect || !isTemporary(error)) throw error
      problem = (error as Error).message
    }
    if (signal.aborted) return
    if (!flags.reconnect) throw new AgentUnreachableError(problem)
    if (lastProblem === '') printNote(`${problem}; connecting again`)
    lastProblem = problem
    // oxlint-disable-next-line no-await-in-loop -- one connection after the other
    await setTimeout(delayMs, undefined, { signal }).catch(() => {})
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)
  }
}

/** Whether another attempt can succeed. An agent that starts or has too many watchers responds with 503. */
function isTemporary(error: unknown): boolean {
  return (
    error instanceof AgentUnreachableError || (error instanceof RequestRefusedError && error.status === 503)
  )
}

function printEvent(each: WatchEvent, json: boolean): void {
  if (json) printJson(each)
  else if (each.type === 'snapshot') {
    const { leader, group } = each.snapshot
    print(leader === null ? `${group} has no leader` : `${leader.id} leads ${group}${formatToken(leader)}`)
  } else if (each.type === 'missed') print('some events were missed')
  else if (each.type === 'event') print(`${each.event.at}  ${formatEvent(each.event)}`)
}
