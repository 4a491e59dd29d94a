/** The picture of the leadership ribbon. Arrow keys walk through its gaps. */
import { ids } from '../data/store.ts'
import { colourOf } from '../view/nodes.ts'
import { type Piece, type RibbonRange, ticksOf } from '../view/ribbon.ts'

export type RibbonProps = {
  readonly pieces: readonly Piece[]
  readonly range: RibbonRange
  readonly width: number
  /** The key of the gap that is described below. */
  readonly selected: string | null
  readonly onSelect: (key: string) => void
}

const TOP = 6
const HEIGHT = 34
const AXIS = 18
/** A label needs about this many pixels per character. */
const PX_PER_CHARACTER = 8

export function Ribbon({ pieces, range, width, selected, onSelect }: RibbonProps) {
  const gaps = pieces.filter(({ isGap }) => isGap)
  const walk = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (by === 0) return
    event.preventDefault()
    const place = gaps.findIndex(({ key }) => key === selected)
    const next = gaps[Math.min(gaps.length - 1, Math.max(0, place + by))]
    if (next !== undefined) onSelect(next.key)
  }
  const label = `Leadership ribbon with ${gaps.length} gaps. Arrow keys move between gaps; the text below describes each.`
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions -- arrow keys walk through the gaps
    <svg
      class="ribbon-picture"
      width={width}
      height={TOP + HEIGHT + AXIS}
      role="img"
      aria-label={label}
      tabindex={0}
      onKeyDown={walk}
    >
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" class="hatch-ground" />
          <rect width="2.4" height="6" class="hatch-line" />
        </pattern>
      </defs>
      <rect class="ribbon-ground" x="0" y={TOP} width={width} height={HEIGHT} rx="4" />
      {pieces.map((piece) => (piece.isGap ? null : <TermPiece key={piece.key} piece={piece} />))}
      {gaps.map((piece) => (
        <GapPiece key={piece.key} piece={piece} isSelected={piece.key === selected} onSelect={onSelect} />
      ))}
      {ticksOf(range, width).map(({ x, label: time }) => (
        <g key={time} class="tick" transform={`translate(${x.toFixed(1)} ${TOP + HEIGHT})`}>
          <line y1="0" y2="4" />
          {x < 20 || x > width - 20 ? null : <text y="15">{time}</text>}
        </g>
      ))}
    </svg>
  )
}

function TermPiece({ piece }: { readonly piece: Piece }) {
  const { x, width, leader, token, title } = piece
  const long = token === null ? `${leader}` : `${leader}, token ${token}`
  const fits = (text: string): boolean => text.length * PX_PER_CHARACTER < width - 8
  const label = fits(long) ? long : fits(`${leader}`) ? leader : null
  return (
    <g class={`term c${colourOf(ids.value, leader)}`} data-term={leader}>
      <title>{title}</title>
      <rect x={x} y={TOP} width={Math.max(0, width)} height={HEIGHT} />
      {label === null ? null : (
        <text x={x + 8} y={TOP + HEIGHT / 2}>
          {label}
        </text>
      )}
    </g>
  )
}

type GapPieceProps = {
  readonly piece: Piece
  readonly isSelected: boolean
  readonly onSelect: (key: string) => void
}

function GapPiece({ piece, isSelected, onSelect }: GapPieceProps) {
  const { key, x, width, title } = piece
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions -- the whole picture handles the keys
    <g class={isSelected ? 'gap is-selected' : 'gap'} data-gap={key} onClick={() => onSelect(key)}>
      <title>{title}</title>
      <rect class="gap-target" x={x - 4} y={0} width={width + 8} height={TOP + HEIGHT} />
      <rect class="gap-fill" x={x} y={TOP - 3} width={width} height={HEIGHT + 6} fill="url(#hatch)" />
    </g>
  )
}
