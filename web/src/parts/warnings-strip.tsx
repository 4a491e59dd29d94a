/** The warnings of this node: the newest in one line, the others on request. */
import { agentNowMs } from '../data/store.ts'
import type { Warning } from '../data/types.ts'
import { formatAgo } from '../view/format.ts'
import { Glyph } from './glyph.tsx'

export function WarningsStrip({ warnings }: { readonly warnings: readonly Warning[] }) {
  const [newest, ...others] = warnings
  if (newest === undefined) return null
  return (
    <details class="warnings">
      <summary>
        <Glyph name="warning" />
        <WarningLine warning={newest} />
        {others.length === 0 ? null : <span class="more">{others.length} more</span>}
      </summary>
      <ul>
        {others.map((warning) => (
          <li key={`${warning.what} ${warning.detail}`}>
            <WarningLine warning={warning} />
          </li>
        ))}
      </ul>
    </details>
  )
}

function WarningLine({ warning: { at, what, detail, count } }: { readonly warning: Warning }) {
  return (
    <span class="warning-line">
      <b>Warning: {what}.</b> {detail}{' '}
      <span class="hint">
        {count > 1 ? `${count} times, last ` : ''}
        {formatAgo(agentNowMs() - Date.parse(at))}
      </span>
    </span>
  )
}
