/** A configuration file, YAML or JSON (a subset of YAML): its fields, and the place of each. */
import { readFileSync } from 'node:fs'
import { explain } from '../../core/index.ts'
import { InvalidConfigError, issueProblems, pathText } from './problems.ts'
import { fileSchema, KNOWN_FIELDS } from './schema.ts'
import { yaml } from './yaml.ts'

export type FileConfig = {
  readonly fields: { readonly [field: string]: unknown }
  /** FILE:LINE:COLUMN of a value, or of the nearest thing around it. */
  placeOf(path: readonly PropertyKey[]): string
}

export function readConfigFile(name: string): FileConfig {
  let text: string
  try {
    text = readFileSync(name, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'ENOENT'
        ? 'there is no such file; correct --config or CONCLAVE_CONFIG'
        : `cannot be read: ${message}`
    throw new InvalidConfigError([{ field: 'config', place: name, message: why }])
  }
  return parseConfig(name, text)
}

export function parseConfig(name: string, text: string): FileConfig {
  const { isNode, LineCounter, parseDocument } = yaml()
  const lines = new LineCounter()
  // Aliases are rejected: a small file could otherwise expand without bound.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${name}:${line}:${col}`
  }
  const [broken] = document.errors
  if (broken !== undefined) {
    const message = `not valid YAML or JSON: ${broken.message.split('\n')[0]}`
    throw new InvalidConfigError([{ field: 'config', place: at(broken.pos[0]), message }])
  }
  const fields: unknown = readable(name, () => document.toJS({ maxAliasCount: 0 }))
  const placeOf = (path: readonly PropertyKey[]): string => {
    for (let length = path.length; length > 0; length--) {
      const found = document.getIn(path.slice(0, length), true)
      if (isNode(found) && found.range) return at(found.range[0])
    }
    return name
  }
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) {
    const message = 'must hold fields, such as "group: billing"'
    throw new InvalidConfigError([{ field: 'config', place: name, message }])
  }
  const result = fileSchema.safeParse(fields, { error: explain })
  if (!result.success) {
    throw new InvalidConfigError(
      result.error.issues
        .flatMap((issue) => issueProblems(issue, KNOWN_FIELDS))
        .map(({ path, message }) => ({ field: pathText(path), place: placeOf(path), message })),
    )
  }
  return { fields: fields as FileConfig['fields'], placeOf }
}

function readable<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const message = `${(error as Error).message}: write values out instead of using aliases`
    throw new InvalidConfigError([{ field: 'config', place: name, message }])
  }
}
