import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import LongestFirst from './test/support/longest-first.ts'

/** Virtual time, or plain commands: nothing here depends on how busy the machine is, nor on modules of its own. */
const PURE = [
  'src/{core,links,recovery,workbench}/**/*.test.ts',
  // endpoints.test.ts has real endpoints.
  'src/protocols/**/!(endpoints).test.ts',
  'src/service/testkit/**/*.test.ts',
  'web/src/**/*.test.ts',
  'web/playground/src/**/*.test.ts',
  'src/cli/{bad-input,commands,draw,fetch,input-files,load,main,node-flags,output,progress,qos-text,values}.test.ts',
  'src/cli/{ask,doctor,explore,plan,replay,sim}/**/*.test.ts',
  'src/cli/{run/{program,term},up/{agents,commands,screen,text}}.test.ts',
  'test/{canaries,docs,docs-links,house,reference,shape}.test.ts',
]

/** The build is loaded by Node.js itself: test/support/cli.ts runs its command line, which starts threads. */
const NATIVE = { deps: { external: [/\/dist\//] } }

/** Files that replace a module, or load a protocol of their own: the others must not see it. */
const ALONE = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => /vi\.mock\(|(?:add|load)Protocols?\(|--load\b/.test(readFileSync(file, 'utf8')))

const COMMON = {
  server: NATIVE,
  setupFiles: ['./test/support/clean-up.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
}

/** Pure tests may have to wait: `npm test` gives them a lower priority (scripts/test.mjs). */
const PATIENT = { testTimeout: 300_000 }

/** A machine that stalls for longer than a lease ends a term. The last lines of a run name the tests it repeated. */
const REPEATED = { retry: 1 }

/** Files share the modules of their worker: loading them for each file takes minutes of CPU time. */
const SHARED = { ...COMMON, isolate: false }

export default defineConfig({
  test: {
    // Tests of real processes mostly wait, and hold on a busy machine: more workers than cores.
    maxWorkers: 5,
    reporters: ['default', './scripts/tally.mjs'],
    sequence: { sequencer: LongestFirst },
    coverage: { include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts'] },
    projects: [
      { test: { ...SHARED, ...PATIENT, name: 'pure', include: PURE, exclude: ALONE } },
      { test: { ...COMMON, ...PATIENT, ...REPEATED, name: 'alone', include: ALONE } },
      {
        test: {
          ...SHARED,
          name: 'real',
          ...REPEATED,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...PURE, ...ALONE, '**/node_modules/**'],
          globalSetup: ['./test/support/servers-setup.ts'],
        },
      },
    ],
  },
})
