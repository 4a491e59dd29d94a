/** The present level of leases that tune themselves, and what holds it there. */
import type { TimingView } from '../view/timing.ts'

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`

export function LevelLine({ timing }: { readonly timing: TimingView }) {
  const { level, share, neededShare, bounds, why, page, refusals, text } = timing
  const [shortest, longest] = bounds
  return (
    <div class="level">
      <p class="level-line">
        <span>
          Level <b>{level}</b>
        </span>
        <span class="hint">{shortest}</span>
        <span class="level-track" role="img" aria-label={text} title={text}>
          {neededShare === null ? null : (
            <i class="level-needed" style={{ width: percent(neededShare) }} aria-hidden="true" />
          )}
          <i class="level-mark" style={{ left: percent(share) }} aria-hidden="true" />
        </span>
        <span class="hint">{longest}</span>
      </p>
      <p class="level-why" title={why}>
        <span class="hint">Why:</span> {why}
        {page === null ? null : (
          <>
            {' '}
            (<a href={page}>its page</a>)
          </>
        )}
      </p>
      {refusals.map((each) => (
        <p class="level-refusal" key={each}>
          {each}
        </p>
      ))}
    </div>
  )
}
