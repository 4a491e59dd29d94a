/**
 * `conclave recover`: repairs stable data that is undamaged but that a node cannot start from, and keeps the node's id.
 * The file recover.ts in the folder of each protocol explains why that is safe.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Plain, present } from '../core/index.ts'
import { MOST_IN_SESSION } from '../links/index.ts'
import { hostedNames, peerHosting } from '../protocols/index.ts'
import { DamagedStorageError, openStorage, StorageInUseError } from '../service/runtime/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { print, printJson } from './output.ts'
import { parseWholeNumber } from './values.ts'

type RecoverFlags = {
  readonly id: string
  readonly voters?: string
  readonly above?: string
  readonly allStopped?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

type StoredData = { readonly layer?: Plain; readonly upper?: Plain }

export function recoverCommand(): Command {
  return new Command('recover')
    .description('repair stable data that a node cannot start from, and keep its id')
    .argument('<folder>', 'data directory of the node; the node must be stopped')
    .requiredOption('--id <id>', 'id of the node')
    .option(
      '--voters <ids>',
      'voters from now on, such as a,b,c; must be the same on all nodes, and needs --all-stopped',
    )
    .option(
      '--above <token>',
      'largest token ever used, if it is larger than the current Unix time in milliseconds, or if the node ran without data before',
    )
    .option(
      '--all-stopped',
      'confirm that all nodes of the group are stopped and that this command is run on each of them',
    )
    .option('--dry-run', 'print the changes without making them')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave recover /var/lib/conclave/billing --id a --dry-run
  conclave recover /var/lib/conclave/billing --id a --voters a,b,c --all-stopped
  conclave recover /var/lib/conclave/billing --id a --above 1795002847850

See docs/how-to/recover-stable-data.md.`,
    )
    .action(async (folder: string, flags: RecoverFlags) => {
      process.exitCode = await recover(folder, flags)
    })
}

async function recover(folder: string, flags: RecoverFlags): Promise<number> {
  if (!existsSync(join(folder, 'stable.json'))) {
    throw new UsageError(`${folder}: contains no stable.json; name the data directory of a node`, 'folder')
  }
  if (flags.voters !== undefined && flags.allStopped !== true) {
    throw new UsageError(
      '--voters: needs --all-stopped, because nodes with different voters could elect two leaders',
      '--voters',
    )
  }
  const storage = await openStorage(folder).catch((error: unknown) => {
    if (error instanceof StorageInUseError)
      throw new UsageError(`${error.message}; stop the node first`, 'folder')
    throw error
  })
  try {
    const { data, changes } = repair(storage.load() as StoredData, flags)
    if (changes.length > 0 && flags.dryRun !== true) storage.save(data)
    printChanges(folder, flags, changes)
    return EXIT.ok
  } catch (error) {
    if (error instanceof RangeError)
      throw new UsageError(`--${error.message}`, `--${error.message.split(':')[0]}`)
    if (error instanceof DamagedStorageError) throw new UsageError(error.message, 'folder')
    throw error
  } finally {
    storage.close()
  }
}

/** Returns the repaired data, and a description of each change. */
function repair(
  stored: StoredData,
  flags: RecoverFlags,
): { readonly data: Plain; readonly changes: readonly string[] } {
  const now = Date.now()
  const above = flags.above === undefined ? 0 : parseWholeNumber('--above', flags.above, 0)
  const voters = flags.voters?.split(',').map((id) => id.trim()) ?? null
  const { layer = null, upper = null } = stored
  const isIncarnation =
    Number.isInteger(layer) && (layer as number) >= 0 && (layer as number) < MOST_IN_SESSION - 1
  const changes: string[] = isIncarnation
    ? []
    : [`the incarnation is ${now} instead of ${JSON.stringify(layer)}`]
  if (upper === null && voters === null)
    return { data: { layer: isIncarnation ? layer : now, upper }, changes }
  const together = flags.allStopped === true
  const recovered = findRecovery(upper).recover(upper, {
    self: flags.id,
    moment: now,
    above,
    voters,
    together,
  })
  return {
    data: { layer: isIncarnation ? layer : now, upper: recovered === null ? upper : recovered.stable },
    changes: [...changes, ...(recovered?.changes ?? [])],
  }
}

/** Finds the recovery of the protocol that wrote the data; of the default protocol if that is unclear. */
function findRecovery(stable: Plain) {
  const all = hostedNames('peers').flatMap((name) => peerHosting(name).recovery ?? [])
  // A protocol above another one contains the data of that one, and comes after it.
  const own = all.findLast(({ isOwn }) => isOwn(stable)) ?? all[0]
  return present(own, 'the recovery of a protocol')
}

function printChanges(folder: string, { json, dryRun }: RecoverFlags, changes: readonly string[]): void {
  if (json === true) printJson({ folder, changed: changes.length > 0 && dryRun !== true, changes })
  else if (changes.length === 0) print(`${folder} is usable; nothing was changed`)
  else for (const change of changes) print(`${dryRun === true ? 'would change' : 'changed'}: ${change}`)
}
