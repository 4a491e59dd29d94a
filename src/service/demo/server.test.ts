import { describe, expect, it } from 'vitest'
import { DemoRefusedError } from './demo.ts'
import { Observed } from './observed.ts'
import { createDemoApp, type ServedDemo } from './server.ts'
import type { DemoState } from './state.ts'

const ROW = new Uint8Array([1, 2, 3, 4, 5, 6])
const BASE = 'http://127.0.0.1:7490'

type Asked = { readonly method?: string; readonly headers?: Readonly<Record<string, string>> }

function serve() {
  const observed = new Observed(
    { width: 2, height: 2, iterations: 10 },
    [{ name: 'tile-1', left: 0, top: 0, width: 2, height: 2 }],
    1,
  )
  const done: string[] = []
  const demo: ServedDemo = {
    observed,
    state: () => observed.state([]),
    onChange: () => () => {},
    async kill(id) {
      if (id !== 'n1') throw new DemoRefusedError(`no node is called ${id}`)
      done.push(`kill ${id}`)
    },
    revive(id) {
      done.push(`revive ${id}`)
    },
  }
  const closing = new AbortController()
  const app = createDemoApp(demo, closing.signal)
  const request = async (path: string, { method = 'GET', headers = {} }: Asked = {}) =>
    app.request(`${BASE}${path}`, { method, headers: { Host: '127.0.0.1:7490', ...headers } })
  return { observed, done, request, closing }
}

describe('the page', () => {
  it('allows nothing but resources of its own server', async () => {
    const { request } = serve()
    const answer = await request('/')
    const policy = answer.headers.get('Content-Security-Policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    const html = await answer.text()
    expect(html).not.toMatch(/https?:|style="|onclick|<script>/)
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1])
    expect(links).toEqual(['icon.svg', 'page.css', 'page.js'])
    for (const link of links) {
      // oxlint-disable-next-line no-await-in-loop -- three requests
      expect((await request(`/${link}`)).status).toBe(200)
    }
  })

  it('has a style for dark mode and for narrow screens', async () => {
    const style = await (await serve().request('/page.css')).text()
    expect(style).toContain('prefers-color-scheme: dark')
    expect(style).toContain('max-width: 30rem')
  })

  it('answers unknown paths with 404', async () => {
    expect((await serve().request('/nothing')).status).toBe(404)
  })
})

describe('the picture', () => {
  it('is served by rows of tiles, and as PNG', async () => {
    const { observed, request } = serve()
    await observed.accept({ job: 'tile-1', submission: 'a', seq: 0, token: 1, output: ROW })
    expect([...new Uint8Array(await (await request('/tiles/tile-1')).arrayBuffer())]).toEqual([...ROW])
    expect((await (await request('/tiles/tile-1?from=1')).arrayBuffer()).byteLength).toBe(0)
    const png = await request('/picture.png')
    expect(png.headers.get('Content-Type')).toBe('image/png')
    expect(
      Buffer.from(await png.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG')
  })

  it('has no rows behind a gap', async () => {
    const { observed, request } = serve()
    await observed.accept({ job: 'tile-1', submission: 'a', seq: 1, token: 1, output: ROW })
    expect((await (await request('/tiles/tile-1')).arrayBuffer()).byteLength).toBe(0)
  })

  it.each([
    ['/tiles/tile-9', 404],
    ['/tiles/tile-1?from=-1', 400],
    ['/tiles/tile-1?from=x', 400],
  ])('answers %s with %d', async (path, status) => {
    expect((await serve().request(path)).status).toBe(status)
  })
})

it('sends the state as events', async () => {
  const { request, closing } = serve()
  const answer = await request('/events')
  const reader = answer.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  const text = new TextDecoder().decode(value as Uint8Array)
  const { state, steps } = JSON.parse(text.slice('data: '.length)) as {
    readonly state: DemoState
    readonly steps: readonly string[]
  }
  expect(state.phase).toBe('starting')
  expect(steps).toHaveLength(8)
  closing.abort()
  await reader?.cancel()
})

describe('kills and revivals', () => {
  const post = (headers: Readonly<Record<string, string>> = {}) => ({ method: 'POST', headers })

  it('are carried out for the page itself', async () => {
    const { request, done } = serve()
    const own = { Origin: BASE, 'Sec-Fetch-Site': 'same-origin' }
    expect((await request('/nodes/n1/kill', post(own))).status).toBe(200)
    expect((await request('/nodes/n1/revive', post(own))).status).toBe(200)
    expect(done).toEqual(['kill n1', 'revive n1'])
  })

  it.each([
    ['another origin', { Origin: 'http://evil.example' }],
    ['another port', { Origin: 'http://127.0.0.1:80' }],
    ['no origin', { Origin: 'null' }],
    ['another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['another page of this machine', { 'Sec-Fetch-Site': 'same-site' }],
    ['another host name', { Host: 'evil.example' }],
  ])('are refused for %s', async (_, headers) => {
    const { request, done } = serve()
    expect((await request('/nodes/n1/kill', post(headers as Record<string, string>))).status).toBe(403)
    expect(done).toEqual([])
  })

  it('need a POST', async () => {
    const { request, done } = serve()
    expect((await request('/nodes/n1/kill')).status).toBe(404)
    expect(done).toEqual([])
  })

  it('explain why a node is not killed', async () => {
    const answer = await serve().request('/nodes/n9/kill', post())
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({ error: { message: 'no node is called n9' } })
  })

  it('refuse other actions', async () => {
    expect((await serve().request('/nodes/n1/paint', post())).status).toBe(404)
  })
})
