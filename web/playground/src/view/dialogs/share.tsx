/** The run as a link, a file, a test or a command. */
import { useState } from 'preact/hooks'
import type { CopyKind } from '../../model/store.ts'
import { store } from '../state.ts'
import { Coded } from './coded.tsx'
import { Frame } from './frame.tsx'

const KINDS: readonly (readonly [CopyKind, string, string])[] = [
  ['link', 'Link', 'everything is in the address: protocol, seed, options and what you did'],
  ['scenario', 'Scenario', 'a file for `conclave sim`'],
  ['command', 'Command', 'the same run in a terminal'],
  ['test', 'Test', 'a test that runs it'],
  ['trace', 'Trace', 'every event, as `conclave sim --trace` writes it'],
]

type Copied =
  | { readonly kind: CopyKind; readonly text: string; readonly isDone: boolean }
  | { readonly problem: string }

export function ShareDialog() {
  const [copied, setCopied] = useState<Copied | null>(null)
  const copy = async (kind: CopyKind): Promise<void> => {
    try {
      const text = await store().copy(kind)
      const isDone = await navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
      setCopied({ kind, text, isDone })
    } catch (error) {
      setCopied({ problem: error instanceof Error ? error.message : String(error) })
    }
  }
  return (
    <Frame name="share" title="Share this run" isWide>
      <ul class="share-list">
        {KINDS.map(([kind, title, explanation]) => (
          <li key={kind}>
            <button type="button" onClick={() => void copy(kind)}>
              Copy as {title.toLowerCase()}
            </button>
            <span class="hint">
              <Coded text={explanation} />
            </span>
          </li>
        ))}
      </ul>
      {copied !== null && 'problem' in copied ? (
        <p class="problem" role="alert">
          {copied.problem}
        </p>
      ) : null}
      {copied === null || 'problem' in copied ? null : (
        <>
          <p role="status">
            {copied.isDone ? 'Copied.' : 'The browser does not allow this page to copy. Copy it from here:'}
          </p>
          <textarea
            class="copied"
            aria-label={`The run as a ${copied.kind}`}
            readOnly
            rows={8}
            value={copied.text.length > 20_000 ? `${copied.text.slice(0, 20_000)}\n…` : copied.text}
          />
        </>
      )}
    </Frame>
  )
}
