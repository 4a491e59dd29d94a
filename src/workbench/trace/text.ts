/** Text for the parts of a trace, shared by the transcript and the diagram. */
import {
  type Command,
  type Input,
  isList,
  type Message,
  type Plain,
  type PlainObject,
} from '../../core/index.ts'

export function messageText(body: Message): string {
  return `${body.kind}${fieldsText(body, 'kind')}`
}

/** A command to a group of a real process is shown as the command itself. */
export function commandText(command: Command): string {
  const inner = command['command'] ?? null
  if (typeof inner === 'object' && inner !== null && !isList(inner) && typeof inner['do'] === 'string')
    return commandText(inner as Command)
  const short = Object.entries(command).filter(([, value]) => value !== null && !isLong(value))
  return `${command.do}${fieldsText(Object.fromEntries(short), 'do')}`
}

/** A value that says nothing in one line, such as the settings of a group. */
function isLong(value: Plain): boolean {
  return typeof value === 'object' && JSON.stringify(value).length > MOST_VALUE
}

/** The first fields of a message matter most; a longer list ends with an ellipsis. */
const MOST_FIELDS = 120
const MOST_VALUE = 48

function fieldsText(object: PlainObject, except: string): string {
  const fields = Object.entries(object).filter(([field]) => field !== except)
  if (fields.length === 0) return ''
  const text = fields.map(([field, value]) => `${field} ${shorten(JSON.stringify(value), MOST_VALUE)}`)
  return `(${shorten(text.join(', '), MOST_FIELDS)})`
}

export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}\u2026`
}

/** An event of the world. Those of single messages and clocks read as sentences, because a bare number says little. */
export function worldText({ ignored, ...event }: PlainObject): string {
  const text = messageEventText(event) ?? clockEventText(event) ?? fieldsOf(event)
  return typeof ignored === 'string' ? `${text} (ignored: ${ignored})` : text
}

function messageEventText({ drop, delay, copy, forMs, afterMs }: PlainObject): string | null {
  if (typeof drop === 'number') return `message ${drop} is dropped`
  if (typeof delay === 'number') return `message ${delay} is delayed by ${plainText(forMs)} ms`
  if (typeof copy !== 'number') return null
  return afterMs === undefined
    ? `message ${copy} is copied`
    : `message ${copy} is copied, to arrive ${plainText(afterMs)} ms after it`
}

function clockEventText({ drift, skew, ppm, byMs }: PlainObject): string | null {
  if (drift !== undefined) return `the clock of ${plainText(drift)} drifts by ${formatSigned(ppm)} ppm`
  return skew === undefined ? null : `the clock of ${plainText(skew)} jumps by ${formatSigned(byMs)} ms`
}

function formatSigned(value: Plain | undefined): string {
  return typeof value === 'number' && value >= 0 ? `+${value}` : plainText(value)
}

function plainText(value: Plain | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function fieldsOf(event: PlainObject): string {
  return Object.entries(event)
    .map(([field, value]) => `${field} ${JSON.stringify(value)}`)
    .join(', ')
}

/** The outcome of a register call. */
export function registerText({ call, outcome, value }: Input & { type: 'register' }): string {
  const what = call.op === 'read' ? `read ${call.of}` : call.op
  if (outcome === 'unknown') return `${what}: unknown`
  return `${what} ${blockText(call.op === 'read' ? value : call.value)}`
}

/** The non-null fields of a record, without their names. */
function blockText(value: Plain): string {
  if (value === null) return 'nothing'
  if (typeof value !== 'object' || isList(value)) return JSON.stringify(value)
  const fields = Object.values(value).filter((field) => typeof field !== 'object')
  return `(${fields.map(String).join(', ')})`
}
