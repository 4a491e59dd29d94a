/** `conclave members`: the nodes of a group, and which of them are reachable. */
import type { Command } from 'commander'
import { getMembers } from '../service/client/index.ts'
import { type RequestFlags, readRequestOptions, requestCommand } from './ask/request.ts'
import { formatNodes } from './ask/text.ts'
import { print, printJson } from './output.ts'

export function membersCommand(): Command {
  return requestCommand('members', 'list the nodes of a group, and which of them are reachable')
    .addHelpText('after', '\nExample:\n  conclave members --agent http://10.0.0.1:7480 --json')
    .action(async (flags: RequestFlags) => {
      const response = await getMembers(readRequestOptions(flags))
      if (flags.json === true) printJson(response)
      else print(formatNodes(response.nodes))
    })
}
