/** Own glyphs: shapes differ, so that no meaning depends on colour or on the fonts of the reader. */
import type { BannerLevel } from '../view/banner.ts'
import type { NodeState } from '../view/nodes.ts'

export type GlyphName = BannerLevel | NodeState | 'cut' | 'one-way' | 'warning'

const PATHS: { readonly [name in GlyphName]: string } = {
  healthy: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.7 5-4.6 5.1L4.3 8.4l1.1-1.1 1.7 1.6 3.5-3.9Z',
  degraded: 'M8 1.2 15.4 14.4H.6Zm-.8 4.3v4.7h1.6V5.5Zm0 5.8v1.6h1.6v-1.6Z',
  'at-risk': 'M8 .4 15.6 8 8 15.6.4 8Zm-.8 3.8v4.9h1.6V4.2Zm0 6v1.6h1.6v-1.6Z',
  'no-leader':
    'M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.9 3.8L4.8 5.9 6.9 8l-2.1 2.1 1.1 1.1L8 9.1l2.1 2.1 1.1-1.1L9.1 8l2.1-2.1-1.1-1.1L8 6.9Z',
  alarm:
    'M1 1h14v14H1Zm3.4 2.6.5 6h1.4l.5-6Zm4.8 0 .5 6h1.4l.5-6ZM4.8 10.8v1.7h1.6v-1.7Zm4.8 0v1.7h1.6v-1.7Z',
  connecting: 'M8 1a7 7 0 1 0 7 7h-1.7A5.3 5.3 0 1 1 8 2.7Z',
  lost: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.7c1.2 0 2.4.4 3.3 1.1l-7.5 7.5A5.3 5.3 0 0 1 8 2.7Zm4.2 2A5.3 5.3 0 0 1 4.7 12.2Z',
  leads: 'M8 .8l2.1 4.6 5 .6-3.7 3.4 1 5L8 11.9l-4.4 2.5 1-5L.9 6l5-.6Z',
  reachable: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  unreachable: 'M3.8 2.4 2.4 3.8 6.6 8l-4.2 4.2 1.4 1.4L8 9.4l4.2 4.2 1.4-1.4L9.4 8l4.2-4.2-1.4-1.4L8 6.6Z',
  unwritable: 'M8 1.2 15.4 14.4H.6Zm-.8 4.3v4.7h1.6V5.5Zm0 5.8v1.6h1.6v-1.6Z',
  paused: 'M3.5 2.5h3v11h-3Zm6 0h3v11h-3Z',
  down: 'M3 3h10v10H3Zm1.6 1.6v6.8h6.8V4.6Z',
  cut: 'M3.8 2.4 2.4 3.8 6.6 8l-4.2 4.2 1.4 1.4L8 9.4l4.2 4.2 1.4-1.4L9.4 8l4.2-4.2-1.4-1.4L8 6.6Z',
  'one-way': 'M1 7h9V3.5L15 8l-5 4.5V9H1Z',
  warning: 'M8 1.2 15.4 14.4H.6Zm-.8 4.3v4.7h1.6V5.5Zm0 5.8v1.6h1.6v-1.6Z',
}

export function Glyph({ name }: { readonly name: GlyphName }) {
  return (
    <svg class={`glyph glyph-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  )
}
