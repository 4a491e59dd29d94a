/** YAML, loaded when it is first needed: most processes have no file, and it would take a fifth of their start. */
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

export function yaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml
}
