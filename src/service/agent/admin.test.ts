import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { checkAdminToken, requireReadToken } from './admin.ts'

const ADMIN = 'The admin token'
const READ = 'The read token'

const app = new Hono()
app.use(requireReadToken([READ, ADMIN]))
app.get('/v1/status', (c) => c.text('read'))
app.post('/v1/step-down', (c) => checkAdminToken(c, ADMIN) ?? c.text('ordered'))

it('accepts no request without a token, even if the token is empty', async () => {
  const open = new Hono()
  open.post('/', (c) => checkAdminToken(c, '') ?? c.text('ordered'))
  expect((await open.request('/', { method: 'POST' })).status).toBe(401)
})

it.each([
  ['GET', '/v1/status', READ],
  ['GET', '/v1/status', ADMIN],
  ['POST', '/v1/step-down', ADMIN],
])('%s %s accepts the scheme in any case, and the token only as it is', async (method, path, token) => {
  const statusWith = async (authorization: string): Promise<number> =>
    (await app.request(path, { method, headers: { authorization } })).status
  // oxlint-disable-next-line no-await-in-loop -- one request after the other
  const schemes = ['Bearer', 'bearer', 'BEARER', 'bEARER ']
  const right = await Promise.all(schemes.map((scheme) => statusWith(`${scheme} ${token}`)))
  expect(right).toEqual(schemes.map(() => 200))
  const others = [
    token,
    `Basic ${token}`,
    `Bearer${token}`,
    `Bearer ${token.toLowerCase()}`,
    'Bearer',
    'Bearer ',
  ]
  expect(await Promise.all(others.map(statusWith))).toEqual(others.map(() => 401))
})
