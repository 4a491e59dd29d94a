/**
 * Branches: the histories that a reader has made of a scenario.
 *
 * Acting at an instant keeps everything before it. If the reader has already seen more of the branch, acting forks: the
 * branch stays as it is, and the new one begins as its copy. So nothing that was seen is ever lost.
 */
import type { Micros } from '../../../../src/core/index.ts'
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import type { OwnModule, ScenarioFile } from '../engine/messages.ts'
import type { Picture } from '../engine/picture.ts'
import { atInstant, interventionText } from './interventions.ts'
import { timeText } from './text.ts'
import type { Branch, Cursor, Intervention, Source } from './types.ts'

/** How many branches keep their picture. Others run again when they are shown. */
const PICTURES_KEPT = 6

export function firstBranch(
  id: number,
  settings: {
    readonly name: string
    readonly base: ScenarioFile
    readonly module: OwnModule | null
    readonly source?: Source
    readonly made?: readonly ScenarioEvent[]
    readonly untilMs?: number | null
  },
): Branch {
  const { name, base, module, source = 'scenario', made = [], untilMs = null } = settings
  return {
    id,
    name,
    parent: null,
    forkedAt: null,
    source,
    base,
    made,
    untilMs,
    module,
    picture: null,
  }
}

/** The scenario of a branch: its base with the events made by hand, in the order of time. */
export function scenarioOf({ base, made, untilMs }: Branch): ScenarioFile {
  const own = (Array.isArray(base['events']) ? base['events'] : []) as readonly (ScenarioEvent | null)[]
  return {
    ...base,
    // As loaded until something is added: a mistake is named by its place in the file.
    ...(made.length === 0 ? {} : { events: [...own, ...made].sort(byTime) }),
    ...(untilMs === null ? {} : { untilMs }),
  }
}

/** An event of a damaged link may be anything: the engine says so. */
function byTime(a: ScenarioEvent | null, b: ScenarioEvent | null): number {
  return (a?.atMs ?? 0) - (b?.atMs ?? 0)
}

export function isSchedule(scenario: ScenarioFile): boolean {
  return Array.isArray(scenario['schedule'])
}

/** Why nothing can be done to this branch; null if it can. */
export function whyFixed(branch: Branch): string | null {
  if (branch.source === 'trace') {
    return 'This is a recorded run: you can look at it, but not change it. Open a scenario to act.'
  }
  if (isSchedule(branch.base)) {
    return 'This run is a schedule, a fixed list of steps without time: you can step through it, but not act in it.'
  }
  return null
}

/**
 * When an event takes place that is made at the cursor: right after the moment at which the reader stands, so that what
 * has been seen stays as it was.
 */
export function actingInstant(picture: Picture, { at, moment }: Cursor): Micros {
  return picture.moments[moment]?.at === at ? Math.floor(at) + 1 : Math.floor(at)
}

/** The branch after something was done in it. `isFork`: it is a new branch, and the old one stays. */
export function act(
  branch: Branch,
  event: Intervention,
  settings: {
    readonly at: Micros
    /** The latest instant that the reader has seen of the branch. */
    readonly seenTo: Micros
    readonly freshId: number
  },
): { readonly branch: Branch; readonly isFork: boolean } {
  const { at, seenTo, freshId } = settings
  const atMs = at / 1000
  const made = [...branch.made.filter((earlier) => earlier.atMs <= atMs), atInstant(event, atMs)]
  const untilMs = untilAfter(branch, atMs)
  const isFork = seenTo > at || made.length <= branch.made.length
  if (!isFork) return { branch: { ...branch, made, untilMs, picture: null }, isFork }
  return {
    branch: {
      ...branch,
      id: freshId,
      name: forkName(event, at),
      parent: branch.id,
      forkedAt: at,
      made,
      untilMs,
      picture: null,
    },
    isFork,
  }
}

function baseUntil({ base }: Branch): number {
  return typeof base['untilMs'] === 'number' ? base['untilMs'] : 0
}

/** The consequences of a late event should be seen too: the run continues for at least a third of its first length. */
function untilAfter(branch: Branch, atMs: number): number | null {
  const base = baseUntil(branch)
  const present = branch.untilMs ?? base
  const least = Math.ceil(atMs + base / 3)
  if (least <= present) return branch.untilMs
  return least
}

export function extendBranch(branch: Branch, byMs: number): Branch {
  return { ...branch, untilMs: Math.ceil((branch.untilMs ?? baseUntil(branch)) + byMs), picture: null }
}

/** Without the last event made by hand; null if there is none. */
export function undone(branch: Branch): Branch | null {
  const gone = branch.made.at(-1)
  if (gone === undefined) return null
  // A fork is named after the event that made it.
  const isFork = branch.name === forkName(gone, gone.atMs * 1000)
  const name = isFork ? `before ${branch.name}` : branch.name
  return { ...branch, name, made: branch.made.slice(0, -1), picture: null }
}

function forkName(event: Intervention, at: Micros): string {
  return `${interventionText(event)} at ${timeText(at)}`
}

/** The branches with this one added or replaced, of which only the newest keep their pictures. */
export function withBranch(branches: readonly Branch[], branch: Branch): readonly Branch[] {
  const isKnown = branches.some(({ id }) => id === branch.id)
  const all = isKnown
    ? branches.map((each) => (each.id === branch.id ? branch : each))
    : [...branches, branch]
  const others = all.filter(({ id, picture }) => id !== branch.id && picture !== null).map(({ id }) => id)
  const keepers = new Set([branch.id, ...others.slice(-PICTURES_KEPT + 1)])
  return all.map((each) =>
    each.picture === null || keepers.has(each.id) ? each : { ...each, picture: null },
  )
}

/** Without a branch. Its children become children of its parent. */
export function withoutBranch(branches: readonly Branch[], id: number): readonly Branch[] {
  const gone = branches.find((each) => each.id === id)
  if (gone === undefined) return branches
  return branches
    .filter((each) => each.id !== id)
    .map((each) => (each.parent === id ? { ...each, parent: gone.parent } : each))
}
