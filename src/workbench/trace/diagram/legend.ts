/** The legend: a sample and a caption for each symbol that occurs in the picture. */
import type { DiagramHistory, LaneState, Mark } from './history.ts'
import type { Point } from './label-space.ts'
import { widthOf } from './labels.ts'
import type { Layout } from './layout.ts'
import { colourOfKind, cross, head, sign } from './shapes.ts'
import { element, escape } from './xml.ts'

type Entry = {
  readonly caption: string
  readonly samplePx: number
  readonly sample: (at: Point) => string
}

const ROW_PX = 20
const SAMPLE_PX = 34
const SIGN_PX = 16
const GAP_PX = 26
const LEFT_PX = 24

export const LANE_LOOKS: {
  readonly [S in Exclude<LaneState, 'down'>]: { readonly [attribute: string]: string | number }
} = {
  leads: { class: 'leads-line', 'stroke-width': 6 },
  follows: { class: 'ink-line', 'stroke-width': 1.6 },
  leaderless: { class: 'ink-line', 'stroke-width': 1.6, 'stroke-dasharray': '5 4' },
}

const MARK_CAPTIONS: { readonly [T in Mark['type']]: string } = {
  crash: 'crash',
  restart: 'restart',
  timer: 'timer',
  command: 'command',
  link: 'link seen up or down',
  register: 'register answers',
}

/** The legend as XML, and its bottom edge. */
export function legendOf(
  history: DiagramHistory,
  layout: Layout,
  kinds: readonly string[],
): { readonly xml: string; readonly bottom: number } {
  const rows: string[] = []
  let x = LEFT_PX
  let y = layout.bottom + 34
  for (const { caption, samplePx, sample } of entriesOf(history, layout, kinds)) {
    const width = samplePx + 8 + widthOf(caption) + GAP_PX
    if (x > LEFT_PX && x + width - GAP_PX > layout.width - LEFT_PX) {
      x = LEFT_PX
      y += ROW_PX
    }
    rows.push(sample({ x, y }))
    rows.push(element('text', { x: x + samplePx + 8, y: y + 4 }, escape(caption)))
    x += width
  }
  return { xml: rows.join('\n'), bottom: y + ROW_PX }
}

function entriesOf(history: DiagramHistory, layout: Layout, kinds: readonly string[]): readonly Entry[] {
  const line = (look: { readonly [attribute: string]: string | number }) => (at: Point) =>
    element('path', { ...look, d: `M${at.x} ${at.y}h${SAMPLE_PX}` })
  const states = new Set(layout.pieces.map(({ state }) => state))
  const lanes = [
    ['leads', 'leads'],
    ['follows', 'follows a leader'],
    ['leaderless', 'has no leader'],
  ] as const
  const said = new Set(history.flights.map(({ kind }) => kind))
  const types = new Set(history.marks.map(({ type }) => type))
  const middle = ({ x, y }: Point): Point => ({ x: x + SIGN_PX / 2, y })
  const entries: (Entry | null)[] = [
    ...lanes.map(([state, caption]) =>
      states.has(state) ? { caption, samplePx: SAMPLE_PX, sample: line(LANE_LOOKS[state]) } : null,
    ),
    ...kinds.map((kind, index) =>
      said.has(kind)
        ? {
            caption: kind,
            samplePx: SAMPLE_PX,
            sample: (at: Point) =>
              line({ class: `${colourOfKind(index)}-line`, 'stroke-width': 1.4 })(at) +
              head(index, { x: at.x + SAMPLE_PX, y: at.y }, 0),
          }
        : null,
    ),
    layout.arrows.some(({ ending }) => ending === 'lost')
      ? {
          caption: 'lost',
          samplePx: SAMPLE_PX + 4,
          sample: (at) =>
            line({ class: 'quiet-line', 'stroke-width': 1.4 })(at) +
            cross({ x: at.x + SAMPLE_PX, y: at.y }, 3.6),
        }
      : null,
    layout.arrows.some(({ ending }) => ending === 'open')
      ? {
          caption: 'in flight',
          samplePx: SAMPLE_PX,
          sample: line({ class: 'quiet-line', 'stroke-width': 1.4, 'stroke-dasharray': '2 3' }),
        }
      : null,
    ...(Object.keys(MARK_CAPTIONS) as Mark['type'][]).map((type) =>
      types.has(type)
        ? { caption: MARK_CAPTIONS[type], samplePx: SIGN_PX, sample: (at: Point) => sign(type, middle(at)) }
        : null,
    ),
    layout.hatches.length > 0
      ? {
          caption: 'stalled',
          samplePx: SIGN_PX,
          sample: ({ x, y }) => hatch({ x: x + SIGN_PX / 2, top: y - 7, bottom: y + 7 }),
        }
      : null,
    layout.breaks.length > 0
      ? { caption: 'time omitted', samplePx: SIGN_PX, sample: (at) => brokenLane(middle(at)) }
      : null,
  ]
  return entries.filter((entry) => entry !== null)
}

/** A period in which a node is stalled. */
export function hatch({
  x,
  top,
  bottom,
}: {
  readonly x: number
  readonly top: number
  readonly bottom: number
}) {
  const box = { x: x - 8, y: top, width: 16, height: Math.max(2, bottom - top) }
  return (
    element('rect', { ...box, class: 'paper-fill' }) +
    element('rect', { ...box, class: 'stalled-line', style: 'fill:url(#hatch)', 'stroke-width': 1 })
  )
}

/** Two strokes across a lane: time is omitted here. */
export function brokenLane({ x, y }: Point): string {
  const stroke = (dy: number): string => `M${x - 8} ${y + dy + 3}L${x + 8} ${y + dy - 3}`
  return (
    element('path', { class: 'paper-fill', d: `M${x - 8} ${y}L${x + 8} ${y - 6}V${y}L${x - 8} ${y + 6}Z` }) +
    element('path', { class: 'quiet-line', d: stroke(-3) + stroke(3), 'stroke-width': 1.2 })
  )
}
