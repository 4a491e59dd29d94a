/** The banner: a level as colour, glyph and word, and the agent's own sentence. */
import type { Level, Status } from '../data/types.ts'

export type BannerLevel = Level | 'connecting' | 'lost'

export type Banner = {
  readonly level: BannerLevel
  /** The first words of the sentence, shown large. */
  readonly word: string
  readonly rest: string
}

const WORDS: { readonly [level in Level]: RegExp } = {
  healthy: /^healthy: /,
  degraded: /^degraded: /,
  'at-risk': /^at risk: /,
  'no-leader': /^no leader (?=in )/,
  alarm: /^SAFETY ALARM (?=in )/,
}

export const LEVEL_NAMES: { readonly [level in BannerLevel]: string } = {
  healthy: 'Healthy',
  degraded: 'Degraded',
  'at-risk': 'At risk',
  'no-leader': 'No leader',
  alarm: 'SAFETY ALARM',
  connecting: 'Connecting',
  lost: 'Connection lost',
}

/** From best to worst, as the ladder shows them. */
export const LADDER: readonly Level[] = ['healthy', 'degraded', 'at-risk', 'no-leader', 'alarm']

export function bannerOf({ level, banner }: Pick<Status, 'level' | 'banner'>): Banner {
  return { level, word: LEVEL_NAMES[level], rest: banner.replace(WORDS[level], '') }
}
