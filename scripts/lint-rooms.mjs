// Writes the table of allowed imports into .oxlintrc.json. Run it after changing the table: node scripts/lint-rooms.mjs
import { readFileSync, writeFileSync } from 'node:fs'

/** Which rooms a room may import from. Imports go downwards only; specifications never see protocols. */
const ROOMS = {
  core: [],
  links: ['core'],
  protocols: ['core', 'links', 'recovery/manager'],
  'recovery/codes': ['core'],
  'recovery/manager': ['core'],
  'workbench/trace': ['core'],
  'workbench/specs': ['core', 'workbench/trace'],
  'workbench/scenario': ['core', 'workbench/trace', 'workbench/specs'],
  'workbench/untimed': ['core', 'workbench/trace', 'workbench/specs', 'workbench/scenario'],
  'workbench/sim': ['core', 'workbench/trace', 'workbench/specs', 'workbench/scenario', 'workbench/untimed'],
  'workbench/explore': [
    'core',
    'workbench/trace',
    'workbench/specs',
    'workbench/scenario',
    'workbench/untimed',
  ],
  'workbench/guarantees': [
    'core',
    'protocols',
    'workbench/trace',
    'workbench/specs',
    'workbench/scenario',
    'workbench/sim',
  ],
  'workbench/forensics': [
    'core',
    'links',
    'protocols',
    'workbench/trace',
    'workbench/specs',
    'workbench/scenario',
  ],
  'service/registers': ['core'],
  'service/fencing': [],
  'service/runtime': ['core', 'links', 'protocols', 'workbench/trace', 'service/registers'],
  'service/config': ['core', 'protocols', 'service/registers', 'service/fencing', 'service/runtime'],
  'service/node': [
    'core',
    'links',
    'protocols',
    'workbench/trace',
    'service/registers',
    'service/fencing',
    'service/runtime',
    'service/config',
    // Types only, of values that the library and the agent show in the same form.
    'service/client',
  ],
  'service/recovery': [
    'core',
    'links',
    'protocols',
    'recovery/codes',
    'recovery/manager',
    'workbench/trace',
    'service/registers',
    'service/fencing',
    'service/runtime',
    'service/config',
    'service/node',
  ],
  'service/testkit': [
    'core',
    'protocols',
    'workbench/trace',
    'workbench/specs',
    'workbench/sim',
    'service/config',
    'service/node',
  ],
  'service/client': [],
  'service/supervise': ['core', 'service/runtime'],
  'service/chaos': ['service/supervise'],
  'service/agent': [
    'core',
    'protocols',
    'service/registers',
    'service/fencing',
    'service/runtime',
    'service/node',
    'service/config',
    'service/client',
  ],
  'service/demo': [
    'workbench/scenario',
    'service/recovery',
    'service/supervise',
    'service/chaos',
    'service/agent',
  ],
}
ROOMS.cli = Object.keys(ROOMS)
const PURE = ['core', 'links', 'protocols', 'recovery/codes', 'recovery/manager', 'workbench/']
/** Import paths of a room whose last name is also the name of another folder. */
const PATHS = {
  'service/recovery': [
    'store/**',
    'transport/**',
    'checkpoints/**',
    'jobs/**',
    'cluster/**',
    'sink/**',
    '*.ts',
  ].map((inside) => `**/recovery/${inside}`),
}
/** Rooms of one area import each other by the last name; rooms of different areas by the whole path. */
function pathsOf(from, room) {
  const isNear = from.split('/')[0] === room.split('/')[0]
  return isNear ? (PATHS[room] ?? [`**/${room.split('/').at(-1)}/**`]) : [`**/${room}/**`]
}
const isPure = (room) => PURE.some((pure) => room.startsWith(pure))

const file = new URL('../.oxlintrc.json', import.meta.url)
const config = JSON.parse(readFileSync(file, 'utf8'))
config.overrides = Object.entries(ROOMS).map(([room, allowed]) => {
  const forbidden = Object.keys(ROOMS).filter((other) => other !== room && !allowed.includes(other))
  const patterns = [
    ...(forbidden.length === 0
      ? []
      : [
          {
            group: forbidden.flatMap((other) => pathsOf(room, other)),
            message: `${room} may not import from there: see scripts/lint-rooms.mjs`,
          },
        ]),
    ...(isPure(room) ? [{ group: ['node:*'], message: `${room} is a pure room` }] : []),
  ]
  const pure = isPure(room)
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
/** The live page runs in browsers. Of this package it imports the client only: types, and the parser of event streams. */
config.overrides.push({
  files: ['web/src/**/*.{ts,tsx}'],
  excludeFiles: ['**/*.test.ts'],
  plugins: [...config.plugins, 'jsx-a11y'],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            group: Object.keys(ROOMS)
              .filter((room) => room !== 'service/client')
              .map((room) => `**/src/${room}/**`),
            message: 'the page may import from src/service/client only: see scripts/lint-rooms.mjs',
          },
          { group: ['node:*'], message: 'the page runs in browsers' },
        ],
      },
    ],
  },
})
/** The playground's worker runs the pure rooms. Its page knows only their types, so that it stays small. */
const BROWSER_ONLY = { group: ['node:*'], message: 'the playground runs in browsers' }
const PLAYGROUND_PAGE = [
  'web/playground/src/*.tsx',
  'web/playground/src/{view,model,lessons}/**/*.{ts,tsx}',
  'web/playground/src/engine/{client,engine-error,messages,picture,seed-search,worker-link}.ts',
]
config.overrides.push(
  {
    files: ['web/playground/src/{engine,worker}/**/*.ts'],
    excludeFiles: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: Object.keys(ROOMS)
                .filter((room) => !isPure(room))
                .map((room) => `**/src/${room}/**`),
              message: 'the engine may import from pure rooms only: see scripts/lint-rooms.mjs',
            },
            BROWSER_ONLY,
          ],
        },
      ],
    },
  },
  {
    files: PLAYGROUND_PAGE,
    excludeFiles: ['**/*.test.ts'],
    plugins: [...config.plugins, 'jsx-a11y'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: Object.keys(ROOMS).map((room) => `**/src/${room}/**`),
              allowTypeImports: true,
              message: 'the page may import types only from there: see scripts/lint-rooms.mjs',
            },
            BROWSER_ONLY,
          ],
        },
      ],
    },
  },
)
// A reader follows these loops step by step; a comment at every wait would be in the way.
config.overrides.push({ files: ['examples/client/*.mjs'], rules: { 'no-await-in-loop': 'off' } })
writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`)
