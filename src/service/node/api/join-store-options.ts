/** What a process says when it joins a group that meets in a store, checked before anything begins. */
import { z } from 'zod'
import { explain, type PlainObject, present } from '../../../core/index.ts'
import { protocolNamed } from '../../../protocols/index.ts'
import { type FencingConfig, type FencingInput, fencingSchema } from '../../fencing/config.ts'
import { InvalidStoreError, parseStore, type StoreConfig } from '../../registers/index.ts'
import type { StoreElectionSettings } from '../election/in-store.ts'
import { InvalidOptionsError } from './errors.ts'
import type { JoinOptions, WorkOptions } from './join-options.ts'

export type StoreJoinOptions = WorkOptions &
  Pick<
    JoinOptions,
    'group' | 'id' | 'isolation' | 'maxStallMs' | 'signal' | 'options' | 'profile' | 'traceSteps'
  > & {
    readonly protocol: 'epochs'
    /** Where the registers are: a URL, or its parts as in docs/explanation/stores.md. */
    readonly store: string | StoreConfig
    /** What cuts all others off before this process says that it leads: docs/how-to/write-a-fenced-resource.md. */
    readonly fencing?: readonly FencingInput[]
  }

/** The id stands twice in a block of 480 bytes. */
const LONGEST_ID = 64

/** How long a period and an access may be: T and r of the paper. Single options win. */
const PROFILES = {
  lan: { periodMs: 500, accessMs: 25 },
  region: { periodMs: 1000, accessMs: 50 },
  wan: { periodMs: 3000, accessMs: 150 },
} as const

export function isStoreJoin(options: JoinOptions | StoreJoinOptions): options is StoreJoinOptions {
  return options.protocol === 'epochs'
}

export function storeSettingsOf(options: StoreJoinOptions): StoreElectionSettings {
  const { group, id, store } = options
  if (typeof group !== 'string' || group === '')
    throw new InvalidOptionsError('group', 'is empty: name the group')
  if (typeof id !== 'string' || id === '') throw new InvalidOptionsError('id', 'is empty: name this process')
  if (Buffer.byteLength(id) > LONGEST_ID)
    throw new InvalidOptionsError(
      'id',
      `is longer than ${LONGEST_ID} bytes, which a register has no room for`,
    )
  for (const field of [
    'listen',
    'peers',
    'key',
    'data',
    'mode',
    'priority',
    'observer',
    'witness',
  ] as const) {
    if ((options as { readonly [field: string]: unknown })[field] !== undefined)
      throw new InvalidOptionsError(
        field,
        'has no meaning with the protocol epochs, whose nodes meet in a store: take it out',
      )
  }
  return {
    group,
    id,
    nodes: [id],
    store: storeOf(store),
    fencing: fencingOf(options.fencing ?? []),
    traceSteps: options.traceSteps ?? 0,
    options: storeProtocolOptions(options),
  }
}

function fencingOf(given: readonly unknown[]): readonly FencingConfig[] {
  const parsed = z.array(fencingSchema).safeParse(given, { error: explain })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new InvalidOptionsError(['fencing', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is wrong')
}

function storeOf(given: unknown): StoreConfig {
  if (given === undefined)
    throw new InvalidOptionsError(
      'store',
      'is missing: say where the registers are, as in file:/srv/shared/conclave',
    )
  try {
    return parseStore(given)
  } catch (error) {
    if (error instanceof InvalidStoreError)
      throw new InvalidOptionsError(error.field, error.message.slice(error.field.length + 2))
    throw error
  }
}

/** What the protocol is told, checked; whoever only checks a configuration asks too. */
export function storeProtocolOptions({
  id,
  profile = 'lan',
  options,
}: Pick<StoreJoinOptions, 'id' | 'profile' | 'options'>): PlainObject {
  const constants = (PROFILES as { readonly [name: string]: object })[profile]
  if (constants === undefined)
    throw new InvalidOptionsError('profile', `${profile} is none of lan, region, wan`)
  const given = { ...constants, ...options }
  const definition = present(protocolNamed('epochs'), 'epochs')
  const result = definition.options([id]).safeParse(given, { error: explain })
  if (!result.success) {
    const issue = result.error.issues[0]
    throw new InvalidOptionsError(`options.${issue?.path.join('.') ?? ''}`, issue?.message ?? 'cannot work')
  }
  const { clock, epochs, ballots } = result.data as { clock: string; epochs: unknown; ballots: unknown }
  if (clock !== 'own')
    throw new InvalidOptionsError('options.clock', 'is for searches: real processes have clocks')
  if (epochs !== null || ballots !== null)
    throw new InvalidOptionsError('options.epochs', 'and ballots bound searches: real processes run on')
  return result.data
}
