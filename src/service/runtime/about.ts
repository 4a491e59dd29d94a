/**
 * What processes tell each other about themselves, for operators: a datagram of kind `About`, outside any session and
 * never shown to a protocol. docs/reference/wire.md describes its fields.
 */
import { z } from 'zod'
import type { Message } from '../../core/index.ts'
import type { Cause, CauseKind, EndedTerm, Measured, NodeRole, Spread } from './measured.ts'

export const ABOUT = 'About'

/** The JSON of an `About` stays below this, so that it fits into one frame with its envelope and seal. */
export const MOST_ABOUT_BYTES = 1200
/** In larger groups nodes do not tell whom they hear. */
export const MOST_HEARD = 24
const MOST_GROUPS = 16
export const LONGEST_TEXT = 160
const LONGEST_PAGE = 200
const MOST_MS = 1e10

const KINDS = [
  'started',
  'crashed',
  'late',
  'slow-messages',
  'handed-over',
  'paused',
  'partitioned',
  'slept',
  'stepped-down',
  'unknown',
] as const satisfies readonly CauseKind[]

const CONTROLS = /\p{Cc}/u

/** Texts of other nodes are shown to operators: in terminals, logs and pages. */
function printable(most: number) {
  return z
    .string()
    .max(most)
    .refine((text) => !CONTROLS.test(text), { message: 'must not contain control characters' })
}

const ms = z.number().min(0).max(MOST_MS)
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const spread = z.tuple([ms, ms, ms]).nullable()
const id = z.union([printable(256).min(1), z.number()])

/** The URL of a page is a link on the pages of other agents. */
const page = printable(LONGEST_PAGE).regex(/^https?:\/\/[^\s"'<>]+$/, {
  message: 'must be an HTTP URL',
})

const group = z.strictObject({
  /** The digest of its name. */
  group: count,
  role: z.enum(['voter', 'witness', 'observer']),
  priority: z.int().min(-1_000_000).max(1_000_000).nullable(),
  canStore: z.boolean(),
  sigmaMs: ms,
  deltaMs: ms,
  margin: z.tuple([ms, ms]).nullable(),
  last: z
    .strictObject({
      token: count.nullable(),
      kind: z.enum(KINDS),
      node: id.nullable(),
      text: printable(LONGEST_TEXT),
      msAgo: ms,
    })
    .nullable(),
})

const about = z.strictObject({
  kind: z.literal(ABOUT),
  by: count,
  number: count,
  run: printable(32),
  version: printable(32).nullable(),
  page: page.nullable(),
  windowMs: ms,
  lateness: spread,
  delay: spread,
  /** The last time that it was later than assumed: by how much, and how long ago. */
  late: z.tuple([ms, ms]).nullable(),
  hears: z
    .array(z.tuple([id, ms.nullable(), ms.nullable()]))
    .max(MOST_HEARD)
    .nullable(),
  groups: z.array(group).max(MOST_GROUPS),
})

export type About = Readonly<z.infer<typeof about>>
export type AboutGroup = About['groups'][number]

/** The checked message, or what is wrong with it. */
export function parseAbout(message: Message): About | string {
  const parsed = about.safeParse(message)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`
}

/** What a process tells about one of its groups. */
export type OwnGroup = {
  readonly role: NodeRole
  readonly priority: number | null
  /** Whether it can store its votes. */
  readonly canStore: boolean
  readonly measured: Measured
  readonly last: EndedTerm | null
}

export function encodeGroup(
  digest: number,
  { role, priority, canStore, measured, last }: OwnGroup,
): AboutGroup {
  const { sigmaMs, deltaMs, renewalMarginMs: margin } = measured
  return {
    group: digest,
    role,
    priority,
    canStore,
    sigmaMs,
    deltaMs,
    margin: margin === null ? null : [margin.min, margin.p50],
    last: last === null ? null : encodeEnd(last),
  }
}

function encodeEnd({ token, cause, endedMsAgo }: EndedTerm): AboutGroup['last'] {
  const { kind, node, text } = cause
  return { token, kind, node, text: clip(text), msAgo: Math.max(0, Math.round(endedMsAgo)) }
}

/** The text without control characters, and not too long. */
function clip(text: string): string {
  const shown = text.replaceAll(/\p{Cc}/gu, '')
  return shown.length <= LONGEST_TEXT ? shown : `${shown.slice(0, LONGEST_TEXT - 1)}…`
}

/** Null if the URL must not be sent. */
export function clipPage(url: string | null): string | null {
  return page.safeParse(url).success ? url : null
}

export function spreadIn(values: About['lateness']): Spread | null {
  if (values === null) return null
  const [p50, p99, max] = values
  return { p50, p99, max }
}

export function spreadOut(measured: Spread | null): About['lateness'] {
  return measured === null ? null : [measured.p50, measured.p99, measured.max]
}

/** What a node reported about a group, `agoMs` milliseconds ago. */
export function groupIn(
  { windowMs, lateness, delay, groups }: About,
  digest: number,
  agoMs: number,
): OwnGroup | null {
  const found = groups.find((each) => each.group === digest)
  if (found === undefined) return null
  const { role, priority, canStore, sigmaMs, deltaMs, margin, last } = found
  const measured: Measured = {
    windowMs,
    latenessMs: spreadIn(lateness),
    sigmaMs,
    delayMs: spreadIn(delay),
    deltaMs,
    renewalMarginMs: margin === null ? null : { min: margin[0], p50: margin[1] },
  }
  return { role, priority, canStore, measured, last: last === null ? null : endIn(last, agoMs) }
}

function endIn(
  { token, kind, node, text, msAgo }: NonNullable<AboutGroup['last']>,
  agoMs: number,
): EndedTerm {
  const cause: Cause = { kind, node, text }
  return { token, cause, endedMsAgo: msAgo + agoMs }
}
