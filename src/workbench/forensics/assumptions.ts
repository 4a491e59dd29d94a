/**
 * Checks the assumptions of a real run against what happened: scheduling delays, message delays, clocks, stable data,
 * configurations. The promises of a protocol hold only while its assumptions do.
 */
import {
  canonical,
  type Definition,
  equalPlain,
  type Micros,
  msOf,
  type Plain,
  type PlainObject,
} from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import { type Datagram, delayBound, type FailAwareState } from '../../links/index.ts'
import { hostingOf } from '../../protocols/index.ts'
import { carriedOut, type MatchedMessages, type MessageRecord, type Run, type Scale } from './index.ts'
import type { Replayed } from './replay.ts'

/** `safety`: if it is broken, two nodes may lead. `progress`: if it is broken, a leader may be lost or missing. */
export type Broken = { readonly touches: 'safety' | 'progress'; readonly text: string }

export type Known = {
  readonly definition: Definition
  readonly options: PlainObject
  readonly runs: readonly Run[]
  readonly messages: MatchedMessages
  readonly scale: Scale
  readonly replayed: Replayed
  /** The first instant of the run: reported times count from here. */
  readonly begin: Micros
}

export function brokenAssumptions(known: Known): readonly Broken[] {
  return [
    ...differentOptions(known),
    ...lostData(known),
    ...excessiveDrift(known),
    ...misjudgedDelays(known),
    ...suspensions(known),
    ...lateness(known),
    ...slowMessages(known),
    ...failedWrites(known),
  ]
}

const ms = (micros: Micros): string => `${msOf(Math.round(micros)).toFixed(1)} ms`

/** The time on the common scale, counted from the first instant. */
function at({ scale, begin }: Known, run: number, now: Micros): string {
  return `at ${msOf(now + (scale.ahead[run] ?? 0) - begin).toFixed(1)} ms`
}

function differentOptions({ definition, runs }: Known): readonly Broken[] {
  const [first, ...rest] = runs
  if (first === undefined) return []
  const own = hostingOf(definition.name)?.ownOptions ?? []
  return rest.flatMap((run) =>
    Object.keys({ ...first.header.options, ...run.header.options })
      .filter((field) => !own.includes(field))
      .filter((field) => !equalPlain(first.header.options[field] ?? null, run.header.options[field] ?? null))
      .map((field): Broken => {
        const value = (of: Run): string => JSON.stringify(of.header.options[field] ?? null)
        const text = `${first.node} and ${run.node} are configured differently: ${field} is ${value(first)} and ${value(run)}`
        return { touches: 'safety', text }
      }),
  )
}

/** A node that starts must find the data that it stored last. */
function lostData(known: Known): readonly Broken[] {
  const { runs, messages, scale } = known
  return runs.flatMap((run, place): readonly Broken[] => {
    const [first] = run.steps
    if (first?.record.type !== 'start') return []
    const { now } = first.record
    const { group } = run.recording
    const stable = stableAtJoin(run)
    if (stable === undefined) return []
    const stored = runs
      .slice(0, place)
      .filter(({ node }) => node === run.node)
      .flatMap(({ steps }) => steps.flatMap((step) => storedBy(step, group)))
    const found = stable === null ? -1 : stored.findLastIndex((data) => canonical(data) === canonical(stable))
    const when = at(known, place, now)
    if (stable === null && stored.length > 0)
      return [lostDataFinding(`${run.node} started ${when} without data, although it had stored data before`)]
    if (found >= 0 && found < stored.length - 1)
      return [lostDataFinding(`${run.node} started ${when} with older data than it had stored last`)]
    const start = now + (scale.ahead[place] ?? 0) - (scale.error ?? Number.POSITIVE_INFINITY)
    const isHeardBefore =
      stable === null &&
      runs.some(({ steps }, other) =>
        steps.some(
          (step) =>
            step.record.type === 'step' &&
            step.record.input.type === 'message' &&
            step.record.input.from === run.node &&
            messages.receivedBy(step) === null &&
            step.record.now + (scale.ahead[other] ?? 0) < start,
        ),
      )
    return isHeardBefore
      ? [
          lostDataFinding(
            `${run.node} started ${when} without data, although other nodes had heard it before`,
          ),
        ]
      : []
  })
}

const lostDataFinding = (text: string): Broken => ({
  touches: 'safety',
  text: `${text}: its stable data was lost, or it has no data directory (--data)`,
})

/** The stable data with which the group was joined; undefined if it is not recorded. */
function stableAtJoin({ steps, recording: { group } }: Run): Plain | undefined {
  for (const { record } of steps) {
    if (record.type === 'start') {
      const held = groupPart(record.stable, group)
      if (held !== undefined) return held
    }
    if (record.type !== 'step' || record.input.type !== 'command') continue
    const { command } = record.input
    if (command.do === 'join' && command['group'] === group) return command['stable'] ?? null
  }
  return undefined
}

function storedBy(step: Run['steps'][number], group: string): readonly Plain[] {
  return carriedOut(step).flatMap((effect) => {
    const held = effect.type === 'persist' ? groupPart(effect.stable, group) : undefined
    return held === undefined ? [] : [held]
  })
}

/** The part of a process's stable data that belongs to the group. */
function groupPart(stable: Plain, group: string): Plain | undefined {
  const { upper } = (stable ?? {}) as { readonly upper?: { readonly [name: string]: Plain } | null }
  return upper?.[group]
}

/** Ignores hosts that slept: their clocks stopped, which was detected and is reported separately. */
function excessiveDrift({ runs, scale, options }: Known): readonly Broken[] {
  const slept = runs.map(({ steps }) => steps.some((step) => sleptIn(step) !== null))
  const unexplained = scale.drift.filter(({ a, b }) => slept[a] !== true && slept[b] !== true)
  return unexplained.map(({ a, b, ppm }): Broken => {
    const names = `${runs[a]?.node} and ${runs[b]?.node}`
    const allowed = JSON.stringify(options['rhoPpm'] ?? null)
    return {
      touches: 'safety',
      text: `the clocks of ${names} drifted apart by at least ${ppm.toFixed(0)} ppm; each may drift by ${allowed} (rhoPpm)`,
    }
  })
}

/** Messages that the receiver classified as fast although they were not, or that arrived sooner than δmin. */
function misjudgedDelays(known: Known): readonly Broken[] {
  const { definition, options, runs, messages, scale, replayed } = known
  const timing = definition.timeliness(options)
  const constants = definition.constants(options, runs[0]?.header.nodes.length ?? 0)
  const { leastDelay = 0, rhoPpm = 0 } = constants
  if (timing === null || scale.error === null) return []
  const { error } = scale
  const broken: Broken[] = []
  for (const message of messages.records) {
    for (const { by, at: arrived, step } of message.receipts) {
      const delay = delayOf(message, by, arrived, scale)
      const state = layerState(replayed.before.get(step))
      if (delay - error <= timing.fast || state === null || step.record.type !== 'step') continue
      const bound = boundAt(state, step.record, rhoPpm / 1_000_000, leastDelay)
      if (bound === null || bound > timing.fast) continue
      const between = `from ${runs[message.from]?.node} to ${runs[by]?.node}`
      const text = `a message ${between} took ${ms(delay)} and counted as fast (Δ = ${ms(timing.fast)}), ${at(known, by, arrived)}: a clock was wrong, or a message took less than δmin`
      broken.push({ touches: 'safety', text })
    }
  }
  return truncate(broken, 'more messages counted as fast although they were not')
}

function layerState(state: Plain | undefined): FailAwareState | null {
  const either = (state ?? null) as { readonly layer?: FailAwareState } | null
  return either?.layer?.startedAt === undefined ? null : either.layer
}

function boundAt(
  { startedAt, incarnation }: FailAwareState,
  record: Run['steps'][number]['record'],
  rho: number,
  leastDelay: Micros,
): Micros | null {
  if (record.type !== 'step' || record.input.type !== 'message') return null
  const message = record.input.body as unknown as Partial<Datagram>
  const { echo, sent } = message
  if (!echo || sent === undefined || message.for !== incarnation) return null
  const trip = {
    outward: echo.sent,
    arrived: record.now - startedAt,
    received: echo.received,
    answered: sent,
  }
  return delayBound(trip, rho, leastDelay)
}

function delayOf({ from, sent }: MessageRecord, by: number, arrived: Micros, { ahead }: Scale): Micros {
  return arrived + (ahead[by] ?? 0) - sent - (ahead[from] ?? 0)
}

function suspensions(known: Known): readonly Broken[] {
  return known.runs.flatMap(({ node, steps }, run) =>
    steps.flatMap((step): readonly Broken[] => {
      const by = sleptIn(step)
      if (by === null) return []
      const text = `the host of ${node} slept for ${ms(by)}, noticed ${at(known, run, step.record.now)}`
      return [{ touches: 'progress', text }]
    }),
  )
}

/** The length of a sleep that this step reports. */
function sleptIn({ record }: Run['steps'][number]): Micros | null {
  return record.type === 'step' && record.input.type === 'suspended' ? record.input.by : null
}

/** Timers that fired too late: the process was stopped, or had no CPU time. */
function lateness(known: Known): readonly Broken[] {
  const allowed = known.definition.timeliness(known.options)?.lateness ?? null
  if (allowed === null) return []
  return known.runs.flatMap(({ node, steps }, run): readonly Broken[] => {
    const due = new Map<string, Micros>()
    let worst = { by: 0, now: 0 }
    let times = 0
    for (const step of steps) {
      const { record } = step
      if (record.type === 'resume') due.clear()
      if (record.type === 'step' && record.input.type === 'timer') {
        const by = record.now - (due.get(record.input.name) ?? record.now)
        due.delete(record.input.name)
        if (by > allowed) times += 1
        if (by > worst.by) worst = { by, now: record.now }
      }
      for (const effect of carriedOut(step)) {
        if (effect.type === 'stopTimer') due.delete(effect.name)
        if (effect.type === 'setTimer')
          due.set(effect.name, typeof effect.at === 'number' ? effect.at : effect.at[1])
      }
    }
    if (times === 0) return []
    const text = `${node} acted too late ${plural(times, 'time')}, by ${ms(worst.by)} ${at(known, run, worst.now)} (σ = ${ms(allowed)}): it was stopped, or had no CPU time`
    return [{ touches: 'progress', text }]
  })
}

function slowMessages({ definition, options, runs, messages, scale }: Known): readonly Broken[] {
  const allowed = definition.timeliness(options)?.delay ?? null
  if (allowed === null || scale.error === null) return []
  const slow = new Map<string, { times: number; worst: Micros }>()
  for (const message of messages.records) {
    for (const { by, at: arrived } of message.receipts) {
      const delay = delayOf(message, by, arrived, scale)
      if (delay - scale.error <= allowed) continue
      const between = `from ${runs[message.from]?.node} to ${runs[by]?.node}`
      const before = slow.get(between) ?? { times: 0, worst: 0 }
      slow.set(between, { times: before.times + 1, worst: Math.max(before.worst, delay) })
    }
  }
  return [...slow].map(
    ([between, { times, worst }]): Broken => ({
      touches: 'progress',
      text: `${plural(times, 'message')} ${between} took longer than δ = ${ms(allowed)}, the slowest ${ms(worst)}`,
    }),
  )
}

function failedWrites(known: Known): readonly Broken[] {
  return known.runs.flatMap(({ node, steps }, run): readonly Broken[] => {
    const back = steps.filter(({ record }) => record.type === 'step' && record.takenBack === true)
    const [first] = back
    if (first === undefined) return []
    const text = `${node} could not store its data ${plural(back.length, 'time')}, first ${at(known, run, first.record.now)}: it gave no vote then`
    return [{ touches: 'progress', text }]
  })
}

/** The first three, and the number of the rest. */
function truncate(broken: readonly Broken[], more: string): readonly Broken[] {
  const [first] = broken
  if (first === undefined || broken.length <= 3) return broken
  return [...broken.slice(0, 3), { touches: first.touches, text: `${broken.length - 3} ${more}` }]
}
