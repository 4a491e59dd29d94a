/**
 * The documents, executed. Commands in ```console blocks are run from the project's root and must print what is
 * shown; scenarios in ```json scenario blocks must parse; links must lead somewhere; the example of
 * docs/tutorials/your-first-protocol.md must fail and hold as the guide says.
 *
 * CONTRIBUTING.md tells writers how to mark a block.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join, normalize, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Definition, NodeId, Role } from 'conclave/core'
import { catalogue } from 'conclave/protocols'
import { parseScenario } from 'conclave/sim'
import { monitor, type Spec, type SpecVerdict, Watch } from 'conclave/specs'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from './support/cli.ts'
import { missingLine } from './support/shown.ts'

const ROOT = resolve(import.meta.dirname, '..')
const COMMAND_TIMEOUT_MS = 120_000
const TEST_TIMEOUT_MS = 300_000

const DOCUMENTS: readonly string[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  'examples/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...readdirSync(join(ROOT, 'src/protocols'))
    .map((name) => join('src/protocols', name, 'README.md'))
    .filter((file) => existsSync(join(ROOT, file))),
].sort()

/** A fenced block: what stands behind the fence, its lines, and the exit code in the comment before it. */
type Block = {
  readonly info: string
  readonly line: number
  readonly exit: number
  readonly lines: readonly string[]
}

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(.+)$/.exec(lines[at] ?? '')
    if (fence === null) continue
    const end = lines.indexOf('```', at + 1)
    if (end < 0) throw new Error(`the block at line ${at + 1} is not closed`)
    const exit = /^<!-- exit (\d+) -->$/.exec(lines[at - 1] ?? '')
    blocks.push({
      info: fence[1] ?? '',
      line: at + 1,
      exit: Number(exit?.[1] ?? 0),
      lines: lines.slice(at + 1, end),
    })
    at = end
  }
  return blocks
}

type Shown = { readonly command: string; readonly output: readonly string[] }

/** A line that starts with `$ ` is a command; those below it are what it prints. */
function commandsOf(block: Block): readonly Shown[] {
  const shown: { command: string; output: string[] }[] = []
  for (const line of block.lines) {
    if (line.startsWith('$ ')) shown.push({ command: line.slice(2), output: [] })
    else if (line.trim() !== '') shown.at(-1)?.output.push(line)
  }
  return shown
}

type Ran = { readonly code: number | null; readonly output: string }

/** Words and texts in double quotes, nothing that a shell would make something else of. */
const PLAIN_WORD = /"[^"$`\\]*"|[\w./=:,-]+/
const PLAIN = new RegExp(`^conclave(?: (?:${PLAIN_WORD.source}))*$`)

/** Commands of which several documents tell run once. */
const ran = new Map<string, Promise<Ran>>()

function run(command: string): Promise<Ran> {
  const known = ran.get(command)
  if (known !== undefined) return known
  const running = PLAIN.test(command) ? runHere(command) : runInShell(command)
  ran.set(command, running)
  return running
}

async function runHere(command: string): Promise<Ran> {
  const [, ...words] = command.match(new RegExp(PLAIN_WORD, 'g')) ?? []
  const { code, stdout, stderr } = await conclave(
    words.map((word) => word.replaceAll('"', '')),
    { cwd: ROOT },
  )
  return { code, output: `${stdout}\n${stderr}` }
}

function runInShell(command: string): Promise<Ran> {
  const env = {
    ...process.env,
    PATH: `${join(ROOT, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    NO_COLOR: '1',
  }
  const result = spawnSync(command, {
    cwd: ROOT,
    shell: true,
    encoding: 'utf8',
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: 1 << 26,
    env,
  })
  return Promise.resolve({ code: result.status, output: `${result.stdout}\n${result.stderr}` })
}

function problemWith(ended: Ran, exit: number, shown: readonly string[]): string | null {
  if (ended.code !== exit) return `ended with ${ended.code} instead of ${exit}:\n${ended.output}`
  const missing = missingLine(shown, ended.output)
  return missing === null ? null : `"${missing}" is not in its place in:\n${ended.output}`
}

const documents = DOCUMENTS.map((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return { file, text, blocks: blocksOf(text) }
})

const EXAMPLE = 'examples/own-protocol'
const ballot = (await import(pathToFileURL(join(ROOT, EXAMPLE, 'ballot.mjs')).href)) as {
  readonly protocol: Definition
  readonly specs: readonly Spec[]
}
const lookup = {
  names: [...catalogue.names, ballot.protocol.name],
  find: (name: string) => (name === ballot.protocol.name ? ballot.protocol : catalogue.find(name)),
}

afterAll(() => {
  for (const name of ['first-election.ndjson', 'bully-disagreement.ndjson'])
    rmSync(join(ROOT, name), { force: true })
})

describe('commands in the documents', () => {
  const cases = documents.flatMap(({ file, blocks }) =>
    blocks
      .filter(({ info }) => info === 'console')
      .flatMap((block) =>
        commandsOf(block)
          .filter(({ command }) => !command.startsWith('npm '))
          .map(({ command, output }) => ({
            place: `${file}:${block.line}`,
            exit: block.exit,
            command,
            output,
          })),
      ),
  )

  it.each(cases)(
    '$place: $command',
    async ({ command, exit, output }) => {
      expect(problemWith(await run(command), exit, output)).toBeNull()
    },
    TEST_TIMEOUT_MS,
  )

  it('make the picture that the documents show', () => {
    const [shown, golden] = ['docs/pictures', 'test/golden'].map((place) =>
      readFileSync(join(ROOT, place, 'bully-disagreement.svg'), 'utf8'),
    )
    expect(shown).toBe(golden)
  })

  it('are there, most of them without a shell', () => {
    expect(cases.length).toBeGreaterThan(20)
    expect(cases.filter(({ command }) => PLAIN.test(command)).length).toBeGreaterThan(cases.length / 2)
  })
})

describe('scenarios in the documents', () => {
  const cases = documents.flatMap(({ file, blocks }) =>
    blocks
      .filter(({ info }) => info === 'json scenario')
      .map(({ line, lines }) => ({ place: `${file}:${line}`, text: lines.join('\n') })),
  )

  it.each(cases)('$place', ({ text }) => {
    expect(parseScenario(JSON.parse(text), lookup).nodes.length).toBeGreaterThan(0)
  })
})

/** Files that a document links to, relative to the project's root, without the anchors. */
function linkedFiles(file: string, text: string): readonly string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '')
  return targets
    .filter((target) => !/^(https?:|#)/.test(target))
    .map((target) => normalize(join(dirname(file), target.split('#')[0] ?? '')))
}

/** The anchors of a document, as GitHub makes them from its headings. */
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
      (name) => !/_fence$|_tokens$|_registers$/.test(name),
    )
    expect(asked.filter((name) => !metrics.includes(name))).toEqual([])
  })
})

/** Terms whose first use in a page links to the glossary. */
const LINKED_TERMS = [
  'lease',
  '(?<!admin )token',
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

/** What `conclave explore --json` prints, as far as it matters here. */
type Explored = {
  readonly states: number
  readonly complete: boolean
  readonly specs: readonly SpecVerdict[]
  readonly counterexample: {
    readonly spec: string
    readonly steps: unknown
    readonly scenario: unknown
  } | null
}

async function exploreBallot(...flags: readonly string[]): Promise<Explored> {
  const asked = `conclave explore --load ${EXAMPLE}/ballot.mjs --protocol ballot --nodes 3 --json`
  const { output } = await run([asked, ...flags].join(' '))
  return JSON.parse(output.slice(0, output.indexOf('\n'))) as Explored
}

describe('the example of docs/tutorials/your-first-protocol.md', () => {
  it('breaks in seven steps when it sends before it persists', async () => {
    const { counterexample } = await exploreBallot('--option persistFirst=false')
    expect(counterexample?.spec).toBe('one-winner')
    expect(counterexample?.steps).toHaveLength(7)
    const saved: unknown = JSON.parse(readFileSync(join(ROOT, EXAMPLE, 'two-winners.json'), 'utf8'))
    expect(counterexample?.scenario).toEqual(saved)
  })

  it('holds in a complete search when it persists first', async () => {
    const { complete, counterexample, specs } = await exploreBallot()
    expect(complete).toBe(true)
    expect(counterexample).toBeNull()
    expect(specs).toEqual([expect.objectContaining({ name: 'one-winner', verdict: 'held' })])
  })

  it('shows its files in the guide as they are', () => {
    const guide = readFileSync(join(ROOT, 'docs/tutorials/your-first-protocol.md'), 'utf8')
    const code = ['ballot.mjs', 'one-winner.mjs']
      .map((name) => readFileSync(join(ROOT, EXAMPLE, name), 'utf8'))
      .join('\n')
      .split('\n')
      .map((line) => line.trim())
    const quoted = blocksOf(guide)
      .filter(({ info }) => info === 'js')
      .flatMap(({ lines }) => lines)
      .map((line) => line.trim())
    const changed = quoted.filter((line) => !code.includes(line) && !code.includes(`${line},`))
    // The one line that is not quoted: what a state looks like.
    expect(changed).toEqual(['{ votedFor: null, votes: [], leader: null }'])
  })
})

describe('one-winner', () => {
  type Seen = Parameters<Watch['observe']>[0]

  function view(node: NodeId, role: Role, leader: NodeId | null): Seen {
    const none = { token: null, until: null, members: null, detail: null }
    return { type: 'view', at: 0, node, view: { role, leader, ...none }, until: null }
  }

  function verdict(seen: readonly Seen[]): SpecVerdict | undefined {
    const watch = new Watch(monitor(ballot.specs, [], { nodes: [1, 2, 3], prefers: 'lowest', constants: {} }))
    for (const observation of seen) watch.observe(observation)
    return watch.verdicts()[0]
  }

  it('rejects a second winner, also after the first has crashed', () => {
    const trace = [view(1, 'leader', 1), { type: 'down', at: 0, node: 1 } as const, view(3, 'leader', 3)]
    expect(verdict(trace)).toMatchObject({ verdict: 'violated', why: '1 and 3 have both won' })
  })

  it('accepts, as a near miss, that the winner crashes and wins again with the same votes', () => {
    const trace = [view(1, 'leader', 1), { type: 'down', at: 0, node: 1 } as const, view(1, 'leader', 1)]
    expect(verdict(trace)).toMatchObject({ verdict: 'held', judged: 2 })
  })

  it('says nothing of a ballot that nobody wins', () => {
    expect(verdict([view(1, 'candidate', null), view(2, 'follower', 3)])).toMatchObject({
      verdict: 'vacuous',
    })
  })
})
