/**
 * The command line. Errors are one line that says what to change; with `--json`, one object.
 *
 * Only the command that is asked for is loaded: `conclave leader` must answer fast, and most of what the others need
 * takes longer to load than the answer.
 */
import { CommanderError } from 'commander'
import { isCommand, program } from './commands.ts'
import { exitCodeOf } from './error-catalogue.ts'
import { EXIT } from './errors.ts'
import { printJson, printNote } from './output.ts'

type Explained = {
  readonly code: number
  readonly name: string
  readonly message: string
  readonly field: string | null
}

/** Refusals of an agent that mean something else, by their status. */
const REFUSALS: { readonly [status: number]: number } = { 400: EXIT.usage, 409: EXIT.noLeader }

/** What is wrong, and what kind of thing it is; null where commander has said all there is to say. */
function explained(error: unknown, asked: string): Explained | null {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return null
    // No command at all: the help has been printed, but nothing was done.
    if (error.code === 'commander.help')
      return { code: EXIT.usage, name: 'UsageError', message: '', field: null }
    // Commander names what it is about in quotes: '--agent <url>', 'id'.
    const field = /(?:option|required argument) '([\w-]+)/.exec(error.message)?.[1] ?? null
    const told = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
    const message = `${told} (see ${helpFor(asked)})`
    return { code: EXIT.usage, name: 'UsageError', message, field }
  }
  const { name, message, field, code, kind, status } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Error & {
    readonly field?: string | null
    readonly code?: string
    readonly kind?: string
    readonly status?: number
  }
  // An agent that refuses because it does not lead says what was asked, in a way; or it was asked wrongly.
  const refused =
    name === 'RequestRefusedError' && kind !== 'CommandRefusedError' ? REFUSALS[status ?? 0] : undefined
  return {
    code: refused ?? exitCodeOf(code),
    name: name === 'RequestRefusedError' ? (kind ?? name) : name,
    message,
    field: field ?? null,
  }
}

/** A configuration may have several problems, one per line; any other line break comes from elsewhere. */
function linesOf(name: string, message: string): readonly string[] {
  return (name === 'InvalidConfigError' ? message.split('\n') : [message]).filter(Boolean)
}

/** Where to read on. */
function helpFor(asked: string): string {
  return isCommand(asked) ? `conclave ${asked} --help` : 'conclave --help'
}

/** Whether JSON was asked for, by a word that is not of the command after `--`. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return (end < 0 ? words : words.slice(0, end)).includes('--json')
}

let isHungUp = false

/** For a process that is this command and nothing else: what to do when its readers are gone. */
export function handleHangUps(): void {
  // A reader that has seen enough, such as `head`, is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    noteHangUp(error)
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure)
  })
  // The reader of stderr is gone, such as a terminal or a log collector: no reason to stop, or to lose a lead.
  process.stderr.on('error', noteHangUp)
}

/** The terminal was closed. Node would abort at its end, when it tries to leave that as it was. */
function noteHangUp({ code }: NodeJS.ErrnoException): void {
  if (code !== 'EIO' || isHungUp) return
  isHungUp = true
  process.on('exit', () => {
    process.removeAllListeners('SIGHUP')
    process.kill(process.pid, 'SIGHUP')
  })
}

/** Runs one command, given as the words after `conclave`, and returns its exit code. */
export async function main(words: readonly string[]): Promise<number> {
  const asked = words[0] ?? ''
  try {
    const root = await program(asked)
    await root.parseAsync(words, { from: 'user' })
    // Commands report how they ended there.
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    const problem = explained(error, asked)
    if (problem === null) return EXIT.ok
    const { code, name, message, field } = problem
    if (message !== '' && wantsJson(words)) printJson({ error: { name, message, field } })
    else for (const line of linesOf(name, message)) printNote(`conclave: ${line}`)
    if (process.env['CONCLAVE_DEBUG'] !== undefined && error instanceof Error)
      for (const line of (error.stack ?? '').split('\n')) printNote(line)
    return code
  }
}
