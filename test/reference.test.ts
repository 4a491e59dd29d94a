import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ROUTES } from '../src/agent/openapi.ts'

const ROOT = new URL('..', import.meta.url).pathname

it('what docs/ says of configuration and HTTP is what the schemas say', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/reference.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  const page = readFileSync(`${ROOT}docs/http.md`, 'utf8')
  for (const { method, path } of ROUTES) expect(page).toContain(`\`${method.toUpperCase()} ${path}\``)
})
