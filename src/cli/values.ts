/** Parses the values of flags. Every error names the flag and says what to write. */
import { FAULT_KINDS, type FaultKind, type Plain, type PlainObject } from '../core/index.ts'
import { UsageError } from './errors.ts'

/** Parses `A..B` or a single number. */
export function parseRange(flag: string, text: string, minimum: number): readonly [number, number] {
  const match = /^(-?\d+)(?:\.\.(-?\d+))?$/.exec(text)
  if (match === null)
    throw new UsageError(`${flag} ${text}: write a number, or a range such as 1..1000`, flag)
  const first = Number(match[1])
  const last = match[2] === undefined ? first : Number(match[2])
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) {
    throw new UsageError(`${flag} ${text}: must be at most ${Number.MAX_SAFE_INTEGER}`, flag)
  }
  if (last < first)
    throw new UsageError(`${flag} ${text}: the range is reversed; write ${last}..${first}`, flag)
  if (first < minimum) throw new UsageError(`${flag} ${text}: must be at least ${minimum}`, flag)
  return [first, last]
}

export function parseWholeNumber(flag: string, text: string, minimum: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw new UsageError(`${flag} ${text}: write a whole number`, flag)
  if (value < minimum) throw new UsageError(`${flag} ${text}: must be at least ${minimum}`, flag)
  return value
}

export function parseNumber(flag: string, text: string): number {
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value)) throw new UsageError(`${flag} ${text}: write a number, such as 1 or 0.5`, flag)
  return value
}

/** Parses an instant or a duration. Fractions count down to a microsecond. */
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

/** Parses `NAME=VALUE` for each `--option`. A value that is not JSON is a string. */
export function parseOptions(texts: readonly string[]): PlainObject {
  const values = texts.map((text): readonly [string, Plain] => {
    const at = text.indexOf('=')
    if (at <= 0) throw new UsageError(`--option ${text}: write NAME=VALUE`, '--option')
    return [text.slice(0, at), parseValue(text.slice(at + 1))]
  })
  return Object.fromEntries(values)
}

function parseValue(text: string): Plain {
  try {
    return JSON.parse(text) as Plain
  } catch {
    return text
  }
}

/** Parses `none`, `swarm` (all faults that the protocol tolerates), or fault kinds separated by commas. */
export function parseFaults(
  text: string,
  protocol: string,
  tolerated: readonly FaultKind[],
): readonly FaultKind[] {
  if (text === 'none') return []
  if (text === 'swarm') return tolerated
  return text.split(',').map((word) => {
    const kind = FAULT_KINDS.find((each) => each === word)
    if (kind !== undefined && tolerated.includes(kind)) return kind
    const problem =
      kind === undefined
        ? `"${word}" is unknown; write none, swarm, or kinds from ${FAULT_KINDS.join(', ')}`
        : `${protocol} does not tolerate "${word}"; it tolerates ${tolerated.join(', ') || 'no faults'}`
    throw new UsageError(`--faults ${text}: ${problem}`, '--faults')
  })
}

/** Collects the values of a flag that can be repeated. */
export function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value]
}
