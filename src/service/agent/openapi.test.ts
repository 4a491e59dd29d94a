import { describe, expect, it } from 'vitest'
import { openApi, ROUTES } from './openapi.ts'

type Operation = {
  readonly summary: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly security?: readonly object[]
  readonly responses: { readonly [status: string]: { readonly content: { readonly [type: string]: object } } }
}
type Document = {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: { readonly type: string } } }
}

const DOCUMENT = openApi('1.2.3') as Document
const operations = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
)
const named = (name: string): Operation => {
  const found = operations.find((each) => each.name === name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found.operation
}

describe('the description of the HTTP interface', () => {
  it('has the version of the agent', () => {
    expect([DOCUMENT.openapi, DOCUMENT.info.version]).toEqual(['3.1.0', '1.2.3'])
  })

  it('refers only to schemas that it contains, and uses all of them', () => {
    const used = new Set(
      Array.from(
        JSON.stringify(DOCUMENT.paths).matchAll(/"#\/components\/schemas\/(\w+)"/g),
        ([, name]) => name,
      ),
    )
    const known = Object.keys(DOCUMENT.components.schemas)
    expect([...used].filter((name) => !known.includes(name ?? ''))).toEqual([])
    expect(known.filter((name) => !used.has(name))).toEqual([])
    for (const schema of Object.values(DOCUMENT.components.schemas)) expect(schema.type).toBe('object')
  })

  it.each([
    ['post /v1/step-down', [{ admin: [] }]],
    ['post /v1/remove', [{ admin: [] }]],
    ['post /v1/claim', [{ admin: [] }]],
    ['delete /v1/claim', [{ admin: [] }]],
    // On loopback no token is needed.
    ['get /v1/trace', [{}, { admin: [] }]],
    ['get /v1/leader', undefined],
    ['get /metrics', undefined],
  ])('says whether %s needs the admin token', (name, security) => {
    expect(named(name).security).toEqual(security)
  })

  it('lists 401 and 403 for every operation that always needs the token', () => {
    const admin = operations.filter(({ operation }) => operation.security?.length === 1)
    expect(admin).toHaveLength(5)
    for (const { name, operation } of admin)
      expect([name, '401' in operation.responses, '403' in operation.responses]).toEqual([name, true, true])
  })

  it('lists 403 everywhere, because of the Host header', () => {
    const without = operations.filter(({ operation }) => !('403' in operation.responses))
    expect(without).toEqual([])
  })

  it('offers ?group= exactly where a group is served, with 400 and 404', () => {
    for (const { method, path, takesGroup } of ROUTES) {
      const { parameters = [], responses } = named(`${method} ${path}`)
      const hasGroup = parameters.some((each) => each.name === 'group' && each.in === 'query')
      expect([path, hasGroup, '400' in responses && '404' in responses]).toEqual([
        path,
        takesGroup,
        takesGroup,
      ])
    }
  })

  it('describes the checks for GET and OPTIONS alike', () => {
    for (const path of ['/healthz', '/readyz', '/leader'])
      expect(named(`options ${path}`)).toEqual(named(`get ${path}`))
  })

  it.each([
    ['get /metrics', 'text/plain'],
    ['get /v1/events', 'text/event-stream'],
    ['get /v1/trace', 'application/x-ndjson'],
    ['get /v1/status', 'application/json'],
  ])('names the type of %s', (name, type) => {
    expect(Object.keys(named(name).responses['200']?.content ?? {})).toEqual([type])
  })

  it('offers to resume the event stream by header', () => {
    expect(named('get /v1/events').parameters?.map((each) => `${each.in} ${each.name}`)).toEqual([
      'query group',
      'query only',
      'header Last-Event-ID',
    ])
  })
})
