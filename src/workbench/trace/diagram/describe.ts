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
    ...periods.flatMap(({ node, from, state, text }) =>
      state === 'down' || text === '' ? [] : [{ at: from, text: `${node}: ${text}` }],
    ),
    ...marks.map(({ node, at, type, text }) => ({
      at,
      text: `${node}: ${type === 'timer' ? `timer ${text}` : text}`,
    })),
    ...notices.map(({ at, text }) => ({ at, text })),
  ].sort((a, b) => a.at - b.at)
  const lost = flights.filter(({ lost: why }) => why !== null).length
  const sentences = events.slice(0, MOST_SENTENCES).map(({ at, text }) => `At ${moment(at)}, ${text}.`)
  return [
    `A space-time diagram from ${moment(begin)} to ${moment(end)}: time runs downwards, one lane per node (${nodes.join(', ')}).`,
    `${flights.length} messages are drawn, ${lost} of them lost.`,
    ...sentences,
    ...(sentences.length < events.length ? [`${events.length - sentences.length} more events follow.`] : []),
  ].join(' ')
}
