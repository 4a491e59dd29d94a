/** Histories that were left by acting in the past. Each is kept, and two can be compared. */
import type { Branch } from '../../model/store.ts'
import { Mark } from '../mark.tsx'
import { branch, branches, comparison, store } from '../state.ts'
import { formatInstant } from '../time/scale.ts'

export function Branches() {
  const all = branches.value
  if (all.length < 2) return null
  const compared = comparison.value
  return (
    <nav class="branches" aria-label="Branches">
      <span class="hint">Branches</span>
      <ul>
        {all.map((each) => (
          <BranchChip key={each.id} each={each} />
        ))}
      </ul>
      <label>
        Compare with
        <select
          value={compared === null ? '' : String(compared.other)}
          onChange={(event) => {
            const { value } = event.currentTarget
            void store().compare(value === '' ? null : Number(value))
          }}
        >
          <option value="">none</option>
          {all
            .filter(({ id }) => id !== branch.value)
            .map(({ id, name }) => (
              <option key={id} value={String(id)}>
                {name}
              </option>
            ))}
        </select>
      </label>
    </nav>
  )
}

function BranchChip({ each }: { readonly each: Branch }) {
  const isShown = each.id === branch.value
  const since = each.forkedAt === null ? '' : `, from ${formatInstant(each.forkedAt, 1000)}`
  return (
    <li class={isShown ? 'branch is-shown' : 'branch'}>
      <button
        type="button"
        aria-pressed={isShown}
        title={`${each.name}${since}`}
        onClick={() => void store().switchBranch(each.id)}
      >
        {each.name}
      </button>
      {isShown ? null : (
        <button
          type="button"
          class="remove"
          aria-label={`Remove branch ${each.name}`}
          onClick={() => store().removeBranch(each.id)}
        >
          <Mark name="close" />
        </button>
      )}
    </li>
  )
}

/** Where two branches differ, in sentences. */
export function ComparisonText() {
  const known = comparison.value
  if (known === null) return null
  return (
    <div class="comparison" role="status">
      {known.picture === null ? <p class="empty">Running the other branch …</p> : null}
      <ul>
        {known.sentences.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {known.differsAt === null ? null : (
        <button type="button" class="quiet" onClick={() => store().seek(known.differsAt ?? 0)}>
          Go to the first difference
        </button>
      )}
    </div>
  )
}
