/**
 * Leaves out of the playground what only the command line uses: plans, JSON schemas, descriptions of options, and sources of
 * specifications. They would be a tenth of its size, and no tool can see that nothing uses them.
 */
import { readFileSync } from 'node:fs'
import { type Plugin, parseAst } from 'vite'

/** Modules whose exports become functions that do nothing. */
const UNUSED = [
  /\/zod\/v4\/core\/(?:json-schema-processors|to-json-schema)\.js$/,
  // Values that contain themselves: scenarios and links are JSON.
  /\/zod\/v4\/core\/memoizer\.js$/,
  // The words of `explain` in src/core/schema.ts take their place.
  /\/zod\/v4\/locales\/en\.js$/,
]

const EXPORTED = /^export (?:async )?(?:const|let|function|class) (\w+)/gm

/** Files whose schemas have descriptions. */
const DESCRIBED = /\/src\/(?:protocols|links|core|workbench)\/.*\.ts$/
/** `.describe('one text')`, on one line or several. */
const DESCRIPTION =
  /\.describe\(\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|meaning),?\s*\)/g
/** The text of `millisecondsOr(200, 'a text')`, and of other functions that pass a description on. */
const MEANING =
  /(\b(?:millisecondsOr|upwardsOf|own|bound)\(\s*(?:[\w.]+,\s*)*)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

/** Specifications and protocols name their sources, for `conclave specs` and `conclave protocols`. */
const SOURCED = /\/src\/(?:workbench\/specs|protocols)\/.*\.ts$/
const SOURCE = /(\b(?:source:|const SOURCE =)\s*)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

/** What a protocol is, in a few words. The page has its own. */
const DEFINITION = /\/src\/protocols\/[\w-]+\/(?:index|definition)\.ts$/
const TITLE = /(\btitle:\s*)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

/** The hosting of a protocol. The playground replays recorded runs with it, and needs only these fields for that. */
const HOSTING = /\/src\/protocols\/[\w-]+\/hosting\.ts$/
const KEPT = new Set(['name', 'needs', 'ownOptions', 'forensics', 'group', 'create'])

/** The code with only the kept fields in each object that it exports. */
function keepFields(code: string): string {
  let shorter = code
  for (const statement of parseAst(code, { lang: 'ts' }).body.toReversed()) {
    if (statement.type !== 'ExportNamedDeclaration') continue
    if (statement.declaration?.type !== 'VariableDeclaration') continue
    for (const { init } of statement.declaration.declarations) {
      if (init?.type !== 'ObjectExpression') continue
      const kept = init.properties.filter(
        (property) =>
          property.type === 'Property' && property.key.type === 'Identifier' && KEPT.has(property.key.name),
      )
      const fields = kept.map(({ start, end }) => code.slice(start, end)).join(', ')
      shorter = `${shorter.slice(0, init.start)}{ ${fields} }${shorter.slice(init.end)}`
    }
  }
  return shorter
}

/** Formats of strings, such as `z.string().email()`, and other methods that no schema of the workbench uses. */
const CLASSIC = /\/zod\/v4\/classic\/schemas\.js$/
const FORMAT = /^ {4}\w+\(params\) \{\n\s*return this\.check\(core\._\w+\(Zod\w+, params\)\);\n {4}\},?\n/gm
const METHOD =
  /^ {4}(?:async )?(?:and|catch|nonoptional|keyof|passthrough|loose|with|brand|register|overwrite|exactOptional|isNullable|isOptional|apply|toJSONSchema|trim|toLowerCase|toUpperCase|safeExtend|merge|omit|partial|nullish|pipe|finite|safe|multipleOf|nonempty|catchall|strip|rest|gte?|lte?|length|nonpositive|nonnegative|positive|negative|properties|unwrap|step|exactPartial|required|includes|startsWith|endsWith|lowercase|uppercase|normalize|slugify|validate(?:Async)?|(?:safe)?(?:Parse|parse|Encode|encode|Decode|decode)Async|(?:safe)?(?:Encode|encode|Decode|decode))(?:: (?:async )?function \w+)?\([^)]*\) \{\n[^\n]*\n {4}\},?\n/gm

/** How a schema was misused, which types rule out. */
const LIBRARY = /\/zod\/v4\/core\/.*\.js$/
const MISUSE = /(\bnew Error\()(?:"[^"\n]*"|`[^`\n]*`)\)/g

/** Schemas that compile themselves: the content security policy of the page forbids that, so they never do. */
const COMPILED = 'core.$ZodObjectJIT'

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
      if (CLASSIC.test(id)) {
        const short = code.replaceAll(FORMAT, '').replaceAll(METHOD, '')
        return { code: short.replaceAll(COMPILED, 'core.$ZodObject'), map: null }
      }
      if (LIBRARY.test(id)) return { code: code.replaceAll(MISUSE, '$1)'), map: null }
      if (HOSTING.test(id)) return { code: keepFields(code), map: null }
      if (!DESCRIBED.test(id)) return null
      const short = code.replaceAll(DESCRIPTION, '').replaceAll(MEANING, "$1''")
      const sourceless = SOURCED.test(id) ? short.replaceAll(SOURCE, "$1''") : short
      const shorter = DEFINITION.test(id) ? sourceless.replaceAll(TITLE, "$1''") : sourceless
      return shorter === code ? null : { code: shorter, map: null }
    },
  }
}
