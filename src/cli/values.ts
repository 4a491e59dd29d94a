/** Values as they are written on a command line. */
import { FAULT_KINDS, type FaultKind, type Plain, type PlainObject } from '../core/index.ts'
import { UsageError } from './errors.ts'

/** `A..B` or a single number. */
export function parseRange(flag: string, text: string, least: number): readonly [number, number] {
  const match = /^(-?\d+)(?:\.\.(-?\d+))?$/.exec(text)
  if (match === null)
    throw new UsageError(`${flag} ${text}: write a number, or a range such as 1..1000`, flag)
  const first = Number(match[1])
  const last = match[2] === undefined ? first : Number(match[2])
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) {
    throw new UsageError(`${flag} ${text}: the numbers are too large`, flag)
  }
  if (last < first)
    throw new UsageError(`${flag} ${text}: the range runs backwards; write ${last}..${first}`, flag)
  if (first < least) throw new UsageError(`${flag} ${text}: must be at least ${least}`, flag)
  return [first, last]
}

export function parseWholeNumber(flag: string, text: string, least: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw new UsageError(`${flag} ${text}: write a whole number`, flag)
  if (value < least) throw new UsageError(`${flag} ${text}: must be at least ${least}`, flag)
  return value
}

/** A moment or a duration; fractions down to a microsecond count. */
export function parseMilliseconds(flag: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value) || value > Number.MAX_SAFE_INTEGER / 1000)
    throw new UsageError(`${flag} ${text}: write a number of milliseconds, such as 1000 or 0.5`, flag)
  return value
}

export function parseChoice<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === text)
  if (choice === undefined)
    throw new UsageError(`${flag} ${text}: must be one of ${choices.join(', ')}`, flag)
  return choice
}

/** `NAME=VALUE`, repeated; the value is JSON where it reads as JSON, and text otherwise. */
export function parseOptions(texts: readonly string[]): PlainObject {
  const values = texts.map((text): readonly [string, Plain] => {
    const at = text.indexOf('=')
    if (at <= 0) throw new UsageError(`--option ${text}: write NAME=VALUE`, '--option')
    return [text.slice(0, at), valueOf(text.slice(at + 1))]
  })
  return Object.fromEntries(values)
}

function valueOf(text: string): Plain {
  try {
    return JSON.parse(text) as Plain
  } catch {
    return text
  }
}

/** `none`, `swarm` (whatever the protocol bears), or kinds of faults separated by commas. */
export function parseFaults(text: string, name: string, borne: readonly FaultKind[]): readonly FaultKind[] {
  if (text === 'none') return []
  if (text === 'swarm') return borne
  return text.split(',').map((word) => {
    const kind = FAULT_KINDS.find((each) => each === word)
    if (kind !== undefined && borne.includes(kind)) return kind
    const problem =
      kind === undefined
        ? `"${word}" is not none, swarm or one of ${FAULT_KINDS.join(', ')}`
        : `${name} does not bear "${word}" (it bears ${borne.join(', ') || 'none'})`
    throw new UsageError(`--faults ${text}: ${problem}`, '--faults')
  })
}
