/** Builds the live page into dist/web, from where every agent serves it. */
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vite'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

export default defineConfig({
  root: import.meta.dirname,
  // The page may be behind a proxy that serves it under a path of its own.
  base: './',
  define: { PAGE_VERSION: JSON.stringify(version) },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: ['es2022', 'chrome123', 'firefox128', 'safari17.5'],
    // The content security policy allows no data: scripts and no inline code.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // One file: if the agent stops while the page is loaded, the page has all of its style or none.
    cssCodeSplit: false,
  },
})
