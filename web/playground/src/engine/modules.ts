/**
 * A protocol of the user's own: the text of a module that follows docs/tutorials/your-first-protocol.md.
 *
 * The text is imported from a URL of its own. Its imports of this package lead to small modules that hand out what the
 * page has loaded already. Only names are replaced, so errors keep the line numbers of the user's text.
 */
import type { Definition } from '../../../../src/core/index.ts'
import { catalogue, protocols } from '../../../../src/protocols/index.ts'
import type { Goal, Spec } from '../../../../src/workbench/specs/index.ts'
import { EngineError } from './engine-error.ts'
import type { OwnModule } from './messages.ts'
import { errorText } from './problems.ts'
import { type Provided, providedModules } from './provided.ts'
import type { Protocols } from './run.ts'

/** What depends on the place where modules run. */
export type ModuleTools = {
  /** A URL from which this text can be imported. */
  urlOf(text: string): string
  /** The line of a syntax error in a module with this text, which no stack contains; null if unknown. */
  syntaxErrorLine(text: string): Promise<number | null>
}

/** Without a browser: in tests. */
export const DATA_URLS: ModuleTools = {
  urlOf: (text) => `data:text/javascript;charset=utf-8,${encodeURIComponent(text).replaceAll("'", '%27')}`,
  syntaxErrorLine: () => Promise.resolve(null),
}

export const PACKAGE_ONLY: Protocols = {
  lookup: catalogue,
  own: null,
  specsFor: () => ({}),
  placeOf: () => null,
}

/** `from "x"`, `import "x"` and `import("x")`. Text in comments may match, too: that does no harm. */
const IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\2/g

export class OwnModules {
  readonly #tools: ModuleTools
  readonly #providedUrls = new Map<string, string>()
  /** The module used last. A run is often repeated with the same one. */
  #last: { readonly key: string; readonly protocols: Protocols } | null = null

  constructor(tools: ModuleTools) {
    this.#tools = tools
  }

  /** With the module that was used last, if any. */
  get latest(): Protocols {
    return this.#last?.protocols ?? PACKAGE_ONLY
  }

  async load(module: OwnModule | null): Promise<Protocols> {
    if (module === null) return PACKAGE_ONLY
    const { text, parts = [] } = module
    const key = JSON.stringify([text, parts])
    if (this.#last?.key === key) return this.#last.protocols
    const partUrls: PartUrls = new Map()
    const url = await this.#urlOf(text, parts, partUrls)
    const placeOf = (error: Error): string | null => placeIn(error.stack ?? '', url, partUrls)
    const exported = await this.#import(url, module, placeOf)
    const loaded = check(exported, module, placeOf)
    this.#last = { key, protocols: loaded }
    return loaded
  }

  async #import(
    url: string,
    module: OwnModule,
    placeOf: (error: Error) => string | null,
  ): Promise<{ readonly [name: string]: unknown }> {
    try {
      return (await import(/* @vite-ignore */ url)) as { readonly [name: string]: unknown }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      const stray = strangeImport(module)
      if (stray !== null) throw new EngineError([stray])
      const found = error instanceof SyntaxError ? await this.#syntaxPlace(module) : null
      const place = found ?? placeOf(error)
      throw new EngineError([{ place, message: withoutUrls(errorText(error)) }])
    }
  }

  async #syntaxPlace({ text, parts = [] }: OwnModule): Promise<string | null> {
    for (const file of [{ name: null, text }, ...parts]) {
      // oxlint-disable-next-line no-await-in-loop -- the first file with an error is enough
      const line = await this.#tools.syntaxErrorLine(file.text)
      if (line !== null) return placeText(file.name, String(line))
    }
    return null
  }

  /** A URL of the text in which the names of provided modules and of parts are replaced by URLs. */
  async #urlOf(text: string, parts: Parts, partUrls: PartUrls): Promise<string> {
    for (const name of new Set([...text.matchAll(IMPORT)].map((match) => match[3] ?? ''))) {
      const load = providedModules[name]
      const part = partNamed(parts, name)
      if (load !== undefined && !this.#providedUrls.has(name)) {
        // oxlint-disable-next-line no-await-in-loop -- two or three, once per session
        this.#providedUrls.set(name, this.#tools.urlOf(handOut(name, await load())))
      } else if (part !== undefined && !partUrls.has(part.name)) {
        // Parts that import each other in a circle have no URL: the browser says what is missing.
        const others = parts.filter((each) => each !== part)
        // oxlint-disable-next-line no-await-in-loop -- a part may be used twice
        partUrls.set(part.name, await this.#urlOf(part.text, others, partUrls))
      }
    }
    const linked = text.replaceAll(IMPORT, (whole: string, before: string, quote: string, name: string) => {
      const url = this.#providedUrls.get(name) ?? partUrls.get(partNamed(parts, name)?.name ?? '')
      return url === undefined ? whole : `${before}${quote}${url}${quote}`
    })
    return this.#tools.urlOf(linked)
  }
}

type Parts = NonNullable<OwnModule['parts']>
/** By the name of a part. */
type PartUrls = Map<string, string>

function partNamed(parts: Parts, name: string): Parts[number] | undefined {
  return parts.find((part) => `./${part.name}` === name)
}

/** Where the modules that hand out find what they export. */
const SHARED = '__conclavePlayground'

/** A module that exports what the page has loaded under this name. */
function handOut(name: string, provided: Provided): string {
  const shared = globalThis as unknown as { [SHARED]?: { [name: string]: Provided } }
  shared[SHARED] = { ...shared[SHARED], [name]: provided }
  const names = Object.keys(provided).filter((each) => each !== 'default')
  return [
    `const provided = globalThis.${SHARED}[${JSON.stringify(name)}]`,
    ...names.map((each, index) => `const value${index} = provided[${JSON.stringify(each)}]`),
    `export { ${names.map((each, index) => `value${index} as ${each}`).join(', ')} }`,
    'export default provided',
  ].join('\n')
}

type Exported = {
  readonly protocol: Definition
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
}

function check(
  exported: { readonly [name: string]: unknown },
  { name: file }: OwnModule,
  placeOf: Protocols['placeOf'],
): Protocols {
  const { protocol, specs, goals } = exported as Partial<Exported>
  if (typeof protocol?.create !== 'function' || typeof protocol.name !== 'string')
    throw new EngineError([
      {
        place: null,
        message: `${file} must export \`protocol\`, made with define() of conclave/core: see docs/tutorials/your-first-protocol.md`,
      },
    ])
  if (protocols.some(({ name }) => name === protocol.name))
    throw new EngineError([
      { place: null, message: `${protocol.name} is a protocol of this package: choose another name` },
    ])
  return {
    lookup: {
      names: [protocol.name, ...catalogue.names],
      find: (name) => (name === protocol.name ? protocol : catalogue.find(name)),
    },
    own: protocol.name,
    specsFor: (definition) =>
      definition === protocol
        ? { ...(specs === undefined ? {} : { specs }), ...(goals === undefined ? {} : { goals }) }
        : {},
    placeOf,
  }
}

/** The line of the first frame in the module or a part; null if the stack has none. */
function placeIn(stack: string, url: string, partUrls: PartUrls): string | null {
  const frames = [[null, url] as const, ...partUrls].flatMap(([name, each]) => {
    const at = stack.indexOf(`${each}:`)
    const line = at < 0 ? null : /^\d+/.exec(stack.slice(at + each.length + 1))
    return line === null ? [] : [{ at, place: placeText(name, line[0]) }]
  })
  return frames.sort((a, b) => a.at - b.at)[0]?.place ?? null
}

function placeText(part: string | null, line: string): string {
  return `${part === null ? '' : `${part} `}line ${line}`
}

/** The line of an import or a re-export that has the name of the module. */
const STATEMENT = /^\s*(?:import\s*|(?:import\b|export\b|\})[^"'=;]*\bfrom\s*)["']([^"']+)["']/

/** An import of a module that the playground does not provide. */
function strangeImport({
  text,
  parts = [],
}: OwnModule): { readonly place: string; readonly message: string } | null {
  for (const file of [{ name: null, text }, ...parts]) {
    for (const [index, line] of file.text.split('\n').entries()) {
      const name = STATEMENT.exec(line)?.[1]
      if (name === undefined || providedModules[name] !== undefined || partNamed(parts, name) !== undefined)
        continue
      const known = Object.keys(providedModules).join(', ')
      const message = `cannot import ${name}: a module in the playground imports only ${known}, and files that are dropped with it`
      return { place: placeText(file.name, String(index + 1)), message }
    }
  }
  return null
}

function withoutUrls(text: string): string {
  return text.replaceAll(/(?:blob|data):[^\s'"]+/g, 'the module')
}
