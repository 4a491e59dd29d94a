/** The leader, since when it leads, its token, and how much of the lease is left. */
import { useMemo } from 'preact/hooks'
import { proposed } from '../data/act.ts'
import { clockMs, ids, local, sinceDataMs, statusAtMs } from '../data/store.ts'
import type { Status } from '../data/types.ts'
import { DASH, formatMs } from '../view/format.ts'
import { leaseOf, leaseText, marginTexts } from '../view/lease.ts'
import { colourOf, handOverFor } from '../view/nodes.ts'
import { timingOf } from '../view/timing.ts'
import { Card } from './card.tsx'
import { LeaseBar } from './lease-bar.tsx'
import { LevelLine } from './level-line.tsx'

export function LeaderCard({ status }: { readonly status: Status }) {
  const { leader, leaderSince } = status
  const what = handOverFor(status, local.value)
  const timing = timingOf(status)
  const tools =
    what === null ? undefined : (
      <button type="button" class="quiet" onClick={() => (proposed.value = { what, to: null })}>
        Step down …
      </button>
    )
  return (
    <Card name="leader" title="Leader" tools={tools}>
      {leader === null ? (
        <NoLeader status={status} />
      ) : (
        <>
          <dl class="facts">
            <div class="leader-id">
              <dt>id</dt>
              <dd
                class={`name node-colour c${colourOf(ids.value, String(leader.id))}`}
                title={String(leader.id)}
              >
                {leader.id}
              </dd>
            </div>
            <div>
              <dt>token</dt>
              <dd>{leader.token ?? DASH}</dd>
            </div>
            <div>
              <dt>leads for</dt>
              <dd>{leaderSince === null ? DASH : formatMs(leaderSince.msAgo + sinceDataMs.value)}</dd>
            </div>
            {timing === null || timing.failover === null ? null : (
              <div title="From the crash of the leader until another node leads, at the present level">
                <dt>failover</dt>
                <dd>
                  {timing.failover.typical} <span class="hint">at most {timing.failover.worst}</span>
                </dd>
              </div>
            )}
          </dl>
          <Lease status={status} />
        </>
      )}
      {timing === null ? null : <LevelLine timing={timing} />}
    </Card>
  )
}

function NoLeader({ status: { leaderlessMs } }: { readonly status: Status }) {
  const forMs = (leaderlessMs ?? 0) + sinceDataMs.value
  return (
    <>
      <dl class="facts">
        <div class="leader-id">
          <dt>id</dt>
          <dd class="none">none</dd>
        </div>
        <div>
          <dt>without a leader for</dt>
          <dd>{formatMs(forMs)}</dd>
        </div>
      </dl>
      <p class="lease-text">No node may act as the leader now.</p>
    </>
  )
}

function Lease({ status }: { readonly status: Status }) {
  const lease = useMemo(() => leaseOf(status), [status])
  if (lease === null) return <p class="lease-text">This protocol has no leases.</p>
  const ageMs = Math.max(0, clockMs.value - statusAtMs.value)
  const text = leaseText(lease)
  const { expected, measured } = marginTexts(lease)
  return (
    <div class="lease">
      <LeaseBar lease={lease} observedAtMs={statusAtMs.value} text={`Lease: ${text}`} />
      <p class="lease-text">
        <span>
          Lease: <b>{text}</b>, {formatMs(ageMs)} ago
        </span>
        <span class="hint marks">
          <span>
            <i class="mark-margin" aria-hidden="true" />
            {expected}
          </span>
          {measured === null ? null : (
            <span>
              <i class="mark-measured" aria-hidden="true" />
              {measured}
            </span>
          )}
        </span>
      </p>
    </div>
  )
}
