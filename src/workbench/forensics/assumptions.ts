/**
 * What a real run had to take for granted, checked against what really happened: late processes, slow messages, clocks,
 * stable data, configurations. What a protocol promises holds only while these do.
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
import { carriedOut, type Letter, type Post, type Run, type Scale } from './index.ts'
import type { Replayed } from './replay.ts'

/** `safety`: with it broken, two may lead. `progress`: with it broken, a leader may be lost or missing. */
export type Broken = { readonly touches: 'safety' | 'progress'; readonly text: string }

export type Known = {
  readonly definition: Definition
  readonly options: PlainObject
  readonly runs: readonly Run[]
  readonly post: Post
  readonly scale: Scale
  readonly replayed: Replayed
  /** The first instant, from which times are told. */
  readonly begin: Micros
}

export function brokenAssumptions(known: Known): readonly Broken[] {
  return [
    ...differentOptions(known),
    ...lostData(known),
    ...wildClocks(known),
    ...falselyFast(known),
    ...sleeps(known),
    ...lateness(known),
    ...slowMessages(known),
    ...untakenSteps(known),
  ]
}

const ms = (micros: Micros): string => `${msOf(Math.round(micros)).toFixed(1)} ms`

/** On the common scale, from the first instant. */
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

/** A node that starts must find what it kept last. */
function lostData(known: Known): readonly Broken[] {
  const { runs, post, scale } = known
  return runs.flatMap((run, place): readonly Broken[] => {
    const [first] = run.steps
    if (first?.record.type !== 'start') return []
    const { now } = first.record
    const { group } = run.recording
    const stable = foundBy(run)
    if (stable === undefined) return []
    const kept = runs
      .slice(0, place)
      .filter(({ node }) => node === run.node)
      .flatMap(({ steps }) => steps.flatMap((step) => keptBy(step, group)))
    const found = stable === null ? -1 : kept.findLastIndex((data) => canonical(data) === canonical(stable))
    const when = at(known, place, now)
    if (stable === null && kept.length > 0)
      return [lost(`${run.node} started ${when} with nothing, though it had kept data before`)]
    if (found >= 0 && found < kept.length - 1)
      return [lost(`${run.node} started ${when} with data older than what it had kept last`)]
    const start = now + (scale.ahead[place] ?? 0) - (scale.error ?? Number.POSITIVE_INFINITY)
    const isHeardBefore =
      stable === null &&
      runs.some(({ steps }, other) =>
        steps.some(
          (step) =>
            step.record.type === 'step' &&
            step.record.input.type === 'message' &&
            step.record.input.from === run.node &&
            post.receivedBy(step) === null &&
            step.record.now + (scale.ahead[other] ?? 0) < start,
        ),
      )
    return isHeardBefore
      ? [lost(`${run.node} started ${when} with nothing, though others had heard it before`)]
      : []
  })
}

const lost = (text: string): Broken => ({
  touches: 'safety',
  text: `${text}: its stable data was lost, or it has no data directory (--data)`,
})

/** With what the group was joined; undefined where that is not recorded. */
function foundBy({ steps, recording: { group } }: Run): Plain | undefined {
  for (const { record } of steps) {
    if (record.type === 'start') {
      const held = partOf(record.stable, group)
      if (held !== undefined) return held
    }
    if (record.type !== 'step' || record.input.type !== 'command') continue
    const { command } = record.input
    if (command.do === 'join' && command['group'] === group) return command['stable'] ?? null
  }
  return undefined
}

function keptBy(step: Run['steps'][number], group: string): readonly Plain[] {
  return carriedOut(step).flatMap((effect) => {
    const held = effect.type === 'persist' ? partOf(effect.stable, group) : undefined
    return held === undefined ? [] : [held]
  })
}

/** A group's share of what a process keeps. */
function partOf(stable: Plain, group: string): Plain | undefined {
  const { upper } = (stable ?? {}) as { readonly upper?: { readonly [name: string]: Plain } | null }
  return upper?.[group]
}

/** The clock of a host that slept stood still meanwhile: that was noticed, and is told of by itself. */
function wildClocks({ runs, scale, options }: Known): readonly Broken[] {
  const slept = runs.map(({ steps }) => steps.some((step) => sleptIn(step) !== null))
  const unexplained = scale.drift.filter(({ a, b }) => slept[a] !== true && slept[b] !== true)
  return unexplained.map(({ a, b, ppm }): Broken => {
    const names = `${runs[a]?.node} and ${runs[b]?.node}`
    const allowed = JSON.stringify(options['rhoPpm'] ?? null)
    return {
      touches: 'safety',
      text: `the clocks of ${names} ran apart by at least ${ppm.toFixed(0)} millionths: each may drift by ${allowed} (rhoPpm)`,
    }
  })
}

/** Messages that the receiver took for fast, and that surely were not; or that came sooner than any can. */
function falselyFast(known: Known): readonly Broken[] {
  const { definition, options, runs, post, scale, replayed } = known
  const timing = definition.timeliness(options)
  const constants = definition.constants(options, runs[0]?.header.nodes.length ?? 0)
  const { leastDelay = 0, rhoPpm = 0 } = constants
  if (timing === null || scale.error === null) return []
  const { error } = scale
  const broken: Broken[] = []
  for (const letter of post.letters) {
    for (const { by, at: arrived, step } of letter.receipts) {
      const delay = delayOf(letter, by, arrived, scale)
      const state = layerState(replayed.before.get(step))
      if (delay - error <= timing.fast || state === null || step.record.type !== 'step') continue
      const bound = boundAt(state, step.record, rhoPpm / 1_000_000, leastDelay)
      if (bound === null || bound > timing.fast) continue
      const between = `from ${runs[letter.from]?.node} to ${runs[by]?.node}`
      const text = `a message ${between} took ${ms(delay)} and counted as fast (Δ = ${ms(timing.fast)}), ${at(known, by, arrived)}: a clock ran wrong, or it came sooner than δmin`
      broken.push({ touches: 'safety', text })
    }
  }
  return summed(broken, 'more messages counted as fast and were not')
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

function delayOf({ from, sent }: Letter, by: number, arrived: Micros, { ahead }: Scale): Micros {
  return arrived + (ahead[by] ?? 0) - sent - (ahead[from] ?? 0)
}

function sleeps(known: Known): readonly Broken[] {
  return known.runs.flatMap(({ node, steps }, run) =>
    steps.flatMap((step): readonly Broken[] => {
      const by = sleptIn(step)
      if (by === null) return []
      const text = `the host of ${node} slept for ${ms(by)}, noticed ${at(known, run, step.record.now)}`
      return [{ touches: 'progress', text }]
    }),
  )
}

/** For how long, as this step was told. */
function sleptIn({ record }: Run['steps'][number]): Micros | null {
  return record.type === 'step' && record.input.type === 'suspended' ? record.input.by : null
}

/** Timers that were taken too late: the process was stopped, or had no processor. */
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
    const text = `${node} acted too late ${plural(times, 'time')}, by ${ms(worst.by)} ${at(known, run, worst.now)} (σ = ${ms(allowed)}): it was stopped, or had no processor`
    return [{ touches: 'progress', text }]
  })
}

function slowMessages({ definition, options, runs, post, scale }: Known): readonly Broken[] {
  const allowed = definition.timeliness(options)?.delay ?? null
  if (allowed === null || scale.error === null) return []
  const slow = new Map<string, { times: number; worst: Micros }>()
  for (const letter of post.letters) {
    for (const { by, at: arrived } of letter.receipts) {
      const delay = delayOf(letter, by, arrived, scale)
      if (delay - scale.error <= allowed) continue
      const between = `from ${runs[letter.from]?.node} to ${runs[by]?.node}`
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

function untakenSteps(known: Known): readonly Broken[] {
  return known.runs.flatMap(({ node, steps }, run): readonly Broken[] => {
    const back = steps.filter(({ record }) => record.type === 'step' && record.takenBack === true)
    const [first] = back
    if (first === undefined) return []
    const text = `${node} could not make its data safe ${plural(back.length, 'time')}, first ${at(known, run, first.record.now)}: no vote was given then`
    return [{ touches: 'progress', text }]
  })
}

/** The first few, and how many more. */
function summed(broken: readonly Broken[], more: string): readonly Broken[] {
  const [first] = broken
  if (first === undefined || broken.length <= 3) return broken
  return [...broken.slice(0, 3), { touches: first.touches, text: `${broken.length - 3} ${more}` }]
}
