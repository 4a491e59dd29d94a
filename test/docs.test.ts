/**
 * Executes the documents. Commands in ```console blocks run from the project's root and must print what is shown.
 * Scenarios in ```json scenario blocks must parse. The example of docs/tutorials/your-first-protocol.md must fail and
 * hold as the tutorial says.
 *
 * CONTRIBUTING.md explains how to mark a block.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Definition, NodeId, Role } from 'conclave/core'
import { catalogue } from 'conclave/protocols'
import { parseScenario } from 'conclave/sim'
import { monitor, type Spec, type SpecVerdict, Watch } from 'conclave/specs'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from './support/cli.ts'
import { type Block, blocksOf, documents, ROOT } from './support/documents.ts'
import { missingLine } from './support/shown.ts'

const COMMAND_TIMEOUT_MS = 120_000
const TEST_TIMEOUT_MS = 300_000

type Shown = { readonly command: string; readonly output: readonly string[] }

/** A line that starts with `$ ` is a command; the lines below it are its output. */
function commandsOf(block: Block): readonly Shown[] {
  const shown: { command: string; output: string[] }[] = []
  for (const line of block.lines) {
    if (line.startsWith('$ ')) shown.push({ command: line.slice(2), output: [] })
    else if (line.trim() !== '') shown.at(-1)?.output.push(line)
  }
  return shown
}

type Ran = { readonly code: number | null; readonly output: string }

/** Words and double-quoted strings without anything that a shell expands. */
const PLAIN_WORD = /"[^"$`\\]*"|[\w./=:,-]+/
const PLAIN = new RegExp(`^conclave(?: (?:${PLAIN_WORD.source}))*$`)

/** A command that several documents show runs once. */
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

  it('exist, most of them without a shell', () => {
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

  it('is quoted unchanged in the guide', () => {
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
    // The one line that is not quoted: the type of a state.
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

  it('does not judge a ballot without a winner', () => {
    expect(verdict([view(1, 'candidate', null), view(2, 'follower', 3)])).toMatchObject({
      verdict: 'vacuous',
    })
  })
})
