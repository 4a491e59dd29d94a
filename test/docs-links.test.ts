/**
 * Everything that documents refer to exists: links, anchors, commands, flags, scripts, metrics. Every page is in the
 * index.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { documents, ROOT } from './support/documents.ts'

/** Files that a document links to, relative to the project's root, without the anchors. */
function linkedFiles(file: string, text: string): readonly string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '')
  return targets
    .filter((target) => !/^(https?:|#)/.test(target))
    .map((target) => normalize(join(dirname(file), target.split('#')[0] ?? '')))
}

/** The anchors of a document, derived from its headings like GitHub does. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm)
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

describe('links in the documents', () => {
  const anchors = new Map(documents.map(({ file, text }) => [file, anchorsOf(text)]))

  it.each(documents)('$file', ({ file, text }) => {
    expect(linkedFiles(file, text).filter((target) => !existsSync(join(ROOT, target)))).toEqual([])
    const dead = [...text.matchAll(/\]\(([^)\s#]*)#([^)\s]+)\)/g)].filter(([, target = '', anchor = '']) => {
      if (/^https?:/.test(target)) return false
      const known = anchors.get(target === '' ? file : normalize(join(dirname(file), target)))
      return known !== undefined && !known.has(anchor)
    })
    expect(dead.map(([link]) => link)).toEqual([])
  })

  it('reach every page of docs/ from the index', () => {
    const texts = new Map(documents.map(({ file, text }) => [file, text]))
    const reached = new Set(['docs/README.md'])
    for (const file of reached) {
      for (const target of linkedFiles(file, texts.get(file) ?? ''))
        if (texts.has(target)) reached.add(target)
    }
    const pages = documents.map(({ file }) => file).filter((file) => file.startsWith('docs/'))
    expect(pages.filter((file) => !reached.has(file))).toEqual([])
  })
})

describe('names in the documents', () => {
  const used = (pattern: RegExp): readonly string[] => [
    ...new Set(documents.flatMap(({ text }) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''))),
  ]

  it('of npm scripts exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
    const asked = used(/npm run ([a-z][a-z:-]*)/g)
    expect(asked.length).toBeGreaterThan(5)
    expect(asked.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })

  it('of benchmarks exist', () => {
    const asked = used(/npm run bench -- ([a-z]+)/g)
    expect(asked.length).toBeGreaterThan(5)
    expect(asked.filter((name) => !existsSync(join(ROOT, 'bench', `${name}.mjs`)))).toEqual([])
  })

  it('of commands and flags exist', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/cli.md'), 'utf8')
    const help = new Map(
      page.split(/^## conclave /m).map((part) => [part.slice(0, part.indexOf('\n')), part]),
    )
    const shown = documents.flatMap(({ file, text, blocks }) =>
      [
        ...blocks.filter(({ info }) => /^(?:sh|console)/.test(info)).flatMap(({ lines }) => lines.join('\n')),
        ...[...text.matchAll(/`(conclave [^`]*)`/g)].map((match) => match[1] ?? ''),
      ].map((code) => ({ file, code: code.replaceAll('\\\n', ' ') })),
    )
    const asked = shown.flatMap(({ file, code }) =>
      [...code.matchAll(/(?:^|[ (/;])conclave ([a-z][a-z-]*)([^\n|;)]*)/g)].map(
        ([, name = '', rest = '']) => ({
          file,
          name,
          flags: (rest.split(' -- ')[0] ?? '').match(/--[a-z][a-z-]*/g) ?? [],
        }),
      ),
    )
    expect(asked.length).toBeGreaterThan(100)
    const wrong = asked.filter(
      ({ name, flags }) =>
        name !== 'help' && (!help.has(name) || flags.some((flag) => !help.get(name)?.includes(flag))),
    )
    expect(wrong).toEqual([])
  })

  it('of environment variables exist', () => {
    const reference = ['configuration', 'cli'].map((name) =>
      readFileSync(join(ROOT, `docs/reference/${name}.md`), 'utf8'),
    )
    const asked = used(/\b(CONCLAVE_[A-Z][A-Z_]*[A-Z])\b/g)
    expect(asked.length).toBeGreaterThan(10)
    // Set by Conclave for its own child processes.
    const internal = ['CONCLAVE_RUN', 'CONCLAVE_SUPERVISOR_FD']
    const known = (name: string): boolean =>
      internal.includes(name) || reference.some((page) => page.includes(name))
    expect(asked.filter((name) => !known(name))).toEqual([])
  })

  it('of documents in code and messages exist', () => {
    const named = ['src', 'scripts', 'bench', 'bin', 'examples']
      .flatMap((folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')),
      )
      .flatMap((text) => text.match(/\bdocs\/[\w/-]+\.(?:md|svg|json)\b/g) ?? [])
    expect(named.length).toBeGreaterThan(10)
    expect([...new Set(named)].filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })

  it('of metrics exist', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/http.md'), 'utf8')
    const metrics = [...page.matchAll(/^\| `(conclave_\w+)` /gm)].map((match) => match[1])
    expect(metrics.length).toBeGreaterThan(5)
    const asked = used(/\b(conclave_[a-z_]+)\b(?!\()/g).filter(
      (name) => !/_fence$|_tokens$|_registers$|_client$/.test(name),
    )
    expect(asked.filter((name) => !metrics.includes(name))).toEqual([])
  })
})

/** Terms whose first use in a page links to the glossary. */
const LINKED_TERMS = [
  'lease',
  '(?<!admin |read )token',
  'quorum',
  'heartbeat',
  'failover',
  'handover',
  'witness',
  'observer',
  'backoff',
  'jitter',
  'incarnation',
  'seqlock',
  'write barrier',
  'compare-and-swap',
  'black box',
  'specification',
  'counterexample',
  'campaign',
]

describe('the glossary', () => {
  const pages = documents.filter(({ file }) => /^docs\/(?:tutorials|how-to|explanation)\//.test(file))

  it.each(pages)('is linked from the first use of a term in $file', ({ text }) => {
    const blank = (part: string): string => ' '.repeat(part.length)
    // Only prose counts: no code, headings or tables.
    const prose = text
      .replaceAll(/^ *```.*?^ *```$/gms, blank)
      .replaceAll(/^(?: *\||#|>|!\[).*$/gm, blank)
      .replaceAll(/`[^`]*`/g, blank)
    const links = [...prose.matchAll(/\[[^\]]*\]\([^)]*\)/g)].map(({ index, 0: link }) => [
      index,
      index + link.length,
    ])
    const unlinked = LINKED_TERMS.filter((term) => {
      const first = new RegExp(`\\b${term}(?:e?s)?\\b`, 'i').exec(prose)?.index
      return first !== undefined && !links.some(([from = 0, to = 0]) => from < first && first < to)
    })
    expect(unlinked).toEqual([])
  })
})
