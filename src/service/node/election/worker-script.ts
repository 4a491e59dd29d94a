/**
 * The script of the worker: a separate file beside this one in the package.
 *
 * A bundler moves this code and leaves that file behind. A file of the same name beside a bundle belongs to another
 * program and must never be started. So the script is used only if this file is where the package puts it.
 */
import { readFileSync } from 'node:fs'
import { InvalidOptionsError } from '../api/errors.ts'

const PLACES = ['dist/service/node/election/worker-script.js', 'src/service/node/election/worker-script.ts']

const BUNDLED =
  'the election cannot run in a worker, because this program was bundled without the script of the worker; ' +
  'keep conclave out of the bundle (esbuild --external:conclave), or join with isolation: "thread"'

/** Throws InvalidOptionsError where this code is not in its package. `own`: the URL of this file; undefined in a CommonJS bundle. */
export function threadScript(own: string | undefined = import.meta.url): URL {
  const place = PLACES.find((each) => own?.endsWith(`/${each}`))
  if (own === undefined || place === undefined || !isPackage(new URL('../../../../package.json', own)))
    throw new InvalidOptionsError('isolation', BUNDLED)
  // The sources are not run as they are: their tests use the bundled thread.
  return new URL('../../../../dist/bundle/service/node/election/worker.js', import.meta.url)
}

function isPackage(file: URL): boolean {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: unknown }).name === 'conclave'
  } catch {
    return false
  }
}
