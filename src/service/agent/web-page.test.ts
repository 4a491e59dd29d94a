import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { afterAll, describe, expect, it } from 'vitest'
import { loadPlayground, loadWebPage, pagePolicy } from './web-page.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-page-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'assets'))
writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="./assets/a-1.js">')
writeFileSync(join(folder, 'assets', 'a-1.js'), 'export const a = 1')
writeFileSync(join(folder, 'assets', 'notes.txt'), 'not part of the page')

function serve(root: string): Hono {
  const web = loadWebPage(pathToFileURL(`${root}/`))
  const app = new Hono()
  app.get('/', (c) => web.page(c, c.req.query('supervisor') ?? null))
  app.get('/assets/:name', (c) => web.asset(c, c.req.param('name')))
  return app
}

describe('the live page', () => {
  const app = serve(folder)

  it('is sent with a policy that allows nothing inline and nothing from elsewhere', async () => {
    const response = await app.request('/')
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(await response.text()).toContain('<!doctype html>')
  })

  it('may send requests to the supervisor of a local group', () => {
    expect(pagePolicy('http://127.0.0.1:7479/v1')).toContain("connect-src 'self' http://127.0.0.1:7479;")
  })

  it('sends assets with their type, for good, and compressed to browsers', async () => {
    const response = await app.request('/assets/a-1.js')
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('cache-control')).toContain('immutable')
    expect(await response.text()).toBe('export const a = 1')
    const zipped = await app.request('/assets/a-1.js', { headers: { 'accept-encoding': 'gzip, br' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(await zipped.arrayBuffer()).toString()).toBe('export const a = 1')
  })

  it.each(['/assets/b.js', '/assets/..%2Findex.html', '/assets/notes.txt', '/assets/%00'])(
    'does not send %s',
    async (path) => {
      expect((await app.request(path)).status).toBe(404)
    },
  )

  it('says what to do if it was not built', async () => {
    const response = await serve(join(folder, 'nowhere')).request('/')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      error: { message: 'the page is not built: run npm run build' },
    })
  })
})

describe('the playground of an agent', () => {
  const playground = loadPlayground('none', pathToFileURL(`${folder}/`))
  const app = new Hono()
  app.get('/playground/', (c) => playground.page(c))
  app.get('/playground/assets/:name', (c) => playground.asset(c, c.req.param('name')))

  it('can send no request to the agent, neither the page nor a module in its workers', async () => {
    for (const path of ['/playground/', '/playground/assets/a-1.js']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, so that a failure names its path
      const response = await app.request(path)
      expect([path, response.status]).toEqual([path, 200])
      expect(response.headers.get('content-security-policy')).toContain("connect-src 'none';")
    }
  })

  it('does not send other files', async () => {
    expect((await app.request('/playground/assets/notes.txt')).status).toBe(404)
  })
})
