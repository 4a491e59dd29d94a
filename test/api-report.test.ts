import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname

it('api/*.txt shows the public surface of every door as it is', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/api-report.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})

it('every door of the package has a report with at least one name', () => {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
    readonly exports: { readonly [door: string]: unknown }
  }
  const reports = readdirSync(`${ROOT}api`)
  expect(reports).toHaveLength(Object.keys(exports).filter((door) => door !== './package.json').length)
  for (const name of reports) expect(readFileSync(`${ROOT}api/${name}`, 'utf8')).toMatch(/^\/\/ \w+$/m)
})

it('the main entry exposes join and its errors at run time, and no internals', async () => {
  const names = Object.keys(await import('conclave'))
  expect(names.filter((name) => !name.endsWith('Error'))).toEqual(['join', 'loadProtocol'])
})

it('bin/bundle.js lists the same values for bundlers', async () => {
  const [, list = ''] = /^export \{([^}]*)\} from/m.exec(readFileSync(`${ROOT}bin/bundle.js`, 'utf8')) ?? []
  const listed = list.split(',').map((name) => name.trim())
  const names = Object.keys(await import('conclave'))
  expect(listed.filter((name) => name !== '').toSorted()).toEqual(names.toSorted())
})
