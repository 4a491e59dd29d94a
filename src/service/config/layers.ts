/** The value and the origin of each field: flags override the environment, which overrides the file and the defaults. */
import { join } from 'node:path'
import type { FileConfig } from './file.ts'
import { InvalidConfigError } from './problems.ts'
import { DEFAULTS } from './schema.ts'

/** A value from the command line or the environment, and its origin: `--listen` or `CONCLAVE_LISTEN`. */
export type GivenValue = { readonly value: unknown; readonly by: string }

export type Sources = {
  readonly file: string | null
  /** By the name of the field. */
  readonly flags: { readonly [field: string]: GivenValue }
  readonly environment: { readonly [field: string]: GivenValue }
}

export type Layered = {
  readonly values: { readonly [field: string]: unknown }
  readonly from: { readonly [field: string]: string }
  /** Why the group has no folder in the common data directory, although it needs one. */
  readonly folderProblem?: string
}

export function placeIn(from: Layered['from'], field: string): string | null {
  const place = from[field]
  return place === undefined || place === 'default' ? null : place
}

/** The indexes of the selected groups in the list of the file: all, or the named one; null without a list. */
export function chosenGroups(
  { flags, environment }: Sources,
  listed: readonly FileConfig['fields'][] | null,
): readonly (number | null)[] {
  if (listed === null) return [null]
  const asked = flags['group'] ?? environment['group']
  if (asked === undefined) return listed.map((_, index) => index)
  const index = listed.findIndex(({ group }) => group === asked.value)
  if (index >= 0) return [index]
  const names = listed.map(({ group }) => String(group)).join(', ')
  const message = `${String(asked.value)} is not in the file, which has ${names}`
  throw new InvalidConfigError([{ field: 'group', place: asked.by, message }])
}

/**
 * The value of each field with the highest precedence: a flag, a variable, the group in the file, the file, the default.
 * `group` is the index of the group in the list of the file, if it has one.
 */
export function mergeLayers(
  { flags, environment }: Sources,
  file: FileConfig | null,
  fields: readonly string[],
  group: number | null,
): Layered {
  const values: { [field: string]: unknown } = {}
  const from: { [field: string]: string } = {}
  for (const field of fields) {
    const given: GivenValue[] = [flags[field], environment[field], ...inFile(file, field, group)].filter(
      (each) => each !== undefined,
    )
    const [strongest] = given
    if (strongest === undefined) {
      if (!(field in DEFAULTS)) continue
      values[field] = DEFAULTS[field as keyof typeof DEFAULTS]
      from[field] = 'default'
    } else if (field === 'options') {
      // Single options are merged; each has the value with the highest precedence.
      values[field] = Object.assign({}, ...given.map(({ value }) => value).reverse())
      from[field] = given.map(({ by }) => by).join(', ')
    } else {
      values[field] = strongest.value
      from[field] = strongest.by
    }
  }
  return withOwnFolder({ values, from }, file, group)
}

/** A data directory that is given for all groups holds one for each. */
function withOwnFolder({ values, from }: Layered, file: FileConfig | null, group: number | null): Layered {
  const { data, group: name } = values
  const isOwn = group === null || from['data'] === file?.placeOf(['groups', group, 'data'])
  if (isOwn || typeof data !== 'string' || typeof name !== 'string') return { values, from }
  // Such a folder would lie elsewhere, even outside of the data directory.
  if (/[/\\\0]/.test(name) || name === '.' || name === '..') {
    const folderProblem = `cannot name a folder in ${data}; use a name without / and \\ that is not . or .., or give this group a data folder of its own`
    return { values, from, folderProblem }
  }
  return { values: { ...values, data: join(data, name) }, from }
}

function inFile(file: FileConfig | null, field: string, group: number | null): readonly GivenValue[] {
  if (file === null) return []
  const paths = group === null ? [[field]] : [['groups', group, field], [field]]
  return paths.flatMap((path) => {
    const value = path.reduce<unknown>(
      (around, key) => (around as FileConfig['fields'] | undefined)?.[key],
      file.fields,
    )
    return value === undefined ? [] : [{ value, by: file.placeOf(path) }]
  })
}
