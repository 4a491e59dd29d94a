/** What "Share" copies works elsewhere: the command and the test run, and the scenario gives the same trace. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { testStore } from '../../../web/playground/src/model/fixture.ts'
import type { Store } from '../../../web/playground/src/model/types.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Inside of the package, so that its tests find it by name. */
const folder = mkdtempSync(join(root, 'dist/copies-'))
afterAll(() => rmSync(folder, { recursive: true }))

function run(
  command: string,
  args: readonly string[],
): { readonly code: number | null; readonly text: string } {
  const environment = { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` }
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  })
  return { code: status, text: stdout + stderr }
}

async function suspended(): Promise<Store> {
  const store = testStore()
  await store.openProtocol('local-leader-suspend')
  store.seek(500_000)
  await store.act({ suspend: 1, forMs: 400 })
  return store
}

async function ballot(): Promise<Store> {
  const store = testStore()
  const read = (name: string): string => readFileSync(join(root, 'examples/own-protocol', name), 'utf8')
  const text = read('ballot.mjs')
    .replace(/^import \{ oneWinner \}.*$/m, '')
    .replace(/^export const specs.*$/m, '')
  writeFileSync(join(folder, 'ballot.mjs'), text)
  await store.openModule({ name: 'ballot.mjs', text })
  return store
}

describe.each([
  ['a protocol of the package', suspended, 6],
  ['a protocol of the user', ballot, 0],
])('a run of %s', (_, open, code) => {
  it('copied as a command runs in a shell', async () => {
    const store = await open()
    expect(store.get().problems).toEqual([])
    const { code: ended, text } = run('bash', ['-c', await store.copy('command')])
    expect([ended, text]).toEqual([code, expect.stringContaining('seed 1')])
  })

  it('copied as a test passes', async () => {
    const store = await open()
    writeFileSync(join(folder, 'copied.test.mjs'), await store.copy('test'))
    const { code: ended, text } = run(process.execPath, ['--test', 'copied.test.mjs'])
    expect([ended, text]).toEqual([0, expect.stringContaining('pass 1')])
  })

  it('copied as a scenario gives the same trace', async () => {
    const store = await open()
    writeFileSync(join(folder, 'copied.json'), await store.copy('scenario'))
    const load = store.get().module === null ? [] : ['--load', 'ballot.mjs']
    run('conclave', ['sim', 'copied.json', '--trace', 'copied.ndjson', ...load])
    expect(readFileSync(join(folder, 'copied.ndjson'), 'utf8')).toBe(await store.copy('trace'))
  })
})
