/** A text description of the diagram, for screen readers. */
import { type Micros, msOf } from '../../../core/index.ts'
import type { DiagramHistory } from './history.ts'

/** A transcript is more useful beyond this. */
const MOST_SENTENCES = 60

export function describe({
  nodes,
  timed,
  begin,
  end,
  flights,
  periods,
  marks,
  notices,
}: DiagramHistory): string {
  const moment = (at: Micros): string => (timed ? `${msOf(at)} ms` : `step ${msOf(at)}`)
  const events = [
    ...periods.flatMap(({ node, from, state: standing, text: words }) =>
      standing === 'down' || words === '' ? [] : [{ at: from, text: `${node}: ${words}` }],
    ),
    ...marks.map(({ node, at, type, text }) => ({
      at,
      text: `${node}: ${type === 'timer' ? `timer ${text}` : text}`,
    })),
    ...notices.map(({ at, text }) => ({ at, text })),
  ].sort((a, b) => a.at - b.at)
  const lost = flights.filter(({ lost: why }) => why !== null).length
  const told = events.slice(0, MOST_SENTENCES).map(({ at, text }) => `At ${moment(at)}, ${text}.`)
  return [
    `A space-time diagram from ${moment(begin)} to ${moment(end)}: time runs downwards, a lane a node (${nodes.join(', ')}).`,
    `${flights.length} messages are drawn, ${lost} of them lost.`,
    ...told,
    ...(told.length < events.length ? [`${events.length - told.length} more events follow.`] : []),
  ].join(' ')
}
