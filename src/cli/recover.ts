/**
 * `conclave recover`: repairs stable data that is undamaged but that a node cannot start from, and keeps the node's id. Every protocol says in its folder why that is safe (recover.ts).
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

type Kept = { readonly layer?: Plain; readonly upper?: Plain }

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
      'largest token ever used, if it is larger than the current Unix time in milliseconds',
    )
    .option(
      '--all-stopped',
      'confirm that all nodes of the group are stopped and that this command is run on each of them',
    )
    .option('--dry-run', 'print the changes without making them')
    .option('--json', 'print one JSON object')
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
    const kept = storage.load() as Kept
    const found = changed(kept, flags)
    if (found.changes.length > 0 && flags.dryRun !== true) storage.save(found.data)
    report(folder, flags, found.changes)
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

function changed(
  kept: Kept,
  flags: RecoverFlags,
): { readonly data: Plain; readonly changes: readonly string[] } {
  const now = Date.now()
  const above = flags.above === undefined ? 0 : parseWholeNumber('--above', flags.above, 0)
  const voters = flags.voters?.split(',').map((id) => id.trim()) ?? null
  const { layer = null, upper = null } = kept
  const isIncarnation =
    Number.isInteger(layer) && (layer as number) >= 0 && (layer as number) < MOST_IN_SESSION - 1
  const changes: string[] = isIncarnation
    ? []
    : [`the incarnation is ${now} instead of ${JSON.stringify(layer)}`]
  if (upper === null && voters === null)
    return { data: { layer: isIncarnation ? layer : now, upper }, changes }
  const together = flags.allStopped === true
  const mended = recoveryOf(upper).recover(upper, { self: flags.id, moment: now, above, voters, together })
  return {
    data: { layer: isIncarnation ? layer : now, upper: mended === null ? upper : mended.stable },
    changes: [...changes, ...(mended?.changes ?? [])],
  }
}

/** Of the protocol whose data it looks like; data that looks like no protocol's is taken for the default's. */
function recoveryOf(stable: Plain) {
  const all = hostedNames('peers').flatMap((name) => peerHosting(name).recovery ?? [])
  const own = all.find(({ isOwn }) => isOwn(stable)) ?? all[0]
  return present(own, 'recovery')
}

function report(folder: string, { json, dryRun }: RecoverFlags, changes: readonly string[]): void {
  if (json === true) printJson({ folder, changed: changes.length > 0 && dryRun !== true, changes })
  else if (changes.length === 0) print(`${folder} is usable; nothing was changed`)
  else for (const change of changes) print(`${dryRun === true ? 'would change' : 'changed'}: ${change}`)
}
