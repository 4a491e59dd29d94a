/** The options of `join` for a group whose nodes share a store, and the settings that follow from them. */
import { z } from 'zod'
import { type FencingInput, fencingSchema } from '../fencing/config.ts'
import { InvalidStoreError, parseStore, type StoreConfig } from '../registers/index.ts'
import type { StoreElectionSettings } from './election-settings.ts'
import { DEFAULT_TRACE_STEPS, isInStore } from './fields.ts'
import type { JoinOptions, WorkOptions } from './join-options.ts'
import { InvalidOptionsError } from './problems.ts'
import { protocolOptions } from './protocol-options.ts'

export type StoreJoinOptions = WorkOptions &
  Pick<
    JoinOptions,
    'group' | 'id' | 'isolation' | 'maxStallMs' | 'signal' | 'options' | 'profile' | 'traceSteps'
  > & {
    /** A protocol whose nodes share a store. */
    readonly protocol: string
    /** The store that holds the registers: a URL, or an object as in the reference of stores. */
    readonly store: string | StoreConfig
    /** Devices that fence all other nodes before this node leads. */
    readonly fencing?: readonly FencingInput[]
  }

export function isStoreJoin(options: JoinOptions | StoreJoinOptions): options is StoreJoinOptions {
  return isInStore(options.protocol)
}

/** The settings of an election in a store. The single options have been checked. */
export function storeSettings(options: StoreJoinOptions): StoreElectionSettings {
  const { group, id, protocol, store, fencing = [], traceSteps = DEFAULT_TRACE_STEPS } = options
  return {
    group,
    id,
    nodes: [id],
    protocol,
    store: storeConfigOf(store),
    fencing: z.array(fencingSchema).parse(fencing),
    traceSteps,
    options: protocolOptions(protocol, [id], options),
  }
}

/** The store, taken apart and checked. */
export function storeConfigOf(given: unknown): StoreConfig {
  try {
    return parseStore(given)
  } catch (error) {
    if (!(error instanceof InvalidStoreError)) throw error
    throw new InvalidOptionsError(error.field, error.message.slice(error.field.length + 2), [], {
      cause: error,
    })
  }
}
