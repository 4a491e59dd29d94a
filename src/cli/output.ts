/**
 * Prints data to standard output and messages about it to standard error.
 *
 * All text for a terminal passes through `escapeControls`. Ids, reasons and error messages come from agents, files and
 * peers, so control characters in them, line breaks included, are printed as escapes. Line breaks and colours that this
 * program itself prints are marked with MARK. Foreign text cannot contain MARK because it is random in every process.
 */
import { count } from '../core/text.ts'

const MARK = `\u001F${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`
/** Separates the lines of a text that is printed with one call. */
export const NEW_LINE = `${MARK}n`

/** C0 and C1 controls, DEL, line separators, and characters that change the text direction. */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- it finds control characters
  /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/g

/** Makes text safe for a terminal. Within JSON the escapes mean the same as the characters. */
export function escapeControls(text: string): string {
  const [first = '', ...marked] = text.split(MARK)
  return [escapeText(first), ...marked.map(applyMark)].join('')
}

function escapeText(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The text after a mark starts with `n` for a line break, or with the number of a colour and `m`. */
function applyMark(marked: string): string {
  if (marked.startsWith('n')) return `\n${escapeText(marked.slice(1))}`
  const end = marked.indexOf('m')
  return `\u001B[${marked.slice(0, end + 1)}${escapeText(marked.slice(end + 1))}`
}

/** Prints one line, or several that are separated by NEW_LINE. */
export function print(line: string): void {
  process.stdout.write(`${escapeControls(line)}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

/** Prints a message about the output, such as a warning or an error, to standard error. */
export function printNote(line: string): void {
  process.stderr.write(`${escapeControls(line)}\n`)
}

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

/** Colours text if standard output is a terminal and NO_COLOR is not set. */
export function paint(colour: keyof typeof COLOURS, text: string): string {
  const isColoured = process.stdout.isTTY && process.env['NO_COLOR'] === undefined
  return isColoured ? `${MARK}${COLOURS[colour]}m${text}${MARK}0m` : text
}

/** Aligns columns, without borders. */
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

/** Scripts and symbols that take two columns in most terminals. */
const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u
const NO_WIDTH = /[\p{Mn}\p{Me}\u200B-\u200D]/u
const COLOUR_MARKS = new RegExp(`${MARK}\\d+m`, 'g')
// oxlint-disable-next-line no-control-regex -- the fast path for plain ASCII
const PLAIN = /^[\u0020-\u007E]*$/

/** The number of terminal columns that a line takes. */
export function measureWidth(line: string): number {
  const text = escapeText(line.replace(COLOUR_MARKS, ''))
  if (PLAIN.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += columnsOf(character)
  return columns
}

function columnsOf(character: string): number {
  if (NO_WIDTH.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/** Shortens a line to the given width. A shortened line ends with an ellipsis. */
export function clip(line: string, columns: number): string {
  if (measureWidth(line) <= columns) return line
  const colour = new RegExp(`^${MARK}(\\d+)m`).exec(line)
  let used = 0
  let text = ''
  for (const character of escapeText(line.replace(COLOUR_MARKS, ''))) {
    used += columnsOf(character)
    if (used > columns - 1) break
    text += character
  }
  if (columns < 1) return ''
  return colour === null ? `${text}…` : `${colour[0]}${text}…${MARK}0m`
}

export function formatTimes(value: number): string {
  return value === 1 ? 'once' : `${count(value)} times`
}
