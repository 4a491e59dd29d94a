/**
 * Leaves out of the playground what only the command line uses: plans, JSON schemas, descriptions of options, and sources of
 * specifications. They would be a tenth of its size, and no tool can see that nothing uses them.
 */
import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'

/** Modules whose exports become functions that do nothing. */
const UNUSED = [
  /\/src\/protocols\/(?:epochs|local-leader|omega)\/planning\.ts$/,
  /\/src\/protocols\/local-leader\/wire\.ts$/,
  /\/zod\/v4\/core\/(?:json-schema-processors|to-json-schema)\.js$/,
  // The words of `explain` in src/core/schema.ts take their place.
  /\/zod\/v4\/locales\/en\.js$/,
]

const EXPORTED = /^export (?:async )?(?:const|let|function|class) (\w+)/gm

/** Files whose schemas have descriptions. */
const DESCRIBED = /\/src\/(?:protocols|links|core|workbench)\/.*\.ts$/
/** `.describe('one text')`, on one line or several. */
const DESCRIPTION = /\.describe\(\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"),?\s*\)/g
/** The text of `millisecondsOr(200, 'a text')`. */
const MEANING = /(\bmillisecondsOr\(\s*[\w.]+,\s*)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

/** Specifications name their sources, for `conclave specs`. */
const SPECIFICATION = /\/src\/workbench\/specs\/.*\.ts$/
const SOURCE = /(\bsource:\s*)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

export function leaveOut(): Plugin {
  return {
    name: 'leave-out',
    enforce: 'pre',
    load(id) {
      if (!UNUSED.some((pattern) => pattern.test(id))) return null
      const text = readFileSync(id, 'utf8')
      const names = [...text.matchAll(EXPORTED)].map(([, name]) => name)
      const byDefault = text.includes('export default') ? ['export default function () {}'] : []
      return [...byDefault, ...names.map((name) => `export function ${name}() {}`)].join('\n')
    },
    transform(code, id) {
      if (!DESCRIBED.test(id)) return null
      const short = code.replaceAll(DESCRIPTION, '').replaceAll(MEANING, "$1''")
      const shorter = SPECIFICATION.test(id) ? short.replaceAll(SOURCE, "$1''") : short
      return shorter === code ? null : { code: shorter, map: null }
    },
  }
}
