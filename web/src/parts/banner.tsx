/** The answer to "is everything fine?": colour, glyph, word and one sentence. */
import { clockMs, link, status } from '../data/store.ts'
import { type Banner as BannerView, bannerOf, LADDER, LEVEL_NAMES } from '../view/banner.ts'
import { formatMs } from '../view/format.ts'
import { Glyph } from './glyph.tsx'

function viewNow(): BannerView {
  const known = link.value
  if (known.state === 'lost') {
    const last =
      known.sinceMs === null ? '' : ` The last data is ${formatMs(clockMs.value - known.sinceMs)} old.`
    const { message, status: refusal } = known.problem
    const next = refusal === 401 ? 'Enter a token of this agent.' : 'Trying again.'
    const rest = `${message.charAt(0).toUpperCase()}${message.slice(1)}.${last} ${next}`
    return { level: 'lost', word: refusal === null ? LEVEL_NAMES.lost : 'Refused', rest }
  }
  if (status.value === null)
    return { level: 'connecting', word: LEVEL_NAMES.connecting, rest: 'to the agent' }
  return bannerOf(status.value)
}

export function Banner() {
  const { level, word, rest } = viewNow()
  return (
    <div class={`banner level-${level}`} role="status" data-level={level}>
      <Glyph name={level} />
      <p>
        <strong>{word}</strong> <span>{rest}</span>
      </p>
      <ol class="ladder" aria-hidden="true">
        {LADDER.map((each) => (
          <li
            key={each}
            class={`level-${each} ${each === level ? 'is-now' : ''}`}
            title={LEVEL_NAMES[each]}
          />
        ))}
      </ol>
    </div>
  )
}
