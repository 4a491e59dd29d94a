// The text of docs/reference/api.md, from the compiled type declarations of the package's entry points: every public
// name with its signature and comment. Written by scripts/reference.mjs.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Entry points for applications, in the order of the page. The others are for the workbench: only names are listed. */
const FOR_APPLICATIONS = /^\.$|^\.\/(?:testkit|client|fencing|registers)/

/** Top-level statements of a declaration file: text, comment and name. tsc starts each in the first column. */
function statementsOf(file) {
  const statements = []
  let comment = ''
  let current = null
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.startsWith('/**')) comment = ''
    const isComment = /^(?:\/\*\*| \*)/.test(line)
    if (isComment) {
      comment += `${line}\n`
      current = null
    } else if (/^(?:export|declare|import|type|interface)\b/.test(line)) {
      current = { comment, lines: [line] }
      statements.push(current)
      comment = ''
    } else current?.lines.push(line)
  }
  return statements.map(({ comment: about, lines }) => ({
    comment: proseOf(about),
    text: lines.join('\n').trimEnd(),
  }))
}

/** The words of a comment without its stars. */
function proseOf(comment) {
  return comment
    .replaceAll(/^\s*\/\*\*|\*\/\s*$/gm, '')
    .replaceAll(/^\s*\* ?/gm, '')
    .trim()
}

const NAMED = /^export (?:declare )?(?:abstract )?(?:type|class|function|const|interface|enum) (\w+)/

/** Every name that a file exports, with the statement that declares it. */
export function exportsOf(file, seen = new Set()) {
  const found = new Map()
  if (seen.has(file)) return found
  seen.add(file)
  const at = (specifier) => resolve(dirname(file), specifier.replace(/\.(?:ts|js)$/, '.d.ts'))
  const statements = statementsOf(file)
  for (const statement of statements) {
    const { text } = statement
    const name = NAMED.exec(text)?.[1]
    const from = /^export (?:type )?(?:\*|\{(?<names>[^}]*)\}) from '(?<file>\.[^']+)'/s.exec(text)?.groups
    const own = /^export (?:type )?\{(?<names>[^}]*)\};?$/s.exec(text)?.groups
    // Overloads of a function are one entry.
    if (name !== undefined) found.set(name, merged(found.get(name), statement))
    else if (from?.names === undefined && from !== undefined)
      for (const [inner, declared] of exportsOf(at(from.file), seen)) found.set(inner, declared)
    else if (from !== undefined) {
      const inner = exportsOf(at(from.file), new Set())
      for (const [as, original] of namesIn(from.names))
        if (inner.has(original)) found.set(as, inner.get(original))
    } else if (own !== undefined) {
      for (const [as, original] of namesIn(own.names)) {
        const declared = statements.find(({ text: other }) =>
          new RegExp(`^declare .*\\b${original}\\b`).test(other),
        )
        if (declared !== undefined) found.set(as, declared)
      }
    }
  }
  return found
}

function merged(before, statement) {
  if (before === undefined) return statement
  return { comment: before.comment || statement.comment, text: `${before.text}\n${statement.text}` }
}

function namesIn(list) {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [original, as = original] = part.split(' as ')
      return [as, original]
    })
}

/** A declaration as a reader wants it: no private parts, no export keywords. */
export function signatureOf(text) {
  return text
    .replaceAll(/^export (?:declare )?/gm, '')
    .replaceAll(/^declare /gm, '')
    .replaceAll(/^\s*(?:#private;|private [^\n]*;)\n/gm, '')
    .replaceAll(/^ {4}/gm, '  ')
    .replaceAll(/;$/gm, '')
}

function entryText([name, { comment, text }]) {
  const prose = comment === '' ? '' : `${comment}\n\n`
  return `### ${name}\n\n${prose}\`\`\`ts\n${signatureOf(text)}\n\`\`\``
}

/** The page between its marks. */
export function apiReferenceText() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const doors = Object.entries(exports).flatMap(([door, { types }]) =>
    types === undefined ? [] : [{ door, names: exportsOf(join(ROOT, types)) }],
  )
  const called = (door) => `conclave${door.slice(1)}`
  const forApplications = doors.filter(({ door }) => FOR_APPLICATIONS.test(door))
  const forWorkbench = doors.filter(({ door }) => !FOR_APPLICATIONS.test(door))
  const sections = forApplications.map(({ door, names }) => {
    const entries = [...names].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return `## ${called(door)}\n\n${entries.map(entryText).join('\n\n')}`
  })
  const lists = forWorkbench.map(({ door, names }) => {
    const sorted = [...names.keys()].toSorted((a, b) => (a < b ? -1 : 1))
    return `**${called(door)}**: ${sorted.map((name) => `\`${name}\``).join(', ')}`
  })
  const workbench = `## Workbench entry points\n\nThese are unstable until 1.0. Their names:\n\n${lists.join('\n\n')}`
  return [...sections, workbench].join('\n\n')
}
