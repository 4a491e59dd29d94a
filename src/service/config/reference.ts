/** The Markdown reference of all fields, generated from the published schema. */

import { flagOf, variableOf } from './checked.ts'
import { markdownTable } from './markdown.ts'
import { NODE_FIELDS, publishedSchema } from './schema.ts'

type Schema = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly default?: unknown
  readonly description?: string
  readonly properties?: { readonly [field: string]: Schema }
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

/** Fields that only a file can have. */
const FILE_ONLY: readonly string[] = ['secrecy', 'fencing', 'sticky', 'traceSteps']

/** The form of a string with a pattern, found by a part of that pattern. */
const FORMS: readonly (readonly [sign: string, form: string])[] = [
  ['+=(?:', '`ID=HOST:PORT`'],
  ['):\\d', '`HOST:PORT`'],
]

export function referenceText(): string {
  const { properties = {} } = publishedSchema() as Schema
  const rows = Object.entries(properties)
    .filter(([field]) => field !== '$schema' && field !== 'groups')
    .map(([field, schema]) => [
      `\`${field}\``,
      isFlag(field) ? `\`${flagOf(field)}\`, \`${variableOf(field)}\`` : 'file only',
      kindOf(schema),
      schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``,
      `${schema.description ?? ''}${(NODE_FIELDS as readonly string[]).includes(field) ? '' : ' (of the process, not of a group)'}`,
    ])
  const peer = properties['peers']?.items?.anyOf?.find(({ type }) => type === 'object')?.properties ?? {}
  const peerRows = Object.entries(peer).map(([field, schema]) => [
    `\`${field}\``,
    kindOf(schema),
    schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``,
    schema.description ?? '',
  ])
  return [
    markdownTable([['field', 'flag and variable', 'value', 'default', 'meaning'], ...rows]),
    '',
    'A peer may be written as text, `ID=HOST:PORT`, or as an object:',
    '',
    markdownTable([['field', 'value', 'default', 'meaning'], ...peerRows]),
    '',
    `\`groups\`: ${properties['groups']?.description ?? ''}. Each entry needs \`group\`.`,
  ].join('\n')
}

export function isFlag(field: string): boolean {
  return !FILE_ONLY.includes(field)
}

function kindOf(schema: Schema): string {
  const either = schema.anyOf ?? schema.oneOf
  if (either !== undefined) return [...new Set(either.map(kindOf))].join(' or ')
  const choices = schema.enum ?? schema.examples
  if (choices !== undefined) return choices.map((each) => `\`${String(each)}\``).join(', ')
  if (schema.type === 'array')
    return `list of ${schema.items === undefined ? 'values' : kindOf(schema.items)}`
  if (schema.type === 'integer') return `whole number, ${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'number') return `number, ${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'boolean') return '`true`, `false`'
  if (schema.type === 'object') return 'object'
  return FORMS.find(([sign]) => schema.pattern?.includes(sign))?.[1] ?? 'text'
}
