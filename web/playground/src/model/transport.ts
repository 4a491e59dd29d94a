/** Moving through a run. */
import type { Context } from './context.ts'
import type { Inquiry } from './inquiry.ts'
import {
  advance,
  advanceFilm,
  cursorAt,
  cursorAtMoment,
  DEFAULT_SPEED,
  endOf,
  nextSpeed,
  noStepText,
  START,
  stepFrom,
  withinSpeeds,
} from './playback.ts'
import type { Runner } from './runner.ts'
import type { Actions, Cursor, Picture } from './types.ts'

type Transport = Pick<
  Actions,
  | 'step'
  | 'seek'
  | 'seekMoment'
  | 'seekStart'
  | 'seekEnd'
  | 'play'
  | 'pause'
  | 'togglePlay'
  | 'setSpeed'
  | 'changeSpeed'
  | 'setPace'
  | 'setPausesAtViolation'
  | 'tick'
>

export function createTransport(context: Context, runner: Runner, inquiry: Inquiry): Transport {
  const { get, set } = context
  let shownMs = 0
  /** The speed in true time, while a film is shown at a speed of its own. */
  let timeSpeed = DEFAULT_SPEED

  function moveTo(
    cursor: Cursor,
    patch: { readonly isPlaying?: boolean; readonly notice?: string | null },
  ): void {
    shownMs = 0
    runner.markSeen(get().branch, cursor.at)
    set({ cursor, ...patch })
    inquiry.followCursor()
  }

  /** A jump of the reader: playback ends. */
  function jump(target: (picture: Picture) => Cursor): void {
    const { picture } = get()
    if (picture !== null) moveTo(target(picture), { isPlaying: false, notice: null })
  }

  function play(): void {
    const { picture, cursor } = get()
    if (picture === null) return
    shownMs = 0
    const isAtEnd = cursor.at >= picture.endsAt
    set({ isPlaying: true, notice: null, ...(isAtEnd ? { cursor: START } : {}) })
  }

  function pause(): void {
    if (!get().isPlaying) return
    set({ isPlaying: false })
    inquiry.followCursor()
  }

  function stopAtViolation(cursor: Cursor): void {
    const found = get().picture?.verdicts.find(
      ({ verdict, moment, at }) =>
        verdict === 'violated' &&
        (moment === cursor.moment || (moment === null && at !== null && at <= cursor.at)),
    )
    moveTo(cursor, {
      isPlaying: false,
      notice: found === undefined ? null : `${found.name} is violated: ${found.why}`,
    })
    if (found !== undefined) set({ selection: { type: 'spec', name: found.name } })
    void inquiry.askWhy(cursor.moment)
  }

  return {
    step(kind, direction) {
      const { picture, cursor } = get()
      if (picture === null) return
      const next = stepFrom(picture, cursor, kind, direction)
      if (next === null) set({ isPlaying: false, notice: noStepText(kind, direction) })
      else jump(() => next)
    },
    seek: (at) => jump((picture) => cursorAt(picture, at)),
    seekMoment: (moment) => jump((picture) => cursorAtMoment(picture, moment)),
    seekStart: () => jump(() => START),
    seekEnd: () => jump(endOf),
    play,
    pause,
    togglePlay: () => (get().isPlaying ? pause() : play()),
    setSpeed: (speed) => set({ speed: withinSpeeds(speed) }),
    changeSpeed: (direction) => set({ speed: nextSpeed(get().speed, direction) }),
    setPace(pace) {
      const state = get()
      if (pace === state.pace) return
      if (state.pace === 'time') timeSpeed = state.speed
      shownMs = 0
      set({ pace, speed: pace === 'film' ? 1 : timeSpeed })
    },
    setPausesAtViolation: (pausesAtViolation) => set({ pausesAtViolation }),
    tick(elapsedMs) {
      const { picture, cursor, isPlaying, isRunning, pace, speed, pausesAtViolation, branch } = get()
      if (!isPlaying || isRunning || picture === null) return
      const settings = { shownMs, elapsedMs, speed, pausesAtViolation }
      const next =
        pace === 'film' ? advanceFilm(picture, cursor, settings) : advance(picture, cursor, settings)
      shownMs = next.shownMs
      runner.markSeen(branch, next.cursor.at)
      if (next.stopped === 'violation') return stopAtViolation(next.cursor)
      if (next.stopped === 'end') {
        return moveTo(next.cursor, { isPlaying: false, notice: 'The run ends here.' })
      }
      set({ cursor: next.cursor })
      inquiry.followCursor()
    },
  }
}
