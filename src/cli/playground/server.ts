/** Serves the playground on loopback, with the files that were named on the command line. */
import { readFileSync } from 'node:fs'
import { type Context, Hono } from 'hono'
import { errorResponse } from '../../service/agent/admin.ts'
import { refuseOtherHosts } from '../../service/agent/hosts.ts'
import { type HttpServer, listen } from '../../service/agent/listen.ts'
import { loadPlayground } from '../../service/agent/web-page.ts'

/** A file that the page opens. `read`: its present content, so that reloading the page shows what was edited. */
export type OpenedFile = { readonly name: string; read(): string | Uint8Array<ArrayBuffer> }

export function fileAt(name: string, path: string): OpenedFile {
  return { name, read: () => new Uint8Array(readFileSync(path)) }
}

export function createPlaygroundApp(files: readonly OpenedFile[], root?: URL): Hono {
  const app = new Hono()
  const playground = loadPlayground('self', root)
  app.use(async (c, next) => {
    await next()
    if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
  })
  app.use(refuseOtherHosts([]))
  app.get('/', (c) => playground.page(c))
  app.get('/assets/:name', (c) => playground.asset(c, c.req.param('name')))
  app.get('/file/:name', (c) => sendFile(c, files))
  app.notFound((c) => errorResponse(c, 404, 'NotFound', `unknown path: ${c.req.method} ${c.req.path}`))
  app.onError((error, c) => errorResponse(c, 500, error.name, error.message))
  return app
}

/** Only files that were named: the path of a request never reaches the file system. */
function sendFile(c: Context, files: readonly OpenedFile[]): Response {
  const name = c.req.param('name')
  const file = files.find((each) => each.name === name)
  if (file === undefined) return errorResponse(c, 404, 'NotFound', `${name}: this file was not named`)
  try {
    return c.body(file.read(), 200, { 'Content-Type': 'text/plain; charset=utf-8' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return errorResponse(c, 404, 'NotFound', `${name}: cannot be read (${code})`)
  }
}

export async function servePlayground(files: readonly OpenedFile[], port: number): Promise<HttpServer> {
  return await listen(createPlaygroundApp(files).fetch, { host: '127.0.0.1', port })
}
