// Bundles the modules of the package into few files: hundreds of small ones take a quarter of a second to load, in every
// process and again in the thread of its elections. Dependencies stay outside, and so does everything that a program names
// by its file. `npm run build` calls it.
import { readFileSync, rmSync } from 'node:fs'
import { join, posix, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES = join(ROOT, 'src')
const OUTPUT = join(ROOT, 'dist/bundle')

/** The scripts of threads and processes. */
const SCRIPTS = [
  'cli/parallel/campaign-worker',
  'cli/parallel/trials-worker',
  'service/chaos/flood',
  'service/demo/node-process',
  'service/demo/reference-worker',
  'service/demo/tile-job',
  'service/node/election/worker',
  'service/recovery/jobs/module-worker',
  'service/supervise/guardian',
]

/** What package.json exports, without the folder and the extension. */
function exported() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return Object.values(exports).flatMap(({ types }) => types?.match(/^\.\/dist\/(.*)\.d\.ts$/)?.[1] ?? [])
}

const ENTRIES = ['cli/small-heap', 'cli/main', ...SCRIPTS, ...exported()]

/**
 * A module finds other files of the package from its own URL. In the bundle it gets the URL of its compiled file; the URL
 * of a script leads to that script in the bundle. A bundle of this bundle has no URLs, or others: then it finds nothing.
 */
const ownUrls = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url')) return null
      const module = relative(SOURCES, path).split(sep).join('/').replace(/\.ts$/, '')
      const contents = text
        .replaceAll(/new URL\('([^']+)', import\.meta\.url\)/g, (_, file) => {
          const found = posix.relative('dist', posix.join('dist', posix.dirname(module), file))
          const target = file.endsWith('/') ? `${found}/` : found
          const script = SCRIPTS.includes(target.replace(/\.js$/, '')) ? 'bundle/' : ''
          return `new URL('${script}${target}', ${FOLDER})`
        })
        .replaceAll(
          /import\.meta\.url(?!\.replace)/g,
          `(import.meta.url && new URL('${module}.js', ${FOLDER}).href)`,
        )
      return { contents, loader: 'ts' }
    })
  },
}
/** The folder dist/, in the code of the bundle. */
const FOLDER = String.raw`import.meta.url.replace(/\/bundle\/.*/, '/')`

rmSync(OUTPUT, { recursive: true, force: true })
await build({
  entryPoints: [...new Set(ENTRIES)].map((entry) => ({ in: join(SOURCES, `${entry}.ts`), out: entry })),
  outdir: OUTPUT,
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [ownUrls],
})
