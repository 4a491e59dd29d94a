/**
 * Data goes to standard output, everything said about it to standard error.
 *
 * All text for a terminal passes through `visible`, the one place that decides what may control it. Ids, reasons and
 * error messages come from agents, files and peers: control characters in them are shown as escapes, line breaks too.
 * What this program itself wants of the terminal is marked with OWN, which text from elsewhere cannot contain because
 * it is drawn anew in every process.
 */
import { count } from '../core/text.ts'

const OWN = `\u001F${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`
/** Between the lines of a text that is printed at once. */
export const NEW_LINE = `${OWN}n`

/** C0 and C1 controls, DEL, what breaks lines, and what changes the direction of text. */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/g

/** As it may be written to a terminal. Within JSON the escapes mean the same as the characters. */
export function escapeControls(text: string): string {
  const [first = '', ...marked] = text.split(OWN)
  return [escaped(first), ...marked.map(obeyed)].join('')
}

function escaped(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** What follows a mark begins with what it stands for. */
function obeyed(marked: string): string {
  if (marked.startsWith('n')) return `\n${escaped(marked.slice(1))}`
  const end = marked.indexOf('m')
  return `\u001B[${marked.slice(0, end + 1)}${escaped(marked.slice(end + 1))}`
}

/** One line, or several with NEW_LINE between them. */
export function print(line: string): void {
  process.stdout.write(`${escapeControls(line)}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

export function printNote(line: string): void {
  process.stderr.write(`${escapeControls(line)}\n`)
}

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

/** Colour only where a person looks, and not if they asked for none. */
export function paint(colour: keyof typeof COLOURS, text: string): string {
  const wanted = process.stdout.isTTY && process.env['NO_COLOR'] === undefined
  return wanted ? `${OWN}${COLOURS[colour]}m${text}${OWN}0m` : text
}

/** Columns aligned, no boxes. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => measureWidth(row[column] ?? ''))),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - measureWidth(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join(NEW_LINE)
}

/** Scripts and symbols that take two columns, about as terminals have it. */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u
const NO_WIDTH = /[\p{Mn}\p{Me}\u200B-\u200D]/u
const COLOURING = new RegExp(`${OWN}\\d+m`, 'g')
// oxlint-disable-next-line no-control-regex -- what is plain takes no further thought
const PLAIN = /^[\u0020-\u007E]*$/

/** How many columns of a terminal a line takes. */
export function measureWidth(line: string): number {
  const text = escaped(line.replace(COLOURING, ''))
  if (PLAIN.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += columnsOf(character)
  return columns
}

function columnsOf(character: string): number {
  if (NO_WIDTH.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/** As much of a line as fits; the end shows that something is missing. */
export function clip(line: string, columns: number): string {
  if (measureWidth(line) <= columns) return line
  const colour = new RegExp(`^${OWN}(\\d+)m`).exec(line)
  let used = 0
  let text = ''
  for (const character of escaped(line.replace(COLOURING, ''))) {
    used += columnsOf(character)
    if (used > columns - 1) break
    text += character
  }
  if (columns < 1) return ''
  return colour === null ? `${text}…` : `${colour[0]}${text}…${OWN}0m`
}

export function formatTimes(value: number): string {
  return value === 1 ? 'once' : `${count(value)} times`
}
