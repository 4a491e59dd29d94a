/** The version of this package. */
import { readFileSync } from 'node:fs'

let version: string | null | undefined

/** Null in a bundle, which has left the package behind. */
export function packageVersion(own: string | undefined = import.meta.url): string | null {
  version ??= readVersion(own)
  return version
}

function readVersion(own: string | undefined): string | null {
  try {
    const file = readFileSync(new URL('../../../../package.json', own), 'utf8')
    const { name, version: text } = JSON.parse(file) as {
      readonly name?: unknown
      readonly version?: unknown
    }
    return name === 'conclave' && typeof text === 'string' ? text : null
  } catch {
    return null
  }
}
