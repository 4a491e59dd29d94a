/** What the pictures show of the instant of the cursor, as tables: for screen readers, and to copy numbers from. */
import type { Picture } from '../../engine/picture.ts'
import { leaseAt, networkAt, ownElapsed, roleAfter } from '../look-up.ts'
import { conditionAt, wordOf } from '../node-words.ts'
import { calmCursor, flights, showsRoutine } from '../state.ts'
import { formatInstant, instantOf } from './scale.ts'

const left = (micros: number | undefined): string =>
  micros === undefined ? '–' : micros <= 0 ? 'ended' : formatInstant(micros, 10)

export function NodesTable({ picture }: { readonly picture: Picture }) {
  const now = calmCursor.value
  const network = networkAt(picture, now.at)
  const flying = flights.value
    .after(now.moment, now.at)
    .filter(({ isRoutine }) => showsRoutine.value || !isRoutine)
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reachable by keyboard
    <div class="tables" role="group" aria-label="The pictures as tables" tabIndex={0}>
      <table>
        <caption>Nodes at {instantOf(picture, now.at, 1)}</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State</th>
            <th scope="col">Leader</th>
            <th scope="col">Token</th>
            <th scope="col">Lease left, true time</th>
            <th scope="col">Lease left, as believed</th>
            <th scope="col">Clock off by</th>
          </tr>
        </thead>
        <tbody>
          {picture.lanes.map((lane) => {
            const role = roleAfter(lane, now.moment)
            const lease = leaseAt(lane, now.at)
            return (
              <tr key={String(lane.node)}>
                <th scope="row">{lane.node}</th>
                <td>{wordOf(conditionAt(lane, now))}</td>
                <td>{role?.leader ?? '–'}</td>
                <td>{role?.token ?? '–'}</td>
                <td>{left(lease === null ? undefined : lease.until - now.at)}</td>
                <td>{left(lease === null ? undefined : lease.believed - now.at)}</td>
                <td>{formatInstant(Math.round(ownElapsed(lane, now.at) - now.at), 1)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <table>
        <caption>Messages in flight</caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Sent</th>
          </tr>
        </thead>
        <tbody>
          {flying.map(({ message, copy, kind, from, to, sentAt }) => (
            <tr key={`${message} ${copy}`}>
              <th scope="row">{kind}</th>
              <td>{from}</td>
              <td>{to}</td>
              <td>{instantOf(picture, sentAt, 1)}</td>
            </tr>
          ))}
          {flying.length === 0 ? (
            <tr>
              <td colSpan={4}>none</td>
            </tr>
          ) : null}
        </tbody>
      </table>
      <p>
        {network === null || network.closed.length === 0
          ? 'All links work.'
          : `Cut: ${network.closed.map(([from, to]) => `${from} to ${to}`).join(', ')}.`}
      </p>
    </div>
  )
}
