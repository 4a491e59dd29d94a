/** Checks a store: connects as a node does, runs an experiment with two writers in a group of its own, measures latency. */
import { randomUUID } from 'node:crypto'
import { rmdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  type CellStore,
  type Experiment,
  InvalidStoreError,
  MissingClientError,
  openStore,
  parseStore,
  runExperiment,
  StoreAccessDeniedError,
  type StoreConfig,
  type StoreFacts,
  StoreUnreachableError,
  UnsuitableStoreError,
} from '../../service/registers/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { readJsonFile } from '../input-files.ts'
import { type Finding, failed, ok, type Spread, warning } from './findings.ts'
import { printFailure, printReport } from './report.ts'

export type StoreCheck = { readonly rounds: number; readonly timeoutMs: number }

type Experimented = { readonly facts: StoreFacts; readonly result: Experiment }

/** Prints a report, and returns the exit code. */
export async function checkStore(
  config: StoreConfig,
  check: StoreCheck & { readonly isJson: boolean },
): Promise<number> {
  try {
    const { facts, result } = await experiment(config, check)
    printReport(facts, result, check.isJson)
    return result.findings.some(({ problem }) => problem !== null) ? EXIT.violated : EXIT.ok
  } catch (error) {
    printFailure(error, check.isJson)
    return exitCodeOf(error)
  }
}

/** The same as findings about a node that uses the store. */
export async function storeFindings(
  given: unknown,
  check: StoreCheck,
): Promise<{ readonly findings: readonly Finding[]; readonly access: Spread | null }> {
  const docs = 'see docs/explanation/stores.md'
  try {
    const { facts, result } = await experiment(parseStoreFlag(given), check)
    const { medianMs: p50, p99Ms: p99, maxMs: max } = result.write
    const findings = [
      ok('store', `${facts.place} answers, and this user can read and write`),
      ...facts.sound.map((text) => ok('store', text)),
      ...facts.weak.map((text) => warning('store', text, docs)),
      ...result.findings.map(({ requirement, trials, problem }) =>
        problem === null
          ? ok('store', `${requirement} (tried ${trials} times)`)
          : failed(
              'store',
              `${requirement}: ${problem}`,
              'use another store: with this one two nodes can lead in one epoch',
            ),
      ),
    ]
    return { findings, access: { p50, p99, max } }
  } catch (error) {
    return { findings: [failed('store', (error as Error).message, docs)], access: null }
  }
}

async function experiment(config: StoreConfig, { rounds, timeoutMs }: StoreCheck): Promise<Experimented> {
  // A group of its own, so that the experiment disturbs no node.
  const group = `doctor-${randomUUID().slice(0, 8)}`
  const missingFolders = config.kind === 'file' ? findMissing(config.path) : []
  const stores: CellStore[] = []
  try {
    const open = (): Promise<CellStore> => openStore(config, group, undefined, true)
    stores.push(await open(), await open())
    const [a, b] = stores as [CellStore, CellStore]
    const result = await runExperiment(a, b, { rounds, timeoutMs, nowMs: () => performance.now() })
    return { facts: a.facts, result }
  } finally {
    await Promise.allSettled(stores.map((store) => store.close()))
    removeEmpty(missingFolders)
  }
}

/** The folder and its parents, as far as they do not exist. */
function findMissing(path: string): readonly string[] {
  const folders: string[] = []
  for (let folder = resolve(path); !exists(folder); folder = dirname(folder)) folders.push(folder)
  return folders
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Opening the store has created these folders; a doctor leaves nothing behind. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder)
  } catch {
    // It was not created, or a node uses it meanwhile.
  }
}

/** Reads a URL, or the field `store` of a JSON file. */
export function readStoreConfig(store: string, acceptWeak: boolean): StoreConfig {
  const config = parseStoreFlag(store.endsWith('.json') ? readStoreField(store) : store)
  if (!acceptWeak) return config
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
