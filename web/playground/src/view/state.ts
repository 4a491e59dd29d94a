/**
 * What the page draws, as signals. The store changes a whole value at a time; components read the parts below, so that a
 * frame of a playing run draws the pictures again, but not the text around them.
 */
import { computed, effect, signal } from '@preact/signals'
import type { NodeId } from '../../../../src/core/index.ts'
import type { Flight, Picture } from '../engine/picture.ts'
import { INITIAL_STATE, type Intervention, type State, type Store } from '../model/store.ts'
import { FlightIndex } from './look-up.ts'
import { pan, type TimeRange, turnPage, zoom } from './time/scale.ts'

const state = signal<State>(INITIAL_STATE)
let current: Store | null = null

export function store(): Store {
  if (current === null) throw new Error('the view has not started')
  return current
}

export const picture = computed(() => state.value.picture)
export const cursor = computed(() => state.value.cursor)
export const selection = computed(() => state.value.selection)
export const isPlaying = computed(() => state.value.isPlaying)
export const isRunning = computed(() => state.value.isRunning)
export const speed = computed(() => state.value.speed)
export const pace = computed(() => state.value.pace)
export const pausesAtViolation = computed(() => state.value.pausesAtViolation)
export const branches = computed(() => state.value.branches)
export const branch = computed(() => state.value.branch)
export const scenario = computed(() => state.value.scenario)
export const problems = computed(() => state.value.problems)
export const notice = computed(() => state.value.notice)
export const inspection = computed(() => state.value.inspection)
export const why = computed(() => state.value.why)
export const comparison = computed(() => state.value.comparison)
export const search = computed(() => state.value.search)
export const lesson = computed(() => state.value.lesson)
export const lessonsDone = computed(() => state.value.lessonsDone)
export const ownModule = computed(() => state.value.module)
/** A trace can be looked at, but not changed; in a schedule there is no time to act in. */
export const canAct = computed(
  () => state.value.source === 'scenario' && state.value.picture !== null && !state.value.picture.isUntimed,
)

export const flights = computed(() => new FlightIndex(picture.value?.flights ?? []))

/** The cursor for text: a playing run would change it too often to be read. */
export const calmCursor = signal(INITIAL_STATE.cursor)
const CALM_MS = 120

/** The stretch of time in view. */
export const range = signal<TimeRange>({ from: 0, to: 1_000_000 })
/** Whether heartbeats and the like are drawn. */
export const showsRoutine = signal(false)
/** What the pointer is at in one of the pictures. */
export const hovered = signal<Flight | null>(null)
export const isTable = signal(false)
/** Whether the introduction is shown: until something else is opened. */
export const isWelcome = signal(false)

export type DialogName =
  | 'lessons'
  | 'search'
  | 'share'
  | 'partition'
  | 'keys'
  | 'module'
  | 'scenario'
  | 'network'
export const dialog = signal<DialogName | null>(null)
/** What the action bar asks an amount for. */
export const asked = signal<string | null>(null)
export type Panel = 'state' | 'events' | 'why'
export const panel = signal<Panel>('state')

export function act(event: Intervention): void {
  asked.value = null
  void store().act(event)
}

export function selectNode(node: NodeId): void {
  asked.value = null
  store().select({ type: 'node', node })
}

export function zoomBy(factor: number, around?: number): void {
  const shown = picture.value
  if (shown === null) return
  const { from, to } = range.value
  const { at } = cursor.value
  const middle = at >= from && at <= to ? at : (from + to) / 2
  range.value = zoom(range.value, factor, around ?? middle, shown.endsAt)
}

export function panBy(micros: number): void {
  const shown = picture.value
  if (shown !== null) range.value = pan(range.value, micros, shown.endsAt)
}

/** A first view of a run: some leases long, or all of it if it is short. */
const FIRST_LEASES = 9
const FIRST_SPAN = 2_500_000

function firstSpan({ lanes }: Picture): number {
  const [lease] = lanes.flatMap(({ leases }) => leases.slice(0, 1))
  return lease === undefined ? FIRST_SPAN : (lease.until - lease.from) * FIRST_LEASES
}

export function showAll(): void {
  const shown = picture.value
  if (shown !== null) range.value = pan({ from: 0, to: shown.endsAt * 1.04 }, 0, shown.endsAt)
}

function followRun(): void {
  let drawn: string | null = null
  effect(() => {
    const shown = picture.value
    if (shown === null) return
    const key = `${shown.protocol} ${shown.nodes.length} ${shown.endsAt}`
    if (key === drawn) return
    drawn = key
    range.value = pan({ from: 0, to: Math.min(shown.endsAt * 1.04, firstSpan(shown)) }, 0, shown.endsAt)
  })
  effect(() => {
    const shown = picture.value
    const { at } = cursor.value
    if (shown !== null) range.value = turnPage(range.peek(), at, shown.endsAt)
  })
}

function followCursor(): void {
  let lastMs = 0
  let waiting: ReturnType<typeof setTimeout> | null = null
  const show = (): void => {
    waiting = null
    lastMs = performance.now()
    calmCursor.value = cursor.peek()
  }
  effect(() => {
    const { at, moment } = cursor.value
    if (at === calmCursor.peek().at && moment === calmCursor.peek().moment) return
    if (waiting !== null) return
    const wait = lastMs + CALM_MS - performance.now()
    if (isPlaying.peek() && wait > 0) waiting = setTimeout(show, wait)
    else show()
  })
}

/** Advances a playing run, frame by frame. */
function playFrames(): void {
  let lastMs: number | null = null
  const frame = (nowMs: number): void => {
    if (!isPlaying.peek()) {
      lastMs = null
      return
    }
    if (lastMs !== null) store().tick(nowMs - lastMs)
    lastMs = nowMs
    requestAnimationFrame(frame)
  }
  effect(() => {
    if (isPlaying.value) requestAnimationFrame(frame)
  })
}

export function startView(given: Store): void {
  current = given
  state.value = given.get()
  given.subscribe((next) => {
    state.value = next
  })
  followRun()
  followCursor()
  playFrames()
  effect(() => {
    if (why.value !== null) panel.value = 'why'
  })
}
