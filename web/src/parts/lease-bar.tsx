/**
 * The lease bar. The pale part is what was left when the agent looked; the strong part is what is certainly left now,
 * without counting on renewals that this page has not heard of. So it shrinks until the next data arrives.
 */
import { useEffect, useRef } from 'preact/hooks'
import { certainShare, type LeaseView } from '../view/lease.ts'
import { wantsLittleMotion } from './hooks.ts'

export type LeaseBarProps = {
  readonly lease: LeaseView
  readonly observedAtMs: number
  readonly text: string
}

const percent = (share: number): string => `${(100 * share).toFixed(2)}%`

export function LeaseBar({ lease, observedAtMs, text }: LeaseBarProps) {
  const certain = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = certain.current
    if (element === null) return undefined
    let frame = 0
    const draw = (): void => {
      const share = certainShare(lease, performance.now() - observedAtMs)
      element.style.transform = `scaleX(${share.toFixed(4)})`
      if (share > 0) frame = requestAnimationFrame(draw)
    }
    if (wantsLittleMotion()) element.style.transform = `scaleX(${lease.observedShare.toFixed(4)})`
    else draw()
    return () => cancelAnimationFrame(frame)
  }, [lease, observedAtMs])
  return (
    <div class="lease-bar" role="img" aria-label={text}>
      <div class="lease-observed" style={{ width: percent(lease.observedShare) }} />
      <div class="lease-certain" ref={certain} />
      <div
        class="lease-margin"
        style={{ left: percent(lease.marginShare) }}
        title="Renewal margin, expected"
      />
      {lease.measuredShare === null ? null : (
        <div
          class="lease-measured"
          style={{ left: percent(lease.measuredShare) }}
          title="Renewal margin, measured"
        />
      )}
    </div>
  )
}
