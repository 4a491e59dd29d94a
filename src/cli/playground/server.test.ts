import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { findFiles, fragmentOf } from '../playground.ts'
import { createPlaygroundApp } from './server.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-playground-'))
afterAll(() => rmSync(folder, { recursive: true }))
mkdirSync(join(folder, 'site', 'assets'), { recursive: true })
writeFileSync(join(folder, 'site', 'index.html'), '<!doctype html>')
writeFileSync(join(folder, 'site', 'assets', 'worker-1.js'), 'export {}')
const root = pathToFileURL(`${folder}/site/`)

function file(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('the files of conclave playground', () => {
  it('are read again at every request, so that an edited file is shown', async () => {
    const path = file('run.json', '{"seed":1}')
    const app = createPlaygroundApp(findFiles([path]), root)
    expect(await (await app.request('/file/run.json')).text()).toBe('{"seed":1}')
    writeFileSync(path, '{"seed":2}')
    expect(await (await app.request('/file/run.json')).text()).toBe('{"seed":2}')
  })

  it('are the only files that can be requested', async () => {
    const app = createPlaygroundApp(findFiles([file('run.json', '{}')]), root)
    for (const path of ['/file/other.json', '/file/..%2Frun.json', '/file/%2Fetc%2Fpasswd', '/file/']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, so that a failure names its path
      expect([path, (await app.request(path)).status]).toEqual([path, 404])
    }
  })

  it('get names of their own', () => {
    const files = findFiles([file('a/x.ndjson', ''), file('b/x.ndjson', ''), file('my run.json', '')])
    expect(files.map(({ name }) => name)).toEqual(['x.ndjson', '2-x.ndjson', 'my run.json'])
    expect(fragmentOf(files)).toBe('#file=x.ndjson/2-x.ndjson/my%20run.json')
    expect(fragmentOf([])).toBe('')
  })

  it('that disappear are named', async () => {
    const path = file('gone.json', '{}')
    const app = createPlaygroundApp(findFiles([path]), root)
    rmSync(path)
    const response = await app.request('/file/gone.json')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { message: 'gone.json: cannot be read (ENOENT)' } })
  })

  it('must exist, and be files', () => {
    expect(() => findFiles([join(folder, 'nothing')])).toThrow('nothing: no such file')
    expect(() => findFiles([folder])).toThrow('not a file')
  })
})

describe('the page of conclave playground', () => {
  const app = createPlaygroundApp([], root)

  it('may fetch from its server, and start workers', async () => {
    const policy = (await app.request('/')).headers.get('content-security-policy')
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("worker-src 'self' blob:;")
    expect(policy).toContain("connect-src 'self';")
  })

  it('has workers that run pasted modules, but send no request', async () => {
    const policy = (await app.request('/assets/worker-1.js')).headers.get('content-security-policy')
    expect(policy).toContain("script-src 'self' blob:;")
    expect(policy).toContain("connect-src 'none';")
  })

  it('is refused to pages of other origins', async () => {
    expect((await app.request('/', { headers: { host: 'evil.example' } })).status).toBe(403)
  })
})
