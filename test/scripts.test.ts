/** Benchmarks and scripts are no part of the build, so the compiler does not see what they import from it. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const IMPORT = /^import \{([^}]*)\} from '(\.[^']*\/dist\/[^']*)'/gm

type Import = { readonly from: string; readonly names: readonly string[] }

function importsIn(file: string): readonly Import[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, list = '', path = '']) => ({
    from: resolve(dirname(file), path),
    names: list
      .split(',')
      .map((each) => each.trim().replace(/ as .*/, ''))
      .filter((name) => name !== ''),
  }))
}

/** Node.js links the imports before it runs anything, and names what is missing. */
function link(imports: readonly Import[]): string {
  const lines = imports.map(
    ({ from, names }, index) =>
      `import { ${names.map((name) => `${name} as ${name}_${index}`).join(', ')} } from ${JSON.stringify(from)}`,
  )
  return spawnSync(process.execPath, ['--input-type=module'], { input: lines.join('\n'), encoding: 'utf8' })
    .stderr
}

it('benchmarks and scripts import only what the build exports', () => {
  const files = ['bench', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.mjs'))
      .map((file) => join(root, folder, file)),
  )
  const imports = files.flatMap(importsIn)
  expect(imports.length).toBeGreaterThan(20)
  expect(link(imports)).toBe('')
  const [first] = imports
  expect(link([{ from: first?.from ?? '', names: ['neverExported'] }])).toContain('neverExported')
})
