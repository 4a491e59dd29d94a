/** Questions about a run, for the checks of lessons. */
import type { Micros, NodeId } from '../../../../src/core/index.ts'
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import type { Picture } from '../engine/picture.ts'
import { timeText } from '../model/text.ts'
import type { Attempt, Check } from './lesson.ts'

/** An uninterrupted time in which a node tells its application that it leads. */
export type Lead = { readonly node: NodeId; readonly from: Micros; readonly to: Micros }

export function done(text: string): Check {
  return { isDone: true, text }
}

export function notYet(text: string): Check {
  return { isDone: false, text }
}

export function leadsOf({ lanes }: Picture): readonly Lead[] {
  const leads = lanes.flatMap(({ node, roles }) => {
    const merged: Lead[] = []
    for (const { leads: isLeading, from, to } of roles) {
      const last = merged.at(-1)
      if (!isLeading) continue
      if (last !== undefined && last.to === from) merged[merged.length - 1] = { ...last, to }
      else merged.push({ node, from, to })
    }
    return merged
  })
  return leads.sort((a, b) => a.from - b.from)
}

/** The first time in which two nodes lead at once, as they tell their applications. */
export function overlapOf(
  picture: Picture,
): { readonly at: Micros; readonly nodes: readonly NodeId[] } | null {
  const leads = leadsOf(picture)
  for (const [index, later] of leads.entries()) {
    const earlier = leads.slice(0, index).find(({ node, to }) => node !== later.node && to > later.from)
    if (earlier !== undefined) return { at: later.from, nodes: [earlier.node, later.node] }
  }
  return null
}

/** The node that leads at this instant; the first of several. */
export function leaderAt(picture: Picture, at: Micros): NodeId | null {
  return leadsOf(picture).find(({ from, to }) => from <= at && at < to)?.node ?? null
}

export function leadersAtEnd({ lanes }: Picture): readonly NodeId[] {
  return lanes.filter(({ roles }) => roles.at(-1)?.leads === true).map(({ node }) => node)
}

export function isViolated({ verdicts }: Picture, name: string): boolean {
  return verdicts.some((each) => each.name === name && each.verdict === 'violated')
}

export function isHeld({ verdicts }: Picture, name: string): boolean {
  return verdicts.some((each) => each.name === name && each.verdict === 'held')
}

/** Whether an event opens or closes links, and does nothing else. */
export function isLinkChange(event: ScenarioEvent): boolean {
  return ['cut', 'cutOneWay', 'heal', 'links', 'partition'].some((name) => name in event)
}

/** How many links an event names: 0 for other events, and for all links at once. */
export function linksChanged(event: ScenarioEvent): number {
  if ('cut' in event) return event.cut.length
  if ('cutOneWay' in event) return event.cutOneWay.length
  return 'heal' in event && event.heal !== 'all' ? event.heal.length : 0
}

export function microsOf({ atMs }: ScenarioEvent): Micros {
  return Math.round(atMs * 1000)
}

/** The task is to break a specification by an event. */
export function breaks(name: string, missing: string): (attempt: Attempt) => Check {
  return ({ picture }) => {
    const found = picture.verdicts.find((each) => each.name === name && each.verdict === 'violated')
    if (found === undefined) return notYet(missing)
    const when = found.at === null ? '' : ` at ${timeText(found.at)}`
    return done(`${name} is violated${when}: ${found.why}.`)
  }
}

/** The task is to find the moment of a violation in a schedule. */
export function finds(name: string): (attempt: Attempt) => Check {
  return ({ picture, cursor }) => {
    const found = picture.verdicts.find((each) => each.name === name)
    const moment = found?.moment ?? null
    if (found === undefined || moment === null) return notYet(`${name} is not violated in this run.`)
    if (cursor.moment === moment) return done(`This is it: ${found.why}.`)
    const where = cursor.moment < 0 ? 'at the start' : `at record ${cursor.moment + 1}`
    return notYet(`You are ${where} of ${picture.moments.length}; this is not the one.`)
  }
}
