/** The fields of what a process says when it joins: which there are, and what each must look like. */
import { inspect } from 'node:util'
import { nearest } from '../../../core/index.ts'
import { isAbortSignal } from './arguments.ts'
import { InvalidOptionsError } from './errors.ts'
import type { JoinOptions } from './join-options.ts'
import type { StoreJoinOptions } from './join-store-options.ts'

type Check = (value: unknown) => string | null

const named =
  (what: string): Check =>
  (value) =>
    typeof value === 'string' ? null : `is no text: name ${what}`

/** Its own place says what is wrong with it. */
const elsewhere: Check = () => null
const yesOrNo: Check = (value) => (typeof value === 'boolean' ? null : 'is neither true nor false')
const text: Check = (value) => (typeof value === 'string' && value !== '' ? null : 'is no text, or empty')
const wholeFrom =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? null
      : `is not a whole number from ${least} to ${most}`

/** As many as an agent may be told to keep. */
const MOST_STEPS = 1_000_000
const MOST_PRIORITY = 1_000_000

const FIELDS: { readonly [field in keyof JoinOptions | keyof StoreJoinOptions]-?: Check } = {
  group: named('the group'),
  id: named('this process'),
  listen: elsewhere,
  peers: elsewhere,
  key: elsewhere,
  secrecy: yesOrNo,
  data: text,
  protocol: elsewhere,
  store: elsewhere,
  fencing: elsewhere,
  mode: (value) => (value === 'local' || value === 'majority' ? null : 'is neither "local" nor "majority"'),
  profile: (value) =>
    ['lan', 'region', 'wan'].includes(value as string) ? null : 'is none of "lan", "region", "wan"',
  sticky: yesOrNo,
  priority: wholeFrom(-MOST_PRIORITY, MOST_PRIORITY),
  observer: yesOrNo,
  witness: yesOrNo,
  isolation: elsewhere,
  maxStallMs: elsewhere,
  traceSteps: wholeFrom(0, MOST_STEPS),
  options: (value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value) ? null : 'is no object of options',
  signal: (value) => (isAbortSignal(value) ? null : 'is no AbortSignal'),
  healthy: elsewhere,
  healthIntervalMs: elsewhere,
  healthTimeoutMs: elsewhere,
  drainMs: elsewhere,
}

/** Refuses a field that there is not, and one that cannot be what it is. */
export function checkFields(asked: unknown): void {
  if (asked === null || typeof asked !== 'object' || Array.isArray(asked))
    throw new InvalidOptionsError(
      'join',
      `${shown(asked)} is no object: give { group, id, ... }; docs/reference/library.md lists all`,
    )
  for (const [field, value] of Object.entries(asked)) {
    if (!Object.hasOwn(FIELDS, field)) {
      const near = nearest(field, Object.keys(FIELDS))
      const instead =
        near === null ? 'take it out; docs/reference/library.md lists them' : `did you mean ${near}?`
      throw new InvalidOptionsError(field, `there is no such option: ${instead}`)
    }
    const why = value === undefined ? null : FIELDS[field as keyof JoinOptions](value)
    if (why !== null) throw new InvalidOptionsError(field, `${shown(value)} ${why}`)
  }
}

function shown(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value)
    : inspect(value, { depth: 1, breakLength: Infinity })
}
