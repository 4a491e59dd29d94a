/** `conclave leader`: the id of the leader. */
import type { Command } from 'commander'
import { getLeader } from '../service/client/index.ts'
import { type RequestFlags, readRequestOptions, requestCommand } from './ask/request.ts'
import { EXIT } from './errors.ts'
import { print, printJson, printNote } from './output.ts'

export function leaderCommand(): Command {
  return requestCommand('leader', 'print the id of the leader; exit code 3 if the group has none')
    .addHelpText('after', '\nExample:\n  conclave leader --agent http://10.0.0.1:7480')
    .action(async (flags: RequestFlags) => {
      const response = await getLeader(readRequestOptions(flags))
      process.exitCode = response.leader === null ? EXIT.noLeader : EXIT.ok
      if (flags.json === true) printJson(response)
      else if (response.leader !== null) print(String(response.leader.id))
      else printNote(`${response.group} has no leader, as far as ${response.self.id} knows`)
    })
}
