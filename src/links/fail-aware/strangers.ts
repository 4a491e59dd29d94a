/**
 * Processes that are configured differently. They are not heard, but each is told what is expected here (Settings), and
 * whoever is told so says it once, naming the setting that differs: so it shows on both sides.
 */
import {
  equalPlain,
  hashPlain,
  isList,
  type Message,
  type Micros,
  type NodeId,
  type Output,
  type Plain,
  type PlainObject,
} from '../../core/index.ts'

export type Settings = { readonly kind: 'Settings'; readonly agreed: PlainObject }

/** A peer that is configured differently, by what it said, and when it was last told so. */
export type Stranger = {
  readonly peer: NodeId
  readonly config: number
  readonly toldAt: Micros
  readonly isReported: boolean
}

/** Whoever is configured differently is told so at most this often. */
const TELL_AGAIN: Micros = 1_000_000

/** Something came from a peer with another configuration: it must be told, unless it was told just now (null). */
export function metStranger(
  strangers: readonly Stranger[],
  peer: NodeId,
  config: number,
  now: Micros,
): readonly Stranger[] | null {
  const known = strangers.find((stranger) => stranger.peer === peer)
  const isKnown = known !== undefined && known.config === config
  if (isKnown && now - known.toldAt < TELL_AGAIN) return null
  const told: Stranger = { peer, config, toldAt: now, isReported: isKnown && known.isReported }
  return [...strangers.filter((stranger) => stranger !== known), told]
}

/** A peer says how it is configured: what to report, or null when there is nothing new in it. */
export function heardSettings(
  strangers: readonly Stranger[],
  peer: NodeId,
  ours: PlainObject,
  theirs: PlainObject,
  now: Micros,
): { readonly strangers: readonly Stranger[]; readonly mismatch: Output } | null {
  const config = hashPlain(theirs)
  const known = strangers.find((stranger) => stranger.peer === peer && stranger.config === config)
  const field = differing(ours, theirs)
  if (field === null || known?.isReported === true) return null
  const told: Stranger = { peer, config, toldAt: known?.toldAt ?? now - TELL_AGAIN, isReported: true }
  return {
    strangers: [...strangers.filter((stranger) => stranger.peer !== peer), told],
    mismatch: {
      type: 'mismatch',
      peer,
      field,
      ours: settingIn(ours, field),
      theirs: settingIn(theirs, field),
    },
  }
}

/** More settings than any group agrees on, and a name or text longer than any of them. */
const MOST_SETTINGS = 64
const LONGEST_TEXT = 1024

/**
 * What is wrong with Settings: they are shown to people and handed to applications, so they are flat. A setting is a
 * number, a text, a flag, or a list or table of those.
 */
export function settingsFault(body: Message): string | null {
  if (body.kind !== 'Settings') return null
  const fields = Object.keys(body)
  const { agreed } = body as { readonly agreed?: Plain }
  if (fields.length !== 2 || agreed === undefined || agreed === null)
    return 'Settings: must have settings only'
  if (typeof agreed !== 'object' || isList(agreed)) return 'Settings.agreed: must be an object'
  const entries = Object.entries(agreed)
  if (entries.length > MOST_SETTINGS) return `Settings.agreed: must have at most ${MOST_SETTINGS} entries`
  for (const [name, value] of entries) {
    const inner = value === null || typeof value !== 'object' ? [value] : Object.values(value)
    const names =
      value === null || typeof value !== 'object' || isList(value) ? [name] : [name, ...Object.keys(value)]
    const isFlat = inner.every((each) => each === null || typeof each !== 'object')
    if (!isFlat) return `Settings.agreed.${name.slice(0, LONGEST_TEXT)}: is nested too deeply`
    const isShort = [...names, ...inner].every(
      (each) => typeof each !== 'string' || each.length <= LONGEST_TEXT,
    )
    if (!isShort) return `Settings.agreed: has a text of more than ${LONGEST_TEXT} characters`
  }
  return null
}

export function isSettings(body: { readonly kind: string; readonly agreed?: Plain }): body is Settings {
  const { agreed } = body
  if (body.kind !== 'Settings' || agreed === undefined) return false
  return agreed !== null && typeof agreed === 'object' && !isList(agreed)
}

/**
 * The first setting in which two differ, in the order in which they are listed: what was set comes before what follows
 * from it. Whoever runs another protocol differs in that.
 */
function differing(ours: PlainObject, theirs: PlainObject): string | null {
  const all = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
  const fields = all.includes('protocol') ? ['protocol', ...all] : all
  return fields.find((field) => !equalPlain(settingIn(ours, field), settingIn(theirs, field))) ?? null
}

/** Null where there is no such setting, whatever every object has by that name (`constructor`). */
function settingIn(settings: PlainObject, field: string): Plain {
  return Object.hasOwn(settings, field) ? (settings[field] as Plain) : null
}
