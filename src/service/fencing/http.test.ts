import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { comeback } from '../../../test/support/old-leader.ts'
import { pending } from '../../../test/support/wait.ts'
import { fenced as honoFenced } from './hono.ts'
import { fenced, type GateOptions, tokenHeaders, tokensInFile } from './http.ts'

type Service = { readonly url: string; readonly done: string[] }

/** Notes what it was asked to do, when it has done it. */
async function nodeService(
  options: GateOptions,
  before: (token: string) => Promise<void> = async () => {},
): Promise<Service> {
  const done: string[] = []
  const listener: RequestListener = (request, response) => {
    const token = String(request.headers['conclave-token'] ?? 'none')
    void before(token).then(() => {
      done.push(token)
      response.end('ok')
    })
  }
  const server = createServer(fenced(listener, options))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, done }
}

async function honoService(
  options: GateOptions,
  before: (token: string) => Promise<void> = async () => {},
): Promise<Service> {
  const done: string[] = []
  const app = new Hono()
  app.use(honoFenced(options))
  app.all('/', async (context) => {
    const token = context.req.header('conclave-token') ?? 'none'
    await before(token)
    done.push(token)
    return context.text('ok')
  })
  const { promise, resolve } = pending<number>()
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${await promise}`, done }
}

type GateReply = { readonly status: number; readonly current?: number | null; readonly header: string | null }

async function post(url: string, token: string | null): Promise<GateReply> {
  const headers: { [name: string]: string } = token === null ? {} : { 'conclave-token': token }
  const answer = await fetch(url, { method: 'POST', headers })
  const header = answer.headers.get('conclave-token')
  if (answer.ok) return { status: answer.status, header }
  const { current } = (await answer.json()) as { current: number | null }
  return { status: answer.status, current, header }
}

describe.each([
  ['node:http', nodeService],
  ['hono', honoService],
])('fencing for %s', (_, service) => {
  it('refuses a leader that was paused', async () => {
    const { url, done } = await service({ resource: 'billing' })
    const { code, said } = await comeback('http', url, 5, async () => {
      expect(await post(url, '6')).toMatchObject({ status: 200 })
    })
    expect({ code, said: JSON.parse(said) as unknown }).toEqual({
      code: 5,
      said: { refused: 'StaleTokenError', current: 6 },
    })
    // What was under way when it was stopped came before.
    expect(done.at(-1)).toBe('6')
  })

  it('returns 409 with the current token, 428 without a token, and passes safe methods on', async () => {
    const { url, done } = await service({ resource: 'billing' })
    expect(await post(url, '7')).toEqual({ status: 200, header: null })
    expect(await post(url, '6')).toEqual({ status: 409, current: 7, header: '7' })
    expect(await post(url, '7')).toEqual({ status: 200, header: null })
    const wrong = [null, '', '-1', 'x', '1.5', '99999999999999999999']
    for (const answer of await Promise.all(wrong.map((token) => post(url, token))))
      expect(answer).toEqual({ status: 428, current: null, header: null })
    expect((await fetch(url)).status).toBe(200)
    expect(done).toEqual(['7', '7', 'none'])
  })

  it('cannot be locked by an implausible token', async () => {
    const { url, done } = await service({ resource: 'billing' })
    expect(await post(url, '9007199254740991')).toEqual({ status: 422, current: 0, header: '0' })
    expect(await post(url, '7')).toMatchObject({ status: 200 })
    expect(await post(url, String(8 + 2 ** 40))).toEqual({ status: 422, current: 7, header: '7' })
    expect(await post(url, '8')).toMatchObject({ status: 200 })
    expect(done).toEqual(['7', '8'])
    const strict = await service({ resource: 'billing', maxTokenGap: 10 })
    expect((await post(strict.url, '11')).status).toBe(422)
    expect((await post(strict.url, '10')).status).toBe(200)
  })

  it('admits only proven tokens with a secret, and does not remember the others', async () => {
    const secret = ['a secret of the new kind', 'a secret of the old kind']
    const { url, done } = await service({ resource: 'billing', secret })
    const send = async (headers: { readonly [name: string]: string }): Promise<number> =>
      (await fetch(url, { method: 'POST', headers })).status
    const fence = { resource: 'billing', token: 5 }
    expect(await send({ 'conclave-token': '1000' })).toBe(401)
    expect(await send({ 'conclave-token': '1000', 'conclave-token-proof': 'x'.repeat(64) })).toBe(401)
    expect(await send(tokenHeaders({ ...fence, token: 1000 }, 'a secret of somebody else'))).toBe(401)
    expect(await send(tokenHeaders({ resource: 'another', token: 1000 }, secret[0]))).toBe(401)
    // The proof of one token proves no other.
    expect(await send({ ...tokenHeaders(fence, secret[0]), 'conclave-token': '1000' })).toBe(401)
    expect(await send(tokenHeaders(fence, secret[0]))).toBe(200)
    expect(await send(tokenHeaders({ ...fence, token: 6 }, secret[1]))).toBe(200)
    expect(await send(tokenHeaders(fence, secret[0]))).toBe(409)
    expect((await fetch(url)).status).toBe(200)
    expect(done).toEqual(['5', '6', 'none'])
  })

  it('makes a newer leader wait for the requests of an older one', async () => {
    const { promise: mayEnd, resolve: end } = pending()
    const { promise: isInside, resolve: inside } = pending()
    const { url, done } = await service({ resource: 'billing' }, async (token) => {
      if (token !== '1') return
      inside()
      await mayEnd
    })
    const old = post(url, '1')
    await isInside
    const young = post(url, '2')
    // From the moment that the newer one is known, no more of the older.
    await expect.poll(async () => (await post(url, '1')).status).toBe(409)
    expect(done).toEqual([])
    end()
    expect([(await old).status, (await young).status]).toEqual([200, 200])
    expect(done).toEqual(['1', '2'])
  })

  it('asks a newer leader to retry if that takes too long', async () => {
    const { promise: mayEnd, resolve: end } = pending()
    const { promise: isInside, resolve: inside } = pending()
    const { url } = await service({ resource: 'billing', drainMs: 50 }, async (token) => {
      if (token !== '1') return
      inside()
      await mayEnd
    })
    const old = post(url, '1')
    await isInside
    expect(await post(url, '2')).toEqual({ status: 503, current: 2, header: '2' })
    end()
    await old
    expect(await post(url, '2')).toMatchObject({ status: 200 })
  })
})

it.each([
  [{ secret: 'short' }, 'secret: must be a string of at least 16 characters'],
  [{ secret: [] }, 'secret: must not be an empty list'],
  [{ maxTokenGap: Number.NaN }, 'maxTokenGap: must be a whole number from 1, not NaN'],
])('refuses a receiver with %j', (options, message) => {
  expect(() => fenced(() => {}, { resource: 'billing', ...options })).toThrow(message)
})

describe('tokensInFile', () => {
  const folder = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'conclave-tokens-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    return path
  }

  it('survives a restart', async () => {
    const path = join(folder(), 'tokens.json')
    const first = await nodeService({ resource: 'billing', memory: await tokensInFile(path) })
    expect(await post(first.url, '9')).toMatchObject({ status: 200 })
    // Under another name, as this process remembers what is in the first.
    const copy = `${path}.copy`
    copyFileSync(path, copy)
    const second = await nodeService({ resource: 'billing', memory: await tokensInFile(copy) })
    expect(await post(second.url, '8')).toEqual({ status: 409, current: 9, header: '9' })
    const other = await nodeService({ resource: 'another', memory: await tokensInFile(copy) })
    expect(await post(other.url, '1')).toMatchObject({ status: 200 })
  })

  it('keeps the tokens of several resources in one file', async () => {
    const path = join(folder(), 'tokens.json')
    const memories = await Promise.all(['a', 'b', 'c'].map(() => tokensInFile(path)))
    await Promise.all(memories.map((memory, index) => memory.raise(`resource ${index}`, 5 + index)))
    // What a restarted process would read.
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      'resource 0': 5,
      'resource 1': 6,
      'resource 2': 7,
    })
    // All memories of one file share the tokens.
    await memories[0]?.raise('resource 1', 9)
    expect(await memories[1]?.raise('resource 1', 8)).toBe(9)
  })

  it('refuses a damaged file, and admits no request if the file cannot be written', async () => {
    const path = folder()
    writeFileSync(join(path, 'damaged'), '{')
    await expect(tokensInFile(join(path, 'damaged'))).rejects.toThrow('is not a token file')
    const { url, done } = await nodeService({
      resource: 'b',
      memory: await tokensInFile(join(path, 'none', 'x')),
    })
    expect(await post(url, '1')).toMatchObject({ status: 503 })
    expect(done).toEqual([])
  })
})
