/** Serves the page of the demonstration on loopback. Requests that change something must come from the page itself. */
import { readFile } from 'node:fs/promises'
import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { errorResponse } from '../agent/admin.ts'
import { refuseOtherHosts } from '../agent/hosts.ts'
import { type HttpServer, listen } from '../agent/listen.ts'
import { DemoRefusedError, type FractalDemo } from './demo.ts'
import { ICON, PAGE, PAGE_POLICY } from './page/html.ts'
import { STYLE } from './page/style.ts'
import { encodePng } from './picture/png.ts'
import { STEP_NAMES } from './state.ts'

/** The sources are not run as they are: their tests use the compiled script. */
const SCRIPT = new URL('../../../dist/service/demo/page/client.js', import.meta.url)
/** Between two states that are sent. */
const INTERVAL_MS = 150
/** Limit of pages that are open at the same time. */
const MAX_STREAMS = 32

export type ServedDemo = Pick<FractalDemo, 'state' | 'onChange' | 'kill' | 'revive' | 'observed'>

export async function serveDemo(demo: ServedDemo, port: number, closing: AbortSignal): Promise<HttpServer> {
  const app = createDemoApp(demo, closing)
  return listen(app.fetch, { host: '127.0.0.1', port })
}

export function createDemoApp(demo: ServedDemo, closing: AbortSignal): Hono {
  const app = new Hono()
  app.use(async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
    c.header('Referrer-Policy', 'no-referrer')
    c.header('Content-Security-Policy', PAGE_POLICY)
  })
  app.use(refuseOtherHosts([]))
  addPage(app)
  addPicture(app, demo)
  addEvents(app, demo, closing)
  addFaults(app, demo)
  app.notFound((c) => errorResponse(c, 404, 'NotFound', `unknown path: ${c.req.method} ${c.req.path}`))
  app.onError((error, c) => errorResponse(c, 500, error.name, error.message))
  return app
}

function addPage(app: Hono): void {
  const give = (type: string, text: string) => (c: Context) => c.body(text, 200, { 'Content-Type': type })
  app.get('/', give('text/html; charset=utf-8', PAGE))
  app.get('/page.css', give('text/css; charset=utf-8', STYLE))
  app.get('/icon.svg', give('image/svg+xml', ICON))
  app.get('/page.js', async (c) =>
    c.body(await readFile(SCRIPT, 'utf8'), 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  )
}

function addPicture(app: Hono, { observed }: ServedDemo): void {
  app.get('/picture.png', (c) => {
    const { picture, pixels } = observed.canvas
    const png = encodePng(picture.width, picture.height, pixels)
    return c.body(new Uint8Array(png), 200, { 'Content-Type': 'image/png' })
  })
  app.get('/tiles/:name', (c) => {
    const tile = observed.tiles.find(({ name }) => name === c.req.param('name'))
    if (tile === undefined) return errorResponse(c, 404, 'UnknownTile', 'no tile has this name', 'name')
    const asked = c.req.query('from') ?? '0'
    const rows = observed.rowsOf(tile.name)
    const from = /^\d{1,9}$/.test(asked) ? Math.min(Number(asked), rows) : -1
    if (from < 0) return errorResponse(c, 400, 'InvalidRow', 'from: must be the number of a row', 'from')
    const bytes = observed.canvas.readRows(tile, from, rows - from)
    return c.body(new Uint8Array(bytes), 200, { 'Content-Type': 'application/octet-stream' })
  })
}

function addEvents(app: Hono, demo: ServedDemo, closing: AbortSignal): void {
  let streams = 0
  app.get('/state', (c) => c.json(demo.state()))
  app.get('/events', (c) => {
    if (streams >= MAX_STREAMS)
      return errorResponse(c, 503, 'TooManyWatchers', `limit of ${MAX_STREAMS} pages reached: close one`)
    streams += 1
    return streamSSE(c, async (stream) => {
      try {
        while (!stream.aborted && !closing.aborted) {
          const data = JSON.stringify({ state: demo.state(), steps: STEP_NAMES })
          // oxlint-disable-next-line no-await-in-loop -- backpressure: wait for the page to read
          await stream.writeSSE({ data })
          // oxlint-disable-next-line no-await-in-loop -- as above
          await stream.sleep(INTERVAL_MS)
        }
      } finally {
        streams -= 1
      }
    })
  })
}

function addFaults(app: Hono, demo: ServedDemo): void {
  app.use('/nodes/*', async (c, next) => {
    // Browsers name the origin of every POST. refuseOtherHosts has refused the origins of other pages.
    const site = c.req.header('Sec-Fetch-Site')
    if (site !== undefined && site !== 'same-origin')
      return errorResponse(c, 403, 'ForeignOrigin', 'requests of other pages are refused', 'Sec-Fetch-Site')
    return next()
  })
  app.post('/nodes/:id/:what', async (c) => {
    const { id, what } = c.req.param()
    try {
      if (what === 'kill') await demo.kill(id)
      else if (what === 'revive') demo.revive(id)
      else return errorResponse(c, 404, 'NotFound', `unknown action: ${what}; use kill or revive`)
    } catch (error) {
      if (!(error instanceof DemoRefusedError)) throw error
      return errorResponse(c, 409, 'Refused', error.message)
    }
    return c.json({ id, what })
  })
}
