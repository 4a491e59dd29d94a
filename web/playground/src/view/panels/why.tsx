/** A chain of causes, the effect first. */
import type { Picture } from '../../engine/picture.ts'
import { calmCursor, store, why } from '../state.ts'
import { instantOf } from '../time/scale.ts'

export function WhyChain({ picture }: { readonly picture: Picture }) {
  const known = why.value
  const { moment } = calmCursor.value
  return (
    <div class="why">
      <div class="why-head">
        <button type="button" disabled={moment < 0} onClick={() => void store().askWhy(moment)}>
          Why did the last event happen?
        </button>
        {known === null ? null : (
          <button type="button" class="quiet" onClick={() => store().closeWhy()}>
            Clear
          </button>
        )}
      </div>
      {known === null ? (
        <p class="empty">
          Step to an event, or select a violated specification. The chain leads back through messages and
          timers to what caused it.
        </p>
      ) : (
        <ol class="chain">
          {known.chain.map((cause, order) => {
            const at = picture.moments[cause.moment]?.at
            return (
              // oxlint-disable-next-line react/no-array-index-key -- a moment may occur twice
              <li
                key={order}
                class={cause.because === null ? 'is-origin' : ''}
                aria-current={cause.moment === moment ? 'step' : undefined}
              >
                <button type="button" onClick={() => store().seekMoment(cause.moment)}>
                  <time>{at === undefined ? '' : instantOf(picture, at, 1)}</time>
                  <span>{cause.text}</span>
                </button>
                {cause.because === null ? null : <p class="because">{cause.because}</p>}
              </li>
            )
          })}
        </ol>
      )}
    </div>
  )
}
