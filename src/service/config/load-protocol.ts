/** Loads a protocol of your own from a module: the same way for the library, the agent and every command (`--load`). */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Definition } from '../../core/index.ts'
import { addProtocol, type Hosting } from '../../protocols/index.ts'
import { InvalidOptionsError } from './problems.ts'

/** The exports of such a module. Without `hosting` the protocol can be simulated and explored, but not run. */
export type ProtocolModule = { readonly protocol: Definition; readonly hosting?: Hosting }

/**
 * Imports the module and makes its protocol known by name in this process: `join({ protocol: NAME })` runs it, and
 * threads of elections import the module again. `file` is a path or the URL of a module. Loading a module twice is
 * harmless. Throws InvalidOptionsError (`load`) when it exports no protocol, or its name is taken.
 */
export async function loadProtocol(file: string | URL): Promise<ProtocolModule> {
  const module = moduleAt(file)
  const exported = (await import(module)) as Partial<ProtocolModule>
  const { protocol, hosting = null } = exported
  if (typeof protocol?.create !== 'function')
    throw new InvalidOptionsError(
      'load',
      `${String(file)}: the module must export \`protocol\`, a definition (see docs/tutorials/your-first-protocol.md)`,
    )
  try {
    addProtocol({ definition: protocol, hosting, module })
  } catch (error) {
    if (error instanceof RangeError)
      throw new InvalidOptionsError('load', `${String(file)}: ${error.message}`)
    throw error
  }
  return exported as ProtocolModule
}

function moduleAt(file: string | URL): string {
  if (file instanceof URL) return file.href
  return /^[a-z]+:\/\//i.test(file) ? file : pathToFileURL(resolve(file)).href
}
