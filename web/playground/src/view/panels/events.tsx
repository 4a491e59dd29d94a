/** Everything that happens in the run, one row per moment. It is also the table view of the two pictures. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Moment, Picture } from '../../engine/picture.ts'
import { colourNumber } from '../colours.ts'
import { countWhile, placeOf } from '../look-up.ts'
import { calmCursor, showsRoutine, store } from '../state.ts'
import { instantOf } from '../time/scale.ts'

const ROW_PX = 26
/** Rows above and below the visible part. */
const SPARE_ROWS = 8

/** Sentences start with their node, which has a column of its own. */
const withoutNode = ({ node, text }: Moment): string =>
  node !== null && text.startsWith(`${node} `) ? text.slice(String(node).length + 1) : text

export function Events({ picture }: { readonly picture: Picture }) {
  const rows = useMemo(
    () =>
      picture.moments.flatMap((moment, number) =>
        showsRoutine.value || !moment.isRoutine ? [{ moment, number }] : [],
      ),
    [picture, showsRoutine.value],
  )
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const current = countWhile(rows, ({ number }) => number <= calmCursor.value.moment) - 1
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const y = current * ROW_PX
    if (y < element.scrollTop || y > element.scrollTop + element.clientHeight - ROW_PX)
      element.scrollTop = y - element.clientHeight / 2
    setView({ top: element.scrollTop, height: element.clientHeight })
  }, [current, rows])
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - SPARE_ROWS)
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_PX) + SPARE_ROWS)
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a list that scrolls must be reachable by keyboard
    <div
      class="event-rows"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Events"
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget
        setView({ top: scrollTop, height: clientHeight })
      }}
    >
      <ol style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(first, last).map(({ moment, number }, order) => (
          <li
            key={number}
            class={`event-row kind-${moment.kind}`}
            style={{ top: `${(first + order) * ROW_PX}px` }}
            aria-current={first + order === current ? 'step' : undefined}
            aria-setsize={rows.length}
            aria-posinset={first + order + 1}
          >
            <button
              type="button"
              tabIndex={first + order === Math.max(0, current) ? 0 : -1}
              onClick={() => {
                store().pause()
                store().seekMoment(number)
              }}
            >
              <time>{instantOf(picture, moment.at, 1)}</time>
              <span
                class={
                  moment.node === null ? '' : `node-colour c${colourNumber(placeOf(picture, moment.node))}`
                }
              >
                {moment.node}
              </span>
              <span class="text" title={moment.text}>
                {withoutNode(moment)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  )
}
