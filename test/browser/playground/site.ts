/** The built playground on a plain file server, as any site would serve it. */
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import type { Page } from 'playwright-core'
import type { Store } from '../../../web/playground/src/model/types.ts'
import type { TestBrowser, View } from '../browser.ts'

const ROOT = new URL('../../../dist/playground/', import.meta.url)
const TYPES: { readonly [extension: string]: string } = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

export type Site = { readonly url: string; close(): Promise<void> }

export async function startSite(): Promise<Site> {
  const server: Server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = pathname === '/' ? 'index.html' : pathname.slice(1)
    readFile(new URL(name, ROOT)).then(
      (body) => {
        response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream' })
        response.end(body)
      },
      () => {
        response.writeHead(404)
        response.end()
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Scripts of the tests reach the store of the page under this name. */
declare global {
  var playground: Store
}

/** Opens the playground in a fresh profile, and waits for its first picture. */
export async function openPlayground(
  browser: TestBrowser,
  site: Site,
  { hash = '', ...view }: View & { readonly hash?: string } = {},
): Promise<Page> {
  const page = await browser.open(`${site.url}${hash}`, view)
  await page.waitForFunction(() => (globalThis.playground?.get().picture ?? null) !== null)
  return page
}

/** Opens a scenario, and waits until it has run. */
export async function openScenario(page: Page, scenario: object, atMs = 0): Promise<void> {
  await page.evaluate(
    async ([given, at]) => {
      await playground.open(given as never)
      const { problems } = playground.get()
      if (problems.length > 0) throw new Error(JSON.stringify(problems))
      playground.seek(at)
    },
    [scenario, atMs * 1000] as const,
  )
}

/** The events that were made by hand, in the order of time. */
export function eventsMade(page: Page): Promise<readonly { readonly [field: string]: unknown }[]> {
  return page.evaluate(() => {
    const { branches, branch } = playground.get()
    return [...(branches.find(({ id }) => id === branch)?.made ?? [])]
  })
}
