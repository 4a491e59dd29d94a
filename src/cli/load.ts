/** Finds protocols by name: the protocols of this package, and a user's own from a module (`--load FILE`). */
import type { Definition } from '../core/index.ts'
import { catalogue } from '../protocols/index.ts'
import { loadProtocol } from '../service/config/load-protocol.ts'
import { InvalidOptionsError } from '../service/config/problems.ts'
import type { Lookup } from '../workbench/sim/index.ts'
import type { Goal, Spec } from '../workbench/specs/index.ts'
import { messageWithPlace, placeOf, placeOfSyntaxError } from './error-place.ts'
import { UsageError } from './errors.ts'

/** The exports of a module given with `--load`. `specs` and `goals` replace the ones that the protocol names. */
type ProtocolModule = {
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
  const { protocol, specs, goals } = await importModule(file)
  return {
    lookup: catalogue,
    specsFor: (definition) =>
      definition === protocol
        ? { ...(specs === undefined ? {} : { specs }), ...(goals === undefined ? {} : { goals }) }
        : {},
  }
}

async function importModule(file: string): Promise<ProtocolModule> {
  try {
    return await loadProtocol(file)
  } catch (error) {
    const problem = error instanceof InvalidOptionsError ? error.problems[0]?.message : null
    const thrown = error as Error
    const place = error instanceof SyntaxError ? placeOfSyntaxError(file) : placeOf(thrown)
    const text =
      place === null ? `${file}: ${thrown.message.split('\n')[0]}` : messageWithPlace(thrown, place)
    throw new UsageError(`--load ${problem ?? text}`, '--load')
  }
}

export function findProtocol(lookup: Lookup, name: string): Definition {
  const definition = lookup.find(name)
  if (definition !== null) return definition
  throw new UsageError(
    `--protocol ${name}: unknown protocol; use one of ${lookup.names.join(', ')}`,
    '--protocol',
  )
}
