import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { agentCommand } from '../src/cli/agent.ts'
import { readConfig } from '../src/cli/node-flags.ts'
import { ROUTES } from '../src/service/agent/openapi.ts'

const ROOT = new URL('..', import.meta.url).pathname

it('the reference of configuration and HTTP matches the schemas', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/reference.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  const page = readFileSync(`${ROOT}docs/reference/http.md`, 'utf8')
  for (const { method, path } of ROUTES) expect(page).toContain(`\`${method.toUpperCase()} ${path}\``)
})

/** Flags and variables in the table of docs/reference/configuration.md. */
function documented(pattern: RegExp): readonly string[] {
  const page = readFileSync(new URL('../docs/reference/configuration.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `\w+` +\| `--/.test(line))
  return rows.map((row) => pattern.exec(row)?.[1] ?? '')
}

it('docs/reference/configuration.md lists exactly the flags of conclave agent', () => {
  const flags = agentCommand().options.map(({ long }) => long ?? '')
  const others = ['--config', '--check', '--json', '--load']
  expect(documented(/`(--[a-z-]+)`/).toSorted()).toEqual(
    flags.filter((flag) => !others.includes(flag)).toSorted(),
  )
})

it('every variable of docs/reference/configuration.md is read', () => {
  const read = new Set<PropertyKey>()
  const env = new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void read.add(name) })
  expect(() => readConfig({ peer: [], keyFile: [], option: [] }, env)).toThrow('is missing')
  const variables = documented(/`(CONCLAVE_[A-Z_]+)`/)
  expect(variables.length).toBeGreaterThan(10)
  expect(variables.filter((name) => !read.has(name))).toEqual([])
})

it.each(['failover', 'graphs'])(
  'scripts/%s.mjs, which measures for a document, runs',
  (name) => {
    const { status, stderr } = spawnSync(process.execPath, [`scripts/${name}.mjs`, '--try'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    expect([status, stderr.replaceAll(/^runs: .*\n/gm, '')]).toEqual([0, ''])
  },
  60_000,
)

it('the architecture picture matches its script', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/architecture.mjs', '--check'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})
