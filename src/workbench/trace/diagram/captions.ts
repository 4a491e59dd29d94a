/**
 * Chooses the captions, the most important first: network events, events at nodes, node states, commands,
 * messages. Later captions go where space is left, or are omitted. Every line also has a title, and the
 * legend identifies the kinds of messages.
 */
import { messageText } from '../text.ts'
import type { Arrow } from './arrows.ts'
import type { DiagramHistory, Flight } from './history.ts'
import { LabelSpace } from './label-space.ts'
import { alongLine, beside, type Label, shorten } from './labels.ts'
import type { LanePiece, Sign } from './layout.ts'
import type { Place } from './place.ts'

const CAPTION_LENGTH = 30
/** Commands and other events at nodes have more room than messages, which must fit between two lanes. */
const MARK_LENGTH = 44
/** With more messages than this, equal messages of one step get one caption. */
const CROWD = 30

type Drawn = {
  readonly pieces: readonly LanePiece[]
  readonly arrows: readonly Arrow[]
  readonly signs: readonly Sign[]
}

/** Long messages are captioned by their kind alone. */
function captionOf({ bodies }: Flight): string {
  return bodies
    .map((body) => {
      const text = messageText(body)
      return text.length > CAPTION_LENGTH ? body.kind : text
    })
    .join(' + ')
}

export function captionsOf(history: DiagramHistory, place: Place, drawn: Drawn): readonly Label[] {
  const space = new LabelSpace(place.left)
  const lines = drawn.arrows.map(({ from, to }) => space.rule(from, to))
  for (const { x, top, bottom } of drawn.pieces) space.rule({ x, y: top }, { x, y: bottom })
  // The sign of a command lies left of the lane.
  space.occupy(drawn.signs.map(({ type, x, y }) => ({ x: type === 'command' ? x - 4 : x, y })))
  space.occupy(drawn.arrows.flatMap(({ ending, to }) => (ending === 'lost' ? [to] : [])))
  const marksOf = (fate: boolean) =>
    history.marks
      .filter(({ type }) => (type === 'crash' || type === 'restart') === fate)
      .map(({ node, at, type, text }) =>
        beside(space, { x: place.x(node), y: place.y(at) }, shorten(text, MARK_LENGTH), type, 'left'),
      )
  const labels: (Label | null)[] = [
    ...history.notices.map(({ at, text }) =>
      beside(space, { x: place.edge, y: place.y(at) - 8 }, text, 'notice', 'right'),
    ),
    ...marksOf(true),
    ...history.periods.map(({ node, from, state, text }) => {
      // If the node goes down within the picture, the crash mark says so.
      if ((state === 'down' && from > history.begin) || text === '') return null
      return beside(space, { x: place.x(node), y: place.y(from) }, text, state, 'right')
    }),
    ...history.stalls.map(({ node, from, until, word }) => {
      const y = (place.y(from) + place.y(until)) / 2
      return beside(space, { x: place.x(node), y }, word, 'stalled', 'right')
    }),
    ...marksOf(false),
  ]
  const said = new Set<string>()
  for (const [index, arrow] of drawn.arrows.entries()) {
    const { flight } = arrow
    const text = captionOf(flight)
    const whole = arrow.ending === 'lost' ? `${text} lost` : text
    const saying = `${flight.sentAt} ${flight.from} ${whole}`
    if (drawn.arrows.length > CROWD && said.has(saying)) continue
    const label = alongLine(
      space,
      [arrow.from, arrow.to],
      place.lanePx,
      whole,
      flight.kind,
      lines[index] ?? -1,
    )
    if (label !== null) said.add(saying)
    labels.push(label)
  }
  return labels.filter((label) => label !== null)
}
