/** `conclave watch`: the events of a group, as they happen. */
import type { Command } from 'commander'
import { AgentUnreachableError, watch } from '../service/client/index.ts'
import { parseAgentUrl, type RequestFlags, requestCommand } from './ask/request.ts'
import { formatEvent, formatToken } from './ask/text.ts'
import { fetchOverHttp } from './fetch.ts'
import { print, printJson } from './output.ts'

export function watchCommand(): Command {
  return requestCommand(
    'watch',
    'print the events of a group until interrupted, one per line; with --json one object per line',
  )
    .option('--after <id>', 'start after the event with this id, if the agent still has it')
    .action(async (flags: RequestFlags & { readonly after?: string }) => {
      const agent = parseAgentUrl(flags.agent)
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      const { group = null, after = null } = flags
      for await (const each of watch({ agent, group, after, fetch: fetchOverHttp, signal: stop.signal })) {
        if (flags.json === true) printJson(each)
        else if (each.type === 'snapshot') {
          const { leader, group: name } = each.snapshot
          print(
            leader === null ? `${name} has no leader` : `${leader.id} leads ${name}${formatToken(leader)}`,
          )
        } else if (each.type === 'missed') print('some events were missed')
        else print(`${each.event.at}  ${formatEvent(each.event)}`)
      }
      if (!stop.signal.aborted) throw new AgentUnreachableError(`the agent at ${agent} closed the connection`)
    })
}
