/** `conclave lease-bounds`: changes the bounds of leases of a running agent. */
import type { Command } from 'commander'
import { type LeaseBoundsResponse, setLeaseBounds } from '../service/client/index.ts'
import { type AdminFlags, adminCommand, readAdminOptions } from './ask/request.ts'
import { UsageError } from './errors.ts'
import { print, printJson } from './output.ts'
import { parseMilliseconds } from './values.ts'

type BoundsFlags = AdminFlags & { readonly leaseMinMs?: string; readonly leaseMaxMs?: string }

export function leaseBoundsCommand(): Command {
  return adminCommand(
    'lease-bounds',
    'change the shortest and the longest lease of a running agent, until it restarts',
  )
    .option('--lease-min-ms <n>', 'the shortest lease (default: as it is)')
    .option('--lease-max-ms <n>', 'the longest lease (default: as it is)')
    .addHelpText(
      'after',
      `
Example:
  conclave lease-bounds --lease-min-ms 20 --lease-max-ms 2000 --admin-token-file /etc/conclave/admin-token

Run it for each agent of the group, in any order: meanwhile the group uses leases that suit a majority. The bounds are
not stored: a restarted agent has the bounds of its configuration. To keep them, set leaseMinMs and leaseMaxMs in the
configuration of each agent, too.`,
    )
    .action(async (flags: BoundsFlags) => {
      const { leaseMinMs, leaseMaxMs } = flags
      if (leaseMinMs === undefined && leaseMaxMs === undefined)
        throw new UsageError('give --lease-min-ms, --lease-max-ms or both', '--lease-min-ms')
      const response = await setLeaseBounds({
        ...readAdminOptions(flags),
        ...(leaseMinMs === undefined ? {} : { leaseMinMs: parseMilliseconds('--lease-min-ms', leaseMinMs) }),
        ...(leaseMaxMs === undefined ? {} : { leaseMaxMs: parseMilliseconds('--lease-max-ms', leaseMaxMs) }),
      })
      if (flags.json === true) {
        printJson(response)
        return
      }
      const { id, former } = response
      const show = (bounds: typeof former): string => `${bounds.leaseMinMs} to ${bounds.leaseMaxMs} ms`
      print(`${id} grants leases of ${show(response)} now (before: ${show(former)})`)
      print(`until it restarts; to keep these bounds, ${describeKeeping(response)}`)
    })
}

/** An agent of an earlier version does not say how. */
function describeKeeping({ toKeep }: Partial<LeaseBoundsResponse>): string {
  return toKeep ?? 'set leaseMinMs and leaseMaxMs in its configuration'
}
