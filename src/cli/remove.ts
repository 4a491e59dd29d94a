/** `conclave remove`: removes a node from a group for good. */
import type { Command } from 'commander'
import { removeNode } from '../service/client/index.ts'
import { type AdminFlags, adminCommand, readAdminOptions } from './ask/request.ts'
import { print, printJson } from './output.ts'

export function removeCommand(): Command {
  return adminCommand(
    'remove',
    'remove a node from the group after its process is gone for good; its id cannot be used again',
  )
    .argument('<id>', 'id of the node')
    .addHelpText('after', '\nExample:\n  conclave remove c --admin-token-file /etc/conclave/admin-token')
    .action(async (id: string, flags: AdminFlags) => {
      const response = await removeNode({ ...readAdminOptions(flags), id })
      if (flags.json === true) printJson(response)
      else print(`removing ${response.removing} from ${response.group}`)
    })
}
