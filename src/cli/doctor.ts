/**
 * `conclave doctor`: checks before production use that a store can hold registers. It connects as a node does, checks the
 * settings and permissions, runs an experiment with two writers in a group of its own, and measures latency.
 */
import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import {
  type CellStore,
  InvalidStoreError,
  MissingClientError,
  openStore,
  parseStore,
  runExperiment,
  StoreAccessDeniedError,
  type StoreConfig,
  StoreUnreachableError,
  UnsuitableStoreError,
} from '../service/registers/index.ts'
import { printFailure, printReport } from './doctor/report.ts'
import { EXIT, UsageError } from './errors.ts'
import { readJsonFile } from './input-files.ts'
import { parseWholeNumber } from './values.ts'

type DoctorFlags = {
  readonly store: string
  readonly acceptWeak?: boolean
  readonly rounds: string
  readonly timeoutMs: string
  readonly json?: boolean
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'check that a store can hold registers for elections: permissions, settings, behaviour, latency',
    )
    .requiredOption(
      '--store <url>',
      'file:/folder, postgres://…, redis://…, etcd://…, nats://…, s3://bucket, or a JSON file with a field `store`',
    )
    .option('--accept-weak', 'continue even if the store may lose acknowledged writes or return old values')
    .option('--rounds <n>', 'number of trials per check', '100')
    .option('--timeout-ms <ms>', 'maximum duration of one operation', '5000')
    .option('--json', 'print one JSON object')
    .action(async (flags: DoctorFlags) => {
      const config = readStoreConfig(flags)
      const rounds = parseWholeNumber('--rounds', flags.rounds, 1)
      const timeoutMs = parseWholeNumber('--timeout-ms', flags.timeoutMs, 1)
      // A group of its own, so that the experiment disturbs no node.
      const group = `doctor-${randomUUID().slice(0, 8)}`
      const stores: CellStore[] = []
      try {
        stores.push(await openStore(config, group), await openStore(config, group))
        const [a, b] = stores as [CellStore, CellStore]
        const result = await runExperiment(a, b, { rounds, timeoutMs, nowMs: () => performance.now() })
        process.exitCode = result.findings.some(({ problem }) => problem !== null) ? EXIT.violated : EXIT.ok
        printReport(a.facts, result, flags.json === true)
      } catch (error) {
        process.exitCode = exitCodeOf(error)
        printFailure(error, flags.json === true)
      } finally {
        await Promise.allSettled(stores.map((store) => store.close()))
      }
    })
}

/** Reads a URL, or the field `store` of a JSON file. */
function readStoreConfig({ store, acceptWeak }: DoctorFlags): StoreConfig {
  const config = parseStoreFlag(store.endsWith('.json') ? readStoreField(store) : store)
  if (acceptWeak !== true) return config
  if (!('acceptWeak' in config))
    throw new UsageError(
      `--accept-weak: has no effect on the store ${config.kind}; leave it out`,
      '--accept-weak',
    )
  return { ...config, acceptWeak }
}

function parseStoreFlag(given: unknown): StoreConfig {
  try {
    return parseStore(given)
  } catch (error) {
    if (error instanceof InvalidStoreError) throw new UsageError(error.message, error.field)
    throw error
  }
}

function readStoreField(file: string): unknown {
  const content = readJsonFile(file)
  if (typeof content === 'object' && content !== null && 'store' in content) return content.store
  throw new UsageError(`--store ${file}: the field store is missing`, '--store')
}

function exitCodeOf(error: unknown): number {
  if (error instanceof InvalidStoreError || error instanceof MissingClientError) return EXIT.usage
  if (error instanceof StoreUnreachableError) return EXIT.unreachable
  if (error instanceof StoreAccessDeniedError || error instanceof UnsuitableStoreError) return EXIT.refused
  return EXIT.failure
}
