/** The history of leadership, and why there was no leader in between. */
import { useState } from 'preact/hooks'
import { agentNowMs, isStale, secondMs, status, statusAtMs, terms } from '../data/store.ts'
import { formatMs, formatTime } from '../view/format.ts'
import { gapText, lastGap, type Piece, rangeOf, ribbonOf } from '../view/ribbon.ts'
import { Card, TableToggle } from './card.tsx'
import { Glyph } from './glyph.tsx'
import { useSize } from './hooks.ts'
import { PlaygroundButton } from './playground-button.tsx'
import { Ribbon } from './ribbon.tsx'

const RANGES = [
  ['1 min', 60_000],
  ['10 min', 600_000],
  ['1 h', 3_600_000],
  ['All', Number.MAX_SAFE_INTEGER],
] as const

export function RibbonCard() {
  const [lengthMs, setLength] = useState<number>(600_000)
  const [isTable, setTable] = useState(false)
  const [selected, setSelected] = useState<string | null>(null)
  const [ref, { width }] = useSize()
  // A lost connection stops the clock: nothing is known about the time since.
  const atMs = isStale.value ? statusAtMs.value : Math.max(statusAtMs.value, secondMs.value)
  const range = rangeOf(terms.value, agentNowMs(atMs), lengthMs)
  const pieces = ribbonOf(terms.value, range, width)
  const gap = pieces.find(({ key, isGap }) => isGap && key === selected) ?? lastGap(pieces)
  const tools = (
    <>
      <RangeButtons lengthMs={lengthMs} onSelect={setLength} />
      <PlaygroundButton />
      <TableToggle isTable={isTable} of="the leadership history" onToggle={() => setTable(!isTable)} />
    </>
  )
  return (
    <Card name="ribbon" title="Leadership" tools={tools}>
      <div class="ribbon-line" ref={ref}>
        {isTable ? (
          <PieceTable pieces={pieces} />
        ) : (
          <Ribbon
            pieces={pieces}
            range={range}
            width={width}
            selected={gap?.key ?? null}
            onSelect={setSelected}
          />
        )}
      </div>
      {isTable ? null : <GapLine gap={gap} isNewest={selected === null} />}
    </Card>
  )
}

type RangeButtonsProps = { readonly lengthMs: number; readonly onSelect: (lengthMs: number) => void }

function RangeButtons({ lengthMs, onSelect }: RangeButtonsProps) {
  return (
    <fieldset class="ranges">
      <legend class="only-read">Time range</legend>
      {RANGES.map(([label, ms]) => (
        <button
          type="button"
          class="quiet"
          key={label}
          aria-pressed={ms === lengthMs}
          onClick={() => onSelect(ms)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  )
}

function GapLine({ gap, isNewest }: { readonly gap: Piece | null; readonly isNewest: boolean }) {
  if (gap === null)
    return <p class="gap-line">{status.value?.leader === null ? 'No leader yet.' : 'No gap in this time.'}</p>
  return (
    <p class="gap-line" data-gap={gap.key}>
      <Glyph name={gap.untilMs === null ? 'no-leader' : 'warning'} />
      <span>
        <b>{isNewest ? 'Last gap' : 'Gap'}</b> at {formatTime(gap.fromMs)}. {gapText(gap)}
      </span>
    </p>
  )
}

function PieceTable({ pieces }: { readonly pieces: readonly Piece[] }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of the leadership history">
      <table>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Length</th>
            <th scope="col">Leader</th>
            <th scope="col">Token</th>
            <th scope="col">Why there was none</th>
          </tr>
        </thead>
        <tbody>
          {[...pieces].reverse().map((piece) => (
            <tr key={piece.key}>
              <td class="number">{formatTime(piece.fromMs)}</td>
              <td class="number">{formatMs(piece.lengthMs)}</td>
              <td>{piece.leader ?? 'none'}</td>
              <td class="number">{piece.token ?? ''}</td>
              <td>{piece.why}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
