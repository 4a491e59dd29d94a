/** Finds protocols by name: the protocols of this package, and a user's own from a module (`--load FILE`). */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Definition } from '../core/index.ts'
import { catalogue } from '../protocols/index.ts'
import type { Lookup } from '../workbench/sim/index.ts'
import type { Goal, Spec } from '../workbench/specs/index.ts'
import { UsageError } from './errors.ts'

/** The exports of a module given with `--load`. `specs` and `goals` replace the ones that the protocol names. */
export type ProtocolModule = {
  readonly protocol: Definition
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
}

export type Loaded = {
  readonly lookup: Lookup
  /** The specifications and goals that the module of a loaded protocol exports. */
  specsFor(definition: Definition): { readonly specs?: readonly Spec[]; readonly goals?: readonly Goal[] }
}

export async function loadProtocols(file: string | undefined): Promise<Loaded> {
  if (file === undefined) return { lookup: catalogue, specsFor: () => ({}) }
  const module = await importModule(file)
  const { protocol, specs, goals } = module
  return {
    lookup: {
      names: [protocol.name, ...catalogue.names],
      find: (name) => (name === protocol.name ? protocol : catalogue.find(name)),
    },
    specsFor: (definition) =>
      definition === protocol
        ? { ...(specs === undefined ? {} : { specs }), ...(goals === undefined ? {} : { goals }) }
        : {},
  }
}

async function importModule(file: string): Promise<ProtocolModule> {
  let module: Partial<ProtocolModule>
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as Partial<ProtocolModule>
  } catch (error) {
    throw new UsageError(`--load ${file}: ${(error as Error).message.split('\n')[0]}`, '--load')
  }
  if (typeof module.protocol?.create !== 'function') {
    throw new UsageError(
      `--load ${file}: the module must export \`protocol\`, a definition (see docs/tutorials/your-first-protocol.md)`,
      '--load',
    )
  }
  return module as ProtocolModule
}

export function findProtocol(lookup: Lookup, name: string): Definition {
  const definition = lookup.find(name)
  if (definition !== null) return definition
  throw new UsageError(
    `--protocol ${name}: unknown protocol; use one of ${lookup.names.join(', ')}`,
    '--protocol',
  )
}
