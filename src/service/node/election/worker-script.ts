/**
 * Where the script of the election's thread is: a file of its own, beside this one in the package.
 *
 * A bundler takes this code elsewhere and leaves that file behind. What is called so beside a bundle belongs to somebody
 * else and must never be started: so the script is used only if this file is where the package puts it.
 */
import { readFileSync } from 'node:fs'
import { InvalidOptionsError } from '../api/errors.ts'

const PLACES = ['dist/service/node/election/worker-script.js', 'src/service/node/election/worker-script.ts']

const BUNDLED =
  'the election cannot have a thread of its own, for this program was bundled and the script of that thread was not: ' +
  'keep conclave out of the bundle (esbuild --external:conclave), or join with isolation: "thread"'

/** Throws InvalidOptionsError where this code is not in its package. `own` is where it is: undefined in a CommonJS bundle. */
export function threadScript(own: string | undefined = import.meta.url): URL {
  const place = PLACES.find((each) => own?.endsWith(`/${each}`))
  if (own === undefined || place === undefined || !isPackage(new URL('../../../../package.json', own)))
    throw new InvalidOptionsError('isolation', BUNDLED)
  // The sources are not run as they are: their tests use the compiled thread.
  return new URL('../../../../dist/service/node/election/worker.js', own)
}

function isPackage(file: URL): boolean {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: unknown }).name === 'conclave'
  } catch {
    return false
  }
}
