/** `conclave step-down`: asks the agent that leads to hand leadership over. */
import type { Command } from 'commander'
import { type StepDownResponse, stepDown } from '../service/client/index.ts'
import { type AdminFlags, adminCommand, readAdminOptions } from './ask/request.ts'
import { formatToken } from './ask/text.ts'
import { EXIT } from './errors.ts'
import { print, printJson } from './output.ts'

/**
 * The agent answers when it no longer leads, which includes the time that its work takes to end, and with --to when it
 * knows who leads.
 */
const TIMEOUT_MS = 15_000

export function stepDownCommand(): Command {
  return adminCommand(
    'step-down',
    'ask the agent that leads to hand leadership over; exit code 3 if it does not lead',
  )
    .option('--to <id>', 'hand leadership over to this node')
    .addHelpText(
      'after',
      `
Example:
  conclave step-down --to n2 --admin-token-file /etc/conclave/admin-token

With --to the command waits until the agent knows who leads next, up to 5 s, and prints that leader, its token, and how
long after the release of the lease it was known. Exit code 1 if another node leads next, or none is known by then: the
agent has stepped down, and says what went wrong.`,
    )
    .action(async (flags: AdminFlags & { readonly to?: string }) => {
      const { to = null } = flags
      const response = await stepDown({ ...readAdminOptions(flags, TIMEOUT_MS), to })
      if (flags.json === true) printJson(response)
      else
        print(
          `${response.steppedDown.id} stepped down${formatToken(response.steppedDown)}${formatSuccessor(response, to)}`,
        )
      if (typeof response.problem === 'string') process.exitCode = EXIT.failure
    })
}

/** An agent of an earlier version does not say who leads next. */
function formatSuccessor({ successor, problem }: Partial<StepDownResponse>, to: string | null): string {
  if (to === null) return ''
  const leads = successor ? `leads${formatToken(successor)} after ${successor.afterMs} ms` : null
  if (typeof problem === 'string') return `, but ${problem}${leads === null ? '' : ` (it ${leads})`}`
  return ` and handed over to ${to}${leads === null ? '' : `, which ${leads}`}`
}
