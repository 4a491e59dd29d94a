/** Programs that bundle the library: they work, or the build says what to do. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type BuildFailure, type BuildOptions, build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../../../..')
const FORMATS = ['esm', 'cjs'] as const
type Format = (typeof FORMATS)[number]

const PROGRAM = `
import { join } from 'conclave'
async function main() {
  const [isolation] = process.argv.slice(2)
  const key = new Uint8Array(32).fill(7)
  const node = await join({ group: 'g', id: 'a', key, listen: '127.0.0.1:0', peers: [], isolation })
  await node.lead(async () => console.log('leads'), { once: true })
  await node.close()
}
main().catch((error) => console.log(error.message))
`

const CLIENT = `
import { getStatus } from 'conclave/client'
import { testkit } from 'conclave/testkit'
async function main() {
  const kit = testkit({ nodes: ['a'] })
  const node = await kit.join('a')
  void node.lead(async () => console.log(typeof getStatus, 'leads'), { once: true })
  await kit.advance(1000)
}
main()
`

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-bundle-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/conclave'))
  writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  writeFileSync(join(folder, 'client.mjs'), CLIENT)
  // A program may have its own worker beside its bundle: the library must not start it.
  for (const name of ['worker.js', 'worker.mjs', 'worker.cjs'])
    writeFileSync(join(folder, name), "process.stdout.write('a foreign worker was started\\n')")
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function bundled(format: Format, more: BuildOptions = {}, source = 'program'): Promise<string> {
  const outfile = join(folder, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`)
  await build({
    absWorkingDir: folder,
    entryPoints: [`${source}.mjs`],
    bundle: true,
    platform: 'node',
    format,
    outfile,
    logLevel: 'silent',
    ...more,
  })
  return outfile
}

function run(file: string, ...words: readonly string[]): Promise<string> {
  return new Promise((done) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...words], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (data: Buffer) => (out += data.toString()))
    child.once('close', () => done(out))
  })
}

describe.each(FORMATS)('esbuild, %s', (format) => {
  it('refuses to bundle the library, and says what to do', async () => {
    const failure = await bundled(format).then(
      () => null,
      (error: BuildFailure) => error,
    )
    expect(failure?.errors.map(({ text }) => text).join()).toContain('use --external:conclave')
  })

  it('works with the library outside the bundle, and the election in a worker', async () => {
    const file = await bundled(format, { external: ['conclave'] })
    expect(await run(file, 'worker')).toBe('leads\n')
  }, 60_000)

  it('where bundling is forced, starts no foreign worker, and can run in the same thread', async () => {
    const file = await bundled(format, { conditions: ['node'] })
    expect(await run(file, 'worker')).toContain('isolation: the election cannot run in a worker')
    expect(await run(file, 'thread')).toBe('leads\n')
  }, 60_000)

  it('bundles the client and the testkit', async () => {
    const file = await bundled(format, {}, 'client')
    expect(await run(file)).toBe('function leads\n')
  }, 60_000)
})
