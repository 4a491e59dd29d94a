/** Glyphs of the playground. Shapes differ, so that no meaning depends on colour or on fonts. */

const PATHS = {
  leads: 'M8 .8l2.1 4.6 5 .6-3.7 3.4 1 5L8 11.9l-4.4 2.5 1-5L.9 6l5-.6Z',
  follows: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  candidate: 'M8 2.2 14.4 13.4H1.6Zm0 3.4-3.6 6.2h7.2Z',
  observer: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Zm0 1.8a3.7 3.7 0 1 1 0 7.4 3.7 3.7 0 0 1 0-7.4Z',
  crashed: 'M3.8 2.4 2.4 3.8 6.6 8l-4.2 4.2 1.4 1.4L8 9.4l4.2 4.2 1.4-1.4L9.4 8l4.2-4.2-1.4-1.4L8 6.6Z',
  paused: 'M3.5 2.5h3v11h-3Zm6 0h3v11h-3Z',
  suspended: 'M9.5 1.5a6.7 6.7 0 1 0 5 10.1A5.6 5.6 0 0 1 9.5 1.5Z',
  play: 'M4 2.2 13.6 8 4 13.8Z',
  pause: 'M3.5 2.5h3v11h-3Zm6 0h3v11h-3Z',
  forward: 'M2.5 2.5 9 8l-6.5 5.5Zm8 0h2.6v11h-2.6Z',
  back: 'M13.5 2.5 7 8l6.5 5.5Zm-8 0H2.9v11h2.6Z',
  start: 'M2 2.5h2.2v11H2ZM9 8l5.5-5.5v11ZM4.2 8l5.3-5.5v11Z',
  end: 'M14 2.5h-2.2v11H14ZM7 8 1.5 2.5v11ZM11.8 8 6.5 2.5v11Z',
  close: 'M4.2 3 3 4.2 6.8 8 3 11.8 4.2 13 8 9.2l3.8 3.8 1.2-1.2L9.2 8 13 4.2 11.8 3 8 6.8Z',
} as const

export type MarkName = keyof typeof PATHS

export function Mark({ name }: { readonly name: MarkName }) {
  return (
    <svg class={`glyph mark-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  )
}
