/** All specifications of the protocol, with what the run says about them. */
import { Glyph, type GlyphName } from '../../../../src/parts/glyph.tsx'
import { plural } from '../../../../src/view/format.ts'
import type { Picture, Verdict } from '../../engine/picture.ts'
import { pausesAtViolation, selection, store } from '../state.ts'
import { instantOf } from '../time/scale.ts'

const GLYPHS: { readonly [verdict in Verdict['verdict']]: GlyphName } = {
  held: 'healthy',
  vacuous: 'lost',
  violated: 'no-leader',
}

export function Verdicts({ picture }: { readonly picture: Picture }) {
  const sorted = picture.verdicts.toSorted((a, b) => rank(a) - rank(b))
  return (
    <section class="card verdicts" aria-labelledby="verdicts-title">
      <header class="card-head">
        <h2 id="verdicts-title">Specifications</h2>
        <label class="check">
          <input
            type="checkbox"
            checked={pausesAtViolation.value}
            onChange={(event) => store().setPausesAtViolation(event.currentTarget.checked)}
          />
          pause at a violation
        </label>
      </header>
      <ul class="verdict-list">
        {sorted.map((verdict) => (
          <VerdictRow key={verdict.name} verdict={verdict} picture={picture} />
        ))}
        {picture.goals.map(({ name, title, count }) => (
          <li key={`goal ${name}`} class={count > 0 ? 'verdict is-held' : 'verdict is-vacuous'} title={title}>
            <Glyph name={count > 0 ? 'healthy' : 'lost'} />
            <b>goal {name}</b> <span>{count === 0 ? 'not reached' : `reached ${plural(count, 'time')}`}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const rank = ({ verdict }: Verdict): number => ['violated', 'held', 'vacuous'].indexOf(verdict)

function VerdictRow({ verdict, picture }: { readonly verdict: Verdict; readonly picture: Picture }) {
  const { name, title, moment, at, why, judged } = verdict
  const isChosen = selection.value?.type === 'spec' && selection.value.name === name
  const open = (): void => {
    store().select({ type: 'spec', name })
    if (moment === null) return
    store().pause()
    store().seekMoment(moment)
    void store().askWhy(moment)
  }
  const text =
    verdict.verdict === 'violated'
      ? `violated at ${at === null ? 'the end' : instantOf(picture, at, 1)}: ${why}`
      : verdict.verdict === 'held'
        ? `held, judged ${plural(judged, 'time')}`
        : `vacuous: ${why}`
  return (
    <li class={`verdict is-${verdict.verdict}`}>
      <button type="button" onClick={open} aria-pressed={isChosen} title={title}>
        <Glyph name={GLYPHS[verdict.verdict]} />
        <b>{name}</b> <span>{text}</span>
      </button>
      {isChosen ? <p class="hint">{title}</p> : null}
    </li>
  )
}
