// Writes the table of allowed imports into .oxlintrc.json. Run it after changing the table: node scripts/lint-rooms.mjs
import { readFileSync, writeFileSync } from 'node:fs'

/** Which rooms a room may import from. Imports go downwards only; specifications never see protocols. */
const ROOMS = {
  core: [],
  links: ['core'],
  protocols: ['core', 'links'],
  trace: ['core'],
  specs: ['core', 'trace'],
  sim: ['core', 'trace', 'specs'],
  explore: ['core', 'trace', 'specs', 'sim'],
  registers: ['core'],
  fencing: [],
  runtime: ['core', 'links', 'protocols', 'trace', 'registers'],
  member: ['core', 'links', 'protocols', 'trace', 'registers', 'fencing', 'runtime'],
  testkit: ['core', 'protocols', 'trace', 'specs', 'sim', 'member'],
  client: [],
  chaos: [],
  agent: ['core', 'protocols', 'registers', 'fencing', 'runtime', 'member', 'client'],
  cli: [
    'registers',
    'fencing',
    'runtime',
    'member',
    'testkit',
    'agent',
    'client',
    'chaos',
    'core',
    'links',
    'protocols',
    'trace',
    'specs',
    'sim',
    'explore',
  ],
}
const PURE = ['core', 'links', 'protocols', 'trace', 'specs', 'sim', 'explore']

const file = new URL('../.oxlintrc.json', import.meta.url)
const config = JSON.parse(readFileSync(file, 'utf8'))
config.overrides = Object.entries(ROOMS).map(([room, allowed]) => {
  const forbidden = Object.keys(ROOMS).filter((other) => other !== room && !allowed.includes(other))
  const patterns = [
    ...(forbidden.length === 0
      ? []
      : [
          {
            group: forbidden.map((other) => `**/${other}/**`),
            message: `${room} may not import from there: see scripts/lint-rooms.mjs`,
          },
        ]),
    ...(PURE.includes(room) ? [{ group: ['node:*'], message: `${room} is a pure room` }] : []),
  ]
  const pure = PURE.includes(room)
  return {
    files: [`src/${room}/**/*.ts`],
    excludeFiles: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': patterns.length === 0 ? 'off' : ['error', { patterns }],
      ...(pure
        ? {
            'no-restricted-globals': ['error', 'Date', 'Promise', 'setTimeout', 'process', 'performance'],
            'no-restricted-properties': ['error', { object: 'Math', property: 'random' }],
          }
        : {}),
    },
  }
})
writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`)
