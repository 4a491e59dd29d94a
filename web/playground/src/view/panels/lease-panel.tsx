/** The signature of the page: what is left of each lease in true time, and what its holder believes. */
import { useMemo } from 'preact/hooks'
import { formatMs } from '../../../../src/view/format.ts'
import type { Lane, Picture } from '../../engine/picture.ts'
import { colourNumber } from '../colours.ts'
import { leaseAt } from '../look-up.ts'
import { calmCursor } from '../state.ts'
import { type LeaseLeft, leaseLeft } from '../time/leases.ts'

/** A difference below this is rounding. */
const LEAST_DIFFERENCE = 20
const MOST_SHOWN = 3

/** The largest number of leases at the same time. Room for them stays reserved, so that the pictures do not move. */
function mostRows({ lanes }: Picture): number {
  let most = 1
  for (const lane of lanes) {
    for (const { from } of lane.leases) {
      const held = lanes.filter((each) => leaseAt(each, from) !== null).length
      if (held >= MOST_SHOWN) return MOST_SHOWN
      most = Math.max(most, held)
    }
  }
  return most
}

export function LeasePanel({ picture }: { readonly picture: Picture }) {
  const rows = useMemo(() => mostRows(picture), [picture])
  const { at } = calmCursor.value
  const held = picture.lanes.flatMap((lane, place) => {
    const span = leaseAt(lane, at)
    return span === null ? [] : [{ lane, place, left: leaseLeft(span, at) }]
  })
  if (picture.lanes.every(({ leases }) => leases.length === 0)) return null
  const length = Math.max(1, ...held.map(({ left }) => left.length))
  return (
    <section class="leases" aria-label="Leases" style={{ '--rows': rows }}>
      {held.length === 0 ? (
        <p class="no-lease">
          <b>No node holds a lease.</b> <span>A bar appears here when a node is elected.</span>
        </p>
      ) : null}
      {held.slice(0, MOST_SHOWN).map(({ lane, place, left }) => (
        <LeaseRow key={String(lane.node)} lane={lane} place={place} left={left} length={length} />
      ))}
      {held.length > MOST_SHOWN ? (
        <p class="hint">and {held.length - MOST_SHOWN} more, in the lanes below</p>
      ) : null}
    </section>
  )
}

type LeaseRowProps = {
  readonly lane: Lane
  readonly place: number
  readonly left: LeaseLeft
  readonly length: number
}

const percent = (micros: number, length: number): string =>
  `${(100 * Math.max(0, Math.min(1, micros / length))).toFixed(2)}%`

function LeaseRow({ lane, place, left, length }: LeaseRowProps) {
  const isWrong = left.excess > LEAST_DIFFERENCE
  const isOver = left.truly <= 0
  return (
    <div
      class={`lease-row c${colourNumber(place)} ${isWrong ? 'is-wrong' : ''}`}
      data-node={String(lane.node)}
    >
      <p class="lease-holder">
        <b>{typeof lane.node === 'number' ? `Node ${lane.node}` : lane.node}</b>
        {left.token === null ? null : <span>token {left.token}</span>}
      </p>
      <div class="lease-two" role="img" aria-label={sentenceOf(lane, left)}>
        <div class="lease-track">
          <i class="lease-true" style={{ width: percent(left.truly, length) }} />
          {isWrong ? (
            <i
              class="lease-excess"
              style={{
                left: percent(left.truly, length),
                width: percent(left.believed - Math.max(0, left.truly), length),
              }}
            />
          ) : null}
          <i class="lease-believed" style={{ width: percent(left.believed, length) }} />
        </div>
      </div>
      <p class="lease-numbers">
        <span>
          <i class="key-true" /> true time <b>{isOver ? 'ended' : `${formatMs(left.truly / 1000)} left`}</b>
        </span>
        <span>
          <i class="key-believed" /> {typeof lane.node === 'number' ? `node ${lane.node}` : 'holder'} believes{' '}
          <b>{left.believed <= 0 ? 'ended' : `${formatMs(left.believed / 1000)} left`}</b>
        </span>
      </p>
      <p class="lease-sentence">{sentenceOf(lane, left)}</p>
    </div>
  )
}

export function sentenceOf({ node }: Pick<Lane, 'node'>, { truly, excess }: LeaseLeft): string {
  const by = formatMs(Math.abs(excess) / 1000)
  if (excess > LEAST_DIFFERENCE)
    return truly <= 0
      ? `The lease has ended for all others, but node ${node} believes that it still leads.`
      : `Node ${node} will believe that it leads for ${by} after its lease has ended.`
  if (excess < -LEAST_DIFFERENCE) return `Node ${node} stops ${by} before its lease ends for all others.`
  return `Node ${node} and all others agree on the end of the lease.`
}
