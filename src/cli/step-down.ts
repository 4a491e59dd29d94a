/** `conclave step-down`: asks the agent that leads to hand leadership over. */
import type { Command } from 'commander'
import { stepDown } from '../service/client/index.ts'
import { type AdminFlags, adminCommand, readAdminOptions } from './ask/request.ts'
import { formatToken } from './ask/text.ts'
import { print, printJson } from './output.ts'

/** The agent answers when it no longer leads, which includes the time that its work takes to end. */
const TIMEOUT_MS = 15_000

export function stepDownCommand(): Command {
  return adminCommand(
    'step-down',
    'ask the agent that leads to hand leadership over; exit code 3 if it does not lead',
  )
    .option('--to <id>', 'hand leadership over to this node')
    .addHelpText(
      'after',
      '\nExample:\n  conclave step-down --to n2 --admin-token-file /etc/conclave/admin-token',
    )
    .action(async (flags: AdminFlags & { readonly to?: string }) => {
      const { to = null } = flags
      const response = await stepDown({ ...readAdminOptions(flags, TIMEOUT_MS), to })
      const successor = to === null ? '' : ` and handed over to ${to}`
      if (flags.json === true) printJson(response)
      else print(`${response.steppedDown.id} stepped down${formatToken(response.steppedDown)}${successor}`)
    })
}
