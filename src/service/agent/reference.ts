/** The reference of the HTTP interface, in Markdown, out of what /v1/openapi.json serves. */
import { markdownTable } from '../config/markdown.ts'
import { METRICS } from './metrics.ts'
import { openApi, ROUTES } from './openapi.ts'

type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: { readonly [field: string]: Schema }
  readonly description?: string
}

export function httpReferenceText(): string {
  const { components } = openApi('') as { components: { schemas: { [name: string]: Schema } } }
  const paths = ROUTES.map(({ method, path, summary, admin, ofGroup, answers }) => [
    `\`${method.toUpperCase()} ${path}\``,
    summary,
    Object.entries(answers)
      .map(([code, { schema }]) => (schema === undefined || schema === 'Error' ? code : `${code} ${schema}`))
      .join(', '),
    `${ofGroup ? '`?group=`' : ''}${admin === 'never' ? '' : `${ofGroup ? '; ' : ''}admin ${admin}`}`,
  ])
  const shapes = Object.entries(components.schemas).flatMap(([name, schema]) => [
    '',
    `### ${name}`,
    '',
    markdownTable([['field', 'value', 'meaning'], ...fieldsOf(schema, '')]),
  ])
  const metrics = METRICS.map(({ name, type, help }) => [`\`${name}\``, type, help])
  return [
    '## All paths',
    '',
    markdownTable([['path', 'what it answers', 'codes', 'takes']].concat(paths)),
    '',
    '## All answers',
    ...shapes,
    '',
    '## All metrics',
    '',
    markdownTable([['name', 'type', 'meaning'], ...metrics]),
  ].join('\n')
}

/** Nested fields with a dot, those of a list with []. */
function fieldsOf({ properties = {} }: Schema, before: string): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([field, schema]) => {
    const inner = schema.anyOf?.find(({ type }) => type === 'object') ?? schema
    const name = `${before}${field}`
    const row = [`\`${name}\``, kindOf(schema), schema.description ?? '']
    const below =
      schema.type === 'array' && schema.items?.type === 'object'
        ? fieldsOf(schema.items, `${name}[].`)
        : fieldsOf(inner, `${name}.`)
    return [row, ...below]
  })
}

function kindOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kindOf))].join(' or ')
  if (schema.enum !== undefined) return schema.enum.map((each) => `\`${each}\``).join(', ')
  if (schema.type === 'array')
    return `list of ${schema.items === undefined ? 'values' : kindOf(schema.items)}`
  return [schema.type ?? 'value'].flat().join(' or ')
}
