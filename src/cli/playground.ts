/** `conclave playground`: serves the playground on this machine, and opens files in it. */
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { EXIT, UsageError } from './errors.ts'
import { readTextFile } from './input-files.ts'
import { Interruption } from './interrupt.ts'
import { print, printJson, printNote } from './output.ts'
import { openPage } from './playground/open-page.ts'
import { fileAt, type OpenedFile, servePlayground } from './playground/server.ts'
import { parseWholeNumber } from './values.ts'

type PlaygroundFlags = {
  readonly lesson?: string
  readonly port: string
  readonly open: boolean
  readonly json?: true
}

const DEFAULT_PORT = 7491
const MOST_PORT = 65_535
/** The page refuses larger files. */
const MOST_FILE_BYTES = 50_000_000

export function playgroundCommand(): Command {
  return new Command('playground')
    .description('see protocols run in your browser: step back and forth, break things, share what you found')
    .argument(
      '[files...]',
      'a scenario, a trace, black boxes of one group, or a module with your own protocol',
    )
    .option('--lesson <name>', 'begin with this lesson: docs/how-to/use-the-playground.md lists them')
    .option('--port <n>', 'port of the page, on loopback; 0 for any free port', String(DEFAULT_PORT))
    .option('--no-open', 'do not open a browser')
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  conclave playground
  conclave playground --lesson paused-leader
  conclave playground examples/first-election.json
  conclave playground run.ndjson --no-open
  conclave playground examples/own-protocol/ballot.mjs examples/own-protocol/one-winner.mjs
  conclave playground a.ndjson b.ndjson c.ndjson

The page needs no other server and sends nothing anywhere. It reads the files again when you reload it.
The command serves the page until Ctrl-C. Exit code 0 then, 2 for bad input.`,
    )
    .action(async (names: readonly string[], flags: PlaygroundFlags) => {
      process.exitCode = await run(names, flags)
    })
}

async function run(names: readonly string[], flags: PlaygroundFlags): Promise<number> {
  const port = parseWholeNumber('--port', flags.port, 0)
  if (port > MOST_PORT) throw new UsageError(`--port ${port}: must be at most ${MOST_PORT}`, '--port')
  if (flags.lesson !== undefined && names.length > 0)
    throw new UsageError('--lesson and files: use one of them', '--lesson')
  const files = findFiles(names)
  const interruption = new Interruption()
  const server = await servePlayground(files, port)
  try {
    const address = `${server.url}/${fragmentOf(files, flags.lesson)}`
    if (flags.json === true) printJson({ url: address })
    else print(address)
    const isOpened = flags.open && (await openPage(address))
    const next = flags.open && !isOpened ? 'Open this address in a browser. ' : ''
    printNote(`${next}Press Ctrl-C to end.`)
    if (!interruption.isInterrupted) await once(interruption.signal, 'abort')
    return EXIT.ok
  } finally {
    interruption.close()
    await server.close()
  }
}

/** The page asks for these files by their names, and for a lesson by its own. */
export function fragmentOf(files: readonly OpenedFile[], lesson?: string): string {
  if (lesson !== undefined) return `#lesson=${encodeURIComponent(lesson)}`
  return files.length === 0 ? '' : `#file=${files.map(({ name }) => encodeURIComponent(name)).join('/')}`
}

/** Checks the files before anything is served. Files of different folders may have the same name. */
export function findFiles(paths: readonly string[]): readonly OpenedFile[] {
  const taken = new Set<string>()
  return paths.map((path) => {
    const isStandardInput = path === '-'
    const name = freeName(isStandardInput ? 'standard-input' : basename(path), taken)
    taken.add(name)
    if (isStandardInput) {
      const text = readTextFile('-')
      return { name, read: () => text }
    }
    checkFile(path)
    return fileAt(name, path)
  })
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  let number = 2
  while (taken.has(`${number}-${name}`)) number += 1
  return `${number}-${name}`
}

function checkFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new UsageError(`${path}: no such file`)
  if (!found.isFile()) throw new UsageError(`${path}: not a file`)
  if (found.size <= MOST_FILE_BYTES) return
  const size = Math.round(found.size / 1_000_000)
  throw new UsageError(
    `${path}: ${size} MB; the playground opens files of at most 50 MB. Use conclave replay for a longer trace`,
  )
}
