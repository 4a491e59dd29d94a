/** `conclave status`: the condition of a group in one sentence and a table. */
import type { Command } from 'commander'
import { getStatus } from '../service/client/index.ts'
import { type RequestFlags, readRequestOptions, requestCommand } from './ask/request.ts'
import { formatNodes, formatTiming, formatWarnings } from './ask/text.ts'
import { EXIT } from './errors.ts'
import { paint, print, printJson } from './output.ts'

const COLOURS = {
  healthy: 'green',
  degraded: 'yellow',
  'at-risk': 'yellow',
  'no-leader': 'red',
  alarm: 'red',
} as const

export function statusCommand(): Command {
  return requestCommand(
    'status',
    'show the condition of a group in one sentence and a table; exit code 3 if it has no leader',
  )
    .addHelpText('after', '\nExample:\n  conclave status --agent http://10.0.0.1:7480 --json')
    .action(async (flags: RequestFlags) => {
      const status = await getStatus(readRequestOptions(flags))
      process.exitCode = status.leader === null ? EXIT.noLeader : EXIT.ok
      if (flags.json === true) {
        printJson(status)
        return
      }
      print(paint(COLOURS[status.level] ?? 'red', status.banner))
      print('')
      print(formatNodes(status.nodes))
      print('')
      const timing = formatTiming(status)
      for (const line of timing) print(line)
      if (timing.length > 0) print('')
      // An older agent reports no warnings.
      const warnings = formatWarnings(status.warnings ?? [])
      if (warnings.length > 0) print(paint('yellow', `warnings of ${status.self.id}:`))
      for (const line of warnings) print(`  ${line}`)
      if (warnings.length > 0) print('')
      print(`as seen by ${status.self.id} (${status.self.role}) at ${status.at}`)
    })
}
