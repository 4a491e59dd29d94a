/** Builds the playground into dist/playground: static files that work from any file server, under any path. */
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vite'
import { leaveOut } from './leave-out.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

const TARGET = ['es2022', 'chrome123', 'firefox128', 'safari17.5']

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  define: { PAGE_VERSION: JSON.stringify(version) },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
  // The protocols run in workers, which load rarely used parts on demand.
  worker: { format: 'es', plugins: () => [leaveOut()], rolldownOptions: { output: { comments: false } } },
  build: {
    outDir: '../../dist/playground',
    emptyOutDir: true,
    target: TARGET,
    // The content security policy allows no data: scripts and no inline code.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})
