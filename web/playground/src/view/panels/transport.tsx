/** Play, step and scrub. Every button has a key. */
import { type Size, useSize } from '../../../../src/parts/hooks.ts'
import type { Picture } from '../../engine/picture.ts'
import { type Direction, SPEEDS, type StepKind } from '../../model/store.ts'
import { Canvas } from '../canvas.tsx'
import { type Colours, colours, ownColour } from '../colours.ts'
import { Mark } from '../mark.tsx'
import {
  calmCursor,
  canAct,
  cursor,
  isPlaying,
  pace,
  range,
  showAll,
  speed,
  store,
  zoomBy,
} from '../state.ts'
import { instantOf } from '../time/scale.ts'

export function Transport({ picture }: { readonly picture: Picture }) {
  return (
    <section class="transport" aria-label="Transport">
      <Scrubber picture={picture} />
      <div class="transport-row">
        <div class="buttons-group">
          <IconButton label="Go to the start" mark="start" onClick={() => store().seekStart()} keys="Home" />
          <IconButton
            label={isPlaying.value ? 'Pause' : 'Play'}
            mark={isPlaying.value ? 'pause' : 'play'}
            onClick={() => store().togglePlay()}
            keys="Space"
            isMain
          />
          <IconButton label="Go to the end" mark="end" onClick={() => store().seekEnd()} keys="End" />
        </div>
        <output class="now">{instantOf(picture, calmCursor.value.at, 1)}</output>
        <Stepper kind="event" title="Event" keys={['←', '→']} />
        <Stepper kind="message" title="Message" keys={['⇧←', '⇧→']} />
        <Stepper kind="leadership" title="Leadership" keys={['⇧L', 'L']} />
        <Stepper kind="violation" title="Violation" keys={['⇧V', 'V']} />
        <SpeedSelect />
        {canAct.value ? (
          <button
            type="button"
            class="quiet"
            title="Let the run go on after its end"
            onClick={() => void store().extend(Math.ceil(picture.endsAt / 2000))}
          >
            Longer run
          </button>
        ) : null}
        <div class="buttons-group zoom">
          <button
            type="button"
            class="quiet"
            aria-label="Zoom out"
            title="Zoom out (−)"
            onClick={() => zoomBy(1.6)}
          >
            −
          </button>
          <button
            type="button"
            class="quiet"
            aria-label="Show the whole run"
            title="Show the whole run (0)"
            onClick={showAll}
          >
            Fit
          </button>
          <button
            type="button"
            class="quiet"
            aria-label="Zoom in"
            title="Zoom in (+)"
            onClick={() => zoomBy(1 / 1.6)}
          >
            +
          </button>
        </div>
      </div>
    </section>
  )
}

type IconButtonProps = {
  readonly label: string
  readonly mark: 'start' | 'play' | 'pause' | 'end'
  readonly keys: string
  readonly isMain?: boolean
  readonly onClick: () => void
}

function IconButton({ label, mark, keys, isMain = false, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      class={isMain ? 'icon main' : 'icon'}
      aria-label={label}
      title={`${label} (${keys})`}
      onClick={onClick}
    >
      <Mark name={mark} />
    </button>
  )
}

type StepperProps = {
  readonly kind: StepKind
  readonly title: string
  readonly keys: readonly [string, string]
}

function Stepper({ kind, title, keys }: StepperProps) {
  const step = (direction: Direction): void => store().step(kind, direction)
  const name = title.toLowerCase()
  return (
    <div class="stepper" role="group" aria-label={`Step by ${name}`}>
      <button
        type="button"
        class="icon"
        aria-label={`Previous ${name}`}
        title={`Previous ${name} (${keys[0]})`}
        onClick={() => step(-1)}
      >
        <Mark name="back" />
      </button>
      <span aria-hidden="true">{title}</span>
      <button
        type="button"
        class="icon"
        aria-label={`Next ${name}`}
        title={`Next ${name} (${keys[1]})`}
        onClick={() => step(1)}
      >
        <Mark name="forward" />
      </button>
    </div>
  )
}

function SpeedSelect() {
  return (
    <label class="speed">
      Speed
      <select
        value={pace.value === 'film' ? 'film' : String(speed.value)}
        onChange={(event) => {
          const { value } = event.currentTarget
          store().setPace(value === 'film' ? 'film' : 'time')
          if (value !== 'film') store().setSpeed(Number(value))
        }}
      >
        <option value="film">film: event by event</option>
        {SPEEDS.map((each) => (
          <option key={each} value={String(each)}>
            {each}×
          </option>
        ))}
      </select>
    </label>
  )
}

/** The whole run: who leads when, what was done to the world, and violations. */
function Scrubber({ picture }: { readonly picture: Picture }) {
  const [ref, size] = useSize()
  const now = calmCursor.value
  const draw = (context: CanvasRenderingContext2D, given: Size): void => {
    const theme = colours.value
    if (theme !== null) drawOverview(context, picture, given, theme)
  }
  return (
    <div class="scrubber" ref={ref}>
      <Canvas
        name="overview"
        {...size}
        watch={() => [cursor.value, range.value, colours.value]}
        draw={draw}
        key={picture.protocol}
      />
      <input
        type="range"
        aria-label="Time"
        aria-valuetext={`${instantOf(picture, now.at, 1)} of ${instantOf(picture, picture.endsAt, 1000)}`}
        min={0}
        max={picture.endsAt}
        step={1}
        value={cursor.peek().at}
        onInput={(event) => {
          store().pause()
          store().seek(event.currentTarget.valueAsNumber)
        }}
      />
    </div>
  )
}

function drawOverview(
  context: CanvasRenderingContext2D,
  picture: Picture,
  { width, height }: Size,
  theme: Colours,
): void {
  const x = (at: number): number => (at / Math.max(1, picture.endsAt)) * width
  const top = 3
  const bar = height - 6
  context.fillStyle = theme.raised
  context.beginPath()
  context.roundRect(0, top, width, bar, 4)
  context.fill()
  const row = Math.max(1.5, bar / Math.max(1, picture.lanes.length))
  picture.lanes.forEach((lane, place) => {
    context.fillStyle = ownColour(theme, place)
    for (const span of lane.roles) {
      if (span.leads)
        context.fillRect(
          x(span.from),
          top + place * row,
          Math.max(1, x(span.to) - x(span.from)),
          Math.max(1.5, row - 1),
        )
    }
    context.fillStyle = theme.warn
    for (const { from, to } of lane.stalls)
      context.fillRect(
        x(from),
        top + place * row + row / 3,
        Math.max(1, x(to) - x(from)),
        Math.max(1, row / 4),
      )
  })
  context.fillStyle = theme.text
  for (const { kind, at } of picture.moments)
    if (kind === 'world') context.fillRect(x(at) - 0.75, top, 1.5, bar)
  context.fillStyle = theme.bad
  for (const { verdict, at } of picture.verdicts)
    if (verdict === 'violated' && at !== null) context.fillRect(x(at) - 1.5, 0, 3, height)
  const { from, to } = range.value
  context.strokeStyle = theme.quiet
  context.lineWidth = 1
  const left = Math.max(0.5, x(from))
  context.strokeRect(left, top - 2, Math.min(width - 0.5, x(to)) - left, bar + 4)
  context.fillStyle = theme.accent
  context.fillRect(x(cursor.value.at) - 1.5, 0, 3, height)
}
