// npm run api:report: writes api/*.txt, every public name of each door of the package with its signature, from the
// compiled type declarations. A change of the public surface shows as a change of these files. With --check it only
// compares.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportsOf, signatureOf } from './api-reference.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = join(ROOT, 'api')

/** The reports by file name. */
export function apiReports() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const doors = Object.entries(exports).filter(([, { types }]) => types !== undefined)
  return Object.fromEntries(
    doors.map(([door, { types }]) => [fileFor(door), reportOf(door, join(ROOT, types))]),
  )
}

const fileFor = (door) => `${['conclave', ...door.split('/').slice(1)].join('-')}.txt`

function reportOf(door, file) {
  if (/^export (?:type )?\* from/m.test(readFileSync(file, 'utf8')))
    throw new Error(`${file}: a door lists its names; "export *" hides them`)
  const entries = [...exportsOf(file)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const texts = entries.map(([name, { text }]) => `// ${name}\n${withoutComments(signatureOf(text))}`)
  return `The public names of conclave${door.slice(1)}. Generated: npm run api:report\n\n${texts.join('\n\n')}\n`
}

/** Comments may change without a change of the surface. */
function withoutComments(text) {
  return text
    .replaceAll(/^\s*\/\*\*.*?\*\/\n/gms, '')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

function readReports() {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reports = apiReports()
  mkdirSync(FOLDER, { recursive: true })
  const before = readReports()
  const changed = [...new Set([...Object.keys(before), ...Object.keys(reports)])].filter(
    (name) => before[name] !== reports[name],
  )
  if (process.argv.includes('--check')) {
    for (const name of changed) console.error(`api/${name} is out of date: npm run api:report`)
    process.exitCode = changed.length === 0 ? 0 : 1
  } else {
    for (const name of changed) {
      if (reports[name] === undefined) rmSync(join(FOLDER, name))
      else writeFileSync(join(FOLDER, name), reports[name])
    }
  }
}
