/**
 * `conclave doctor`: whether a store can hold registers, before it must. It connects as a node would, looks at the
 * store's settings and rights, tries it with two writers in a group of its own, and measures how long it takes.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import {
  type CellStore,
  type Experiment,
  experimentOn,
  InvalidStoreError,
  MissingClientError,
  openStore,
  parseStore,
  StoreAccessDeniedError,
  type StoreConfig,
  type StoreFacts,
  StoreUnreachableError,
  UnsuitableStoreError,
} from '../service/registers/index.ts'
import { EXIT, UsageError } from './errors.ts'
import { NEW_LINE, paint, print, printJson } from './output.ts'
import { parseWholeNumber } from './values.ts'

type DoctorFlags = {
  readonly store: string
  readonly acceptWeak?: boolean
  readonly rounds: string
  readonly timeoutMs: string
  readonly json?: boolean
}

type Mark = 'ok' | 'warning' | 'error'
type Line = { readonly mark: Mark; readonly text: string }

const SIGNS = { ok: '✓', warning: '▲', error: '✖' } as const
const COLOURS = { ok: 'green', warning: 'yellow', error: 'red' } as const

const CANNOT_KNOW =
  'that it will always behave so: an experiment can show that a store is no register, never that it is one'

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'whether a store can hold registers for the protocol epochs: rights, settings, behaviour, speed',
    )
    .requiredOption(
      '--store <url>',
      'file:/folder, postgres://…, redis://…, etcd://…, nats://…, s3://bucket, or a JSON file with the object `store`',
    )
    .option('--accept-weak', 'look on although the store may lose acknowledged writes or answer old values')
    .option('--rounds <n>', 'how often each thing is tried', '100')
    .option('--timeout-ms <ms>', 'the longest that one operation may take', '5000')
    .option('--json', 'print the findings as one object')
    .action(async (flags: DoctorFlags) => {
      const config = configIn(flags)
      const rounds = parseWholeNumber('--rounds', flags.rounds, 1)
      const timeoutMs = parseWholeNumber('--timeout-ms', flags.timeoutMs, 1)
      // A group of its own: nobody is disturbed.
      const group = `doctor-${randomUUID().slice(0, 8)}`
      const stores: CellStore[] = []
      try {
        stores.push(await openStore(config, group), await openStore(config, group))
        const [a, b] = stores as [CellStore, CellStore]
        const result = await experimentOn(a, b, { rounds, timeoutMs, nowMs: () => performance.now() })
        report(flags, a.facts, result)
      } catch (error) {
        reportFailure(flags, error)
      } finally {
        await Promise.allSettled(stores.map((store) => store.close()))
      }
    })
}

/** A URL, or a file with the object `store` in it. */
function configIn({ store, acceptWeak }: DoctorFlags): StoreConfig {
  const config = parsed(store.endsWith('.json') ? storeIn(store) : store)
  if (acceptWeak !== true) return config
  if (!('acceptWeak' in config))
    throw new UsageError(`--accept-weak has no meaning for ${config.kind}`, '--accept-weak')
  return { ...config, acceptWeak }
}

function parsed(given: unknown): StoreConfig {
  try {
    return parseStore(given)
  } catch (error) {
    if (error instanceof InvalidStoreError) throw new UsageError(error.message, error.field)
    throw error
  }
}

function storeIn(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { store?: unknown }).store
  } catch (error) {
    throw new UsageError(
      `--store ${file}: ${error instanceof Error ? error.message : String(error)}`,
      '--store',
    )
  }
}

function report(flags: DoctorFlags, facts: StoreFacts, { findings, read, write }: Experiment): void {
  const broken = findings.filter(({ problem }) => problem !== null)
  process.exitCode = broken.length > 0 ? EXIT.violated : EXIT.ok
  if (flags.json === true) {
    printJson({
      store: { kind: facts.kind, place: facts.place },
      fit: broken.length === 0,
      sound: facts.sound,
      weak: facts.weak,
      findings,
      latencyMs: { read, write },
      cannotKnow: [...facts.assumed, CANNOT_KNOW],
    })
    return
  }
  const lines: readonly Line[] = [
    { mark: 'ok', text: `${facts.place} answers, and lets this user read and write` },
    ...facts.sound.map((text): Line => ({ mark: 'ok', text })),
    ...facts.weak.map((text): Line => ({ mark: 'warning', text })),
    ...findings.map(
      ({ requirement, trials, problem }): Line =>
        problem === null
          ? { mark: 'ok', text: `${requirement} (tried ${trials} times)` }
          : {
              mark: 'error',
              text: `${requirement}: ${problem}${NEW_LINE}  Use another store: on this one two may lead in one epoch.`,
            },
    ),
  ]
  for (const { mark, text } of lines) print(`${paint(COLOURS[mark], SIGNS[mark])} ${text}`)
  const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0)
  print('')
  print(
    `one read round  median ${ms(read.medianMs)} ms, 99 % ${ms(read.p99Ms)} ms, longest ${ms(read.maxMs)} ms`,
  )
  print(
    `one write       median ${ms(write.medianMs)} ms, 99 % ${ms(write.p99Ms)} ms, longest ${ms(write.maxMs)} ms`,
  )
  print('')
  print('What cannot be found out from here, and must be so:')
  for (const text of [...facts.assumed, CANNOT_KNOW]) print(`- ${text}`)
}

/** The store could not be opened, or stopped answering. */
function reportFailure(flags: DoctorFlags, error: unknown): void {
  process.exitCode = codeOf(error)
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  if (flags.json === true) printJson({ fit: false, error: { name, message } })
  else print(`${paint('red', SIGNS.error)} ${message}`)
}

function codeOf(error: unknown): number {
  if (error instanceof InvalidStoreError || error instanceof MissingClientError) return EXIT.usage
  if (error instanceof StoreUnreachableError) return EXIT.unreachable
  if (error instanceof StoreAccessDeniedError || error instanceof UnsuitableStoreError) return EXIT.refused
  return EXIT.failure
}
