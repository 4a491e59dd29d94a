/** The log of a process: to standard error, one JSON object or one readable line per event. */
import type { LogLevel } from '../service/config/index.ts'
import { LOG_LEVELS } from '../service/config/index.ts'
import { printNote } from './output.ts'

export type LogFields = { readonly [field: string]: unknown }
export type Log = (event: string, fields: LogFields) => void

export type LogSettings = {
  readonly level: LogLevel
  readonly format: 'json' | 'text'
  /** Fields of every line, before its own. */
  readonly common: LogFields
}

/** How severe an event is. Events that are not listed are `info`. */
const LEVELS: { readonly [event: string]: LogLevel } = { alarm: 'error', failed: 'error', warning: 'warning' }

export function createLog({ level, format, common }: LogSettings): Log {
  const least = LOG_LEVELS.indexOf(level)
  return (event, fields) => {
    if (LOG_LEVELS.indexOf(LEVELS[event] ?? 'info') > least) return
    const line = { time: new Date().toISOString(), ...common, event, ...fields }
    printNote(format === 'json' ? JSON.stringify(line) : formatLine(line))
  }
}

/** `2030-01-02T03:04:05.678Z warning  billing a: the reason (leader b, token 7)`. */
function formatLine(line: LogFields & { readonly event: string }): string {
  // The reason of a change of the level says everything.
  const { time, event, group, id, reason, level: _, ...fields } = line
  const where = [group, id].map(formatValue).filter((part) => part !== '')
  const rest = Object.entries(fields).flatMap(([name, value]) => {
    const text = formatValue(value)
    return text === '' ? [] : [`${name} ${text}`]
  })
  const about = [where.join(' '), formatValue(reason)].filter((part) => part !== '').join(': ')
  return `${formatValue(time)} ${event.padEnd(8)} ${about}${rest.length === 0 ? '' : ` (${rest.join(', ')})`}`
}

/** Empty for null and undefined. */
function formatValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  // The sentence of a cause says everything.
  if (typeof value === 'object' && 'text' in value && typeof value.text === 'string') return value.text
  return JSON.stringify(value)
}
