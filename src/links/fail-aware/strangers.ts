/**
 * Nodes with a different configuration. Their messages are ignored, but each gets this node's configuration (Settings) and
 * reports once which setting differs, so the mismatch shows on both sides.
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

/** A peer with a different configuration, its digest, and when the peer was last notified. */
export type Stranger = {
  readonly peer: NodeId
  readonly config: number
  readonly notifiedAt: Micros
  readonly isReported: boolean
}

/** The shortest interval between two notifications of a peer. */
const NOTIFY_INTERVAL: Micros = 1_000_000

/** A message arrived from a peer with another configuration. Null if the peer was notified recently. */
export function metStranger(
  strangers: readonly Stranger[],
  peer: NodeId,
  config: number,
  now: Micros,
): readonly Stranger[] | null {
  const known = strangers.find((stranger) => stranger.peer === peer)
  const isKnown = known !== undefined && known.config === config
  if (isKnown && now - known.notifiedAt < NOTIFY_INTERVAL) return null
  const next: Stranger = { peer, config, notifiedAt: now, isReported: isKnown && known.isReported }
  return [...strangers.filter((stranger) => stranger !== known), next]
}

/** A peer sent its configuration. Returns the mismatch to report; null if it was reported already. */
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
  const next: Stranger = {
    peer,
    config,
    notifiedAt: known?.notifiedAt ?? now - NOTIFY_INTERVAL,
    isReported: true,
  }
  return {
    strangers: [...strangers.filter((stranger) => stranger.peer !== peer), next],
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
 * from it. A node with another protocol differs in that.
 */
function differing(ours: PlainObject, theirs: PlainObject): string | null {
  const all = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
  const fields = all.includes('protocol') ? ['protocol', ...all] : all
  return fields.find((field) => !equalPlain(settingIn(ours, field), settingIn(theirs, field))) ?? null
}

/** Null if there is no such setting. Properties that every object inherits (`constructor`) do not count. */
function settingIn(settings: PlainObject, field: string): Plain {
  return Object.hasOwn(settings, field) ? (settings[field] as Plain) : null
}
