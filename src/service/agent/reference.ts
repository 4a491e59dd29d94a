/** Renders the HTTP reference in Markdown from the OpenAPI description. */
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

export function renderHttpReference(): string {
  const { components } = openApi('') as { components: { schemas: { [name: string]: Schema } } }
  const paths = ROUTES.map(({ method, path, summary, admin, takesGroup, responses }) => [
    `\`${method.toUpperCase()} ${path}\``,
    summary,
    Object.entries(responses)
      .map(([status, { schema }]) =>
        schema === undefined || schema === 'Error' ? status : `${status} ${schema}`,
      )
      .join(', '),
    `${takesGroup ? '`?group=`' : ''}${admin === 'never' ? '' : `${takesGroup ? '; ' : ''}admin ${admin}`}`,
  ])
  const shapes = Object.entries(components.schemas).flatMap(([name, schema]) => [
    '',
    `### ${name}`,
    '',
    markdownTable([['field', 'value', 'meaning'], ...fieldRows(schema, '')]),
  ])
  const metrics = METRICS.map(({ name, type, help }) => [`\`${name}\``, type, help])
  return [
    '## All paths',
    '',
    markdownTable([['path', 'purpose', 'status codes', 'parameters']].concat(paths)),
    '',
    '## All responses',
    ...shapes,
    '',
    '## All metrics',
    '',
    markdownTable([['name', 'type', 'meaning'], ...metrics]),
  ].join('\n')
}

/** Table rows for the fields of a schema. Nested fields are joined with dots, fields of list items with []. */
function fieldRows({ properties = {} }: Schema, before: string): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([field, schema]) => {
    const inner = schema.anyOf?.find(({ type }) => type === 'object') ?? schema
    const name = `${before}${field}`
    const row = [`\`${name}\``, describeType(schema), schema.description ?? '']
    const below =
      schema.type === 'array' && schema.items?.type === 'object'
        ? fieldRows(schema.items, `${name}[].`)
        : fieldRows(inner, `${name}.`)
    return [row, ...below]
  })
}

function describeType(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(describeType))].join(' or ')
  if (schema.enum !== undefined) return schema.enum.map((each) => `\`${each}\``).join(', ')
  if (schema.type === 'array')
    return `list of ${schema.items === undefined ? 'values' : describeType(schema.items)}`
  return [schema.type ?? 'value'].flat().join(' or ')
}
