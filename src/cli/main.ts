/**
 * The entry point of the command line. It reports an error in one line, or with `--json` as one object.
 *
 * It loads only the module of the requested command: `conclave leader` must answer fast, and the modules of the other
 * commands take longer to load than the answer takes.
 */
import { type Command, CommanderError } from 'commander'
import { createProgram } from './commands.ts'
import { exitCodeOf } from './error-catalogue.ts'
import { messageWithPlace } from './error-place.ts'
import { EXIT } from './errors.ts'
import { printJson, printNote } from './output.ts'

type Problem = {
  readonly code: number
  readonly name: string
  readonly message: string
  readonly field: string | null
}

/** Exit codes for refusals by an agent that have a code of their own, by HTTP status. */
const EXIT_BY_STATUS: { readonly [status: number]: number } = { 400: EXIT.usage, 409: EXIT.noLeader }

/** What to do on the command line about a refusal by an agent. */
const ADVICE: { readonly [kind: string]: string } = {
  InvalidAdminToken: '; give the file of the token with --admin-token-file',
  InvalidReadToken: '; give the file of the token with --token-file',
}

/** Refusals with status 409 that do not mean that another node leads. */
const REFUSED = ['CommandRefused', 'JobExists', 'JobRefused', 'JobFailed', 'JobCancelled', 'JobNotEnded']

/** Describes an error; null if commander has already printed everything, such as the help. */
function describeError(error: unknown, helpCommand: string): Problem | null {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return null
    // No command was given: commander has printed the help, but that is still bad input.
    if (error.code === 'commander.help')
      return { code: EXIT.usage, name: 'UsageError', message: '', field: null }
    // Commander quotes the name of the flag or argument: '--agent <url>', 'id'.
    const field = /(?:option|required argument) '([\w-]+)/.exec(error.message)?.[1] ?? null
    const text = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
    const message = `${text} (see ${helpCommand})`
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
  const refused =
    name === 'RequestRefusedError' && !REFUSED.includes(kind ?? '') ? EXIT_BY_STATUS[status ?? 0] : undefined
  // An error without a code is a bug: of this package, or of a protocol of the user's own.
  const isUnexpected = error instanceof Error && code === undefined && refused === undefined
  return {
    code: refused ?? exitCodeOf(code),
    name: name === 'RequestRefusedError' ? (kind ?? name) : name,
    message: isUnexpected ? messageWithPlace(error) : `${message}${ADVICE[kind ?? ''] ?? ''}`,
    field: field ?? null,
  }
}

/** Errors that have one line per problem. */
const HAS_LINES = ['InvalidConfigError', 'InvalidOptionsError', 'InvalidScenarioError']

/** Lists the problems one per line. A line break in another message is data, not a separator. */
function splitMessage(name: string, message: string): readonly string[] {
  return (HAS_LINES.includes(name) ? message.split('\n') : [message]).filter(Boolean)
}

/** The help of the command that was asked for, as in `conclave job submit --help`. */
function helpCommandFor(root: Command, words: readonly string[]): string {
  const path = ['conclave']
  let command = root
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word)
    if (next === undefined) break
    path.push(word)
    command = next
  }
  return `${path.join(' ')} --help`
}

/** Whether `--json` was given. Words after `--` belong to the command that `conclave run` starts. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return (end < 0 ? words : words.slice(0, end)).includes('--json')
}

let hasHungUp = false

/** Handles closed output streams. For a process that runs nothing but this command. */
export function handleHangUps(): void {
  // A reader that stops early, such as `head`, is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    noteHangUp(error)
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure)
  })
  // If the reader of stderr is gone, such as a log collector, the node keeps running and keeps leading.
  process.stderr.on('error', noteHangUp)
}

/** After the terminal was closed, Node.js would abort at exit when it tries to restore the terminal. */
function noteHangUp({ code }: NodeJS.ErrnoException): void {
  if (code !== 'EIO' || hasHungUp) return
  hasHungUp = true
  process.on('exit', () => {
    process.removeAllListeners('SIGHUP')
    process.kill(process.pid, 'SIGHUP')
  })
}

/** Runs one command, given by the words after `conclave`, and returns its exit code. */
export async function main(words: readonly string[]): Promise<number> {
  let helpCommand = 'conclave --help'
  try {
    const root = await createProgram(words[0] ?? '')
    helpCommand = helpCommandFor(root, words)
    await root.parseAsync(words, { from: 'user' })
    // Commands set process.exitCode.
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    const problem = describeError(error, helpCommand)
    if (problem === null) return EXIT.ok
    const { code, name, message, field } = problem
    if (message !== '' && wantsJson(words)) printJson({ error: { name, message, field } })
    else for (const line of splitMessage(name, message)) printNote(`conclave: ${line}`)
    if (process.env['CONCLAVE_DEBUG'] !== undefined && error instanceof Error)
      for (const line of (error.stack ?? '').split('\n')) printNote(line)
    return code
  }
}
