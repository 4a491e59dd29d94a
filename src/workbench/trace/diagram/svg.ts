/** Writes a layout as SVG: no scripts, no external fonts or files, light and dark. */
import type { Arrow } from './arrows.ts'
import type { DiagramHistory } from './history.ts'
import type { Point } from './label-space.ts'
import type { Label, Look } from './labels.ts'
import type { Layout } from './layout.ts'
import { brokenLane, hatch, LANE_LOOKS, legendOf } from './legend.ts'
import { colourOfKind, cross, head, sign } from './shapes.ts'
import { styleSheet } from './style.ts'
import { decimal, element, escape } from './xml.ts'

export type Heading = { readonly title: string; readonly description: string }

/** `kinds`: determines colour and shape of each kind of message, in this order. */
export function svgOf(
  history: DiagramHistory,
  layout: Layout,
  kinds: readonly string[],
  { title, description }: Heading,
): string {
  const legend = legendOf(history, layout, kinds)
  const { width } = layout
  const height = Math.ceil(legend.bottom)
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">`,
    element('title', { id: 'title' }, escape(title)),
    element('desc', { id: 'description' }, escape(description)),
    element('style', {}, `\n${styleSheet()}\n`),
    HATCH,
    element('rect', { class: 'paper-fill', width, height }),
    element('text', { class: 'title', x: 24, y: 30 }, escape(title)),
    ...axis(history, layout),
    ...layout.rules.map((y) =>
      element('path', {
        class: 'quiet-line',
        d: `M${layout.axisX} ${decimal(y)}H${width - 12}`,
        'stroke-width': 1,
        'stroke-dasharray': '1 3',
      }),
    ),
    ...lanes(layout),
    ...layout.hatches.map((each) => withTitle(each.title, hatch(each))),
    ...layout.breaks.flatMap(({ top, bottom }) => {
      const y = (top + bottom) / 2
      return layout.pieces
        .filter((piece) => piece.top < y && piece.bottom > y)
        .map(({ x }) => brokenLane({ x, y }))
    }),
    ...layout.arrows.map((arrow) => message(arrow, kinds)),
    ...layout.signs.map((each) => withTitle(each.title, sign(each.type, each))),
    ...layout.labels.map((label) => labelText(label, kinds)),
    legend.xml,
    '</svg>',
  ].join('\n')}\n`
}

const HATCH = element(
  'defs',
  {},
  element(
    'pattern',
    { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    element('path', { class: 'stalled-line', d: 'M1 0V6', 'stroke-width': 1.6 }),
  ),
)

function withTitle(title: string, ...children: readonly string[]): string {
  return element('g', {}, element('title', {}, escape(title)), ...children)
}

function axis({ timed }: DiagramHistory, { axisX, nameY, ticks, breaks }: Layout): readonly string[] {
  const beside = (y: number, text: string, look: string): string =>
    element('text', { class: look, x: axisX - 8, y: y + 4, 'text-anchor': 'end' }, text)
  return [
    beside(nameY, timed ? 'ms' : 'step', 'quiet-text'),
    ...ticks.flatMap(({ y, text }) => [
      element('path', { class: 'quiet-line', d: `M${axisX - 4} ${decimal(y)}h8`, 'stroke-width': 1 }),
      beside(y, text, 'quiet-text'),
    ]),
    ...breaks.map(({ top, bottom, text }) => beside((top + bottom) / 2, text, 'quiet-text slant')),
  ]
}

function lanes({ lanes: all, pieces, nameY }: Layout): readonly string[] {
  return [
    ...all.map(({ x, name, node }) =>
      element(
        'text',
        { class: 'name', x, y: nameY + 4, 'text-anchor': 'middle' },
        element('title', {}, escape(String(node))),
        escape(name),
      ),
    ),
    ...pieces.map(({ state, x, top, bottom, title }) =>
      withTitle(
        title,
        element('path', { ...LANE_LOOKS[state], d: `M${decimal(x)} ${decimal(top)}V${decimal(bottom)}` }),
      ),
    ),
  ]
}

/** Distance of an arrow's tip from the lane. */
const CLEAR_PX = 3
const BULGE_PX = 40

function message({ from, to, flight, seenSent, ending, title }: Arrow, kinds: readonly string[]): string {
  const kind = kinds.indexOf(flight.kind)
  const line = {
    class: `${colourOfKind(kind)}-line`,
    'stroke-width': 1.4,
    ...(ending === 'open' ? { 'stroke-dasharray': '2 3' } : {}),
  }
  const dot = (at: Point): string =>
    element('circle', { class: `${colourOfKind(kind)}-fill`, cx: at.x, cy: at.y, r: 2.4 })
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const back = ending === 'arrives' && length > CLEAR_PX ? CLEAR_PX / length : 0
  const tip = { x: to.x - (to.x - from.x) * back, y: to.y - (to.y - from.y) * back }
  const toSelf = flight.from === flight.to
  const path = toSelf
    ? `M${decimal(from.x)} ${decimal(from.y)}C${decimal(from.x + BULGE_PX)} ${decimal(from.y)} ${decimal(to.x + BULGE_PX)} ${decimal(to.y)} ${decimal(tip.x + 3)} ${decimal(tip.y)}`
    : `M${decimal(from.x)} ${decimal(from.y)}L${decimal(tip.x)} ${decimal(tip.y)}`
  const degrees = toSelf ? 180 : (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI
  const end = ending === 'arrives' ? head(kind, tip, degrees) : ending === 'lost' ? cross(to, 4) : ''
  return withTitle(title, element('path', { ...line, d: path }), seenSent ? dot(from) : '', end)
}

/** Text styles by topic. Text about messages has the colour of their kind. */
const LOOKS: { readonly [L in Exclude<Look, 'message'>]: string } = {
  crash: 'bad-text strong',
  restart: 'ink-text strong',
  leads: 'leads-text strong',
  follows: 'ink-text',
  leaderless: 'ink-text slant',
  down: 'quiet-text slant',
  stalled: 'stalled-text strong',
  notice: 'quiet-text strong',
  timer: 'quiet-text slant',
  command: 'ink-text strong',
  link: 'quiet-text',
  register: 'quiet-text',
}

function labelText({ x, y, text, anchor, angle, look, kind }: Label, kinds: readonly string[]): string {
  const colour = look === 'message' ? `${colourOfKind(kinds.indexOf(kind ?? ''))}-text` : LOOKS[look]
  const turn =
    Math.round(angle) === 0 ? {} : { transform: `rotate(${decimal(angle)} ${decimal(x)} ${decimal(y)})` }
  return element('text', { class: `label ${colour}`, x, y, 'text-anchor': anchor, ...turn }, escape(text))
}
