/** How two runs differ, in sentences. */
import type { Micros, NodeId } from '../../../../src/core/index.ts'
import type { Moment, Picture } from '../engine/picture.ts'
import { listText, timeText } from './text.ts'

export type Differences = { readonly sentences: readonly string[]; readonly differsAt: Micros | null }

export function differencesOf(
  mine: Picture,
  other: Picture,
  names: { readonly mine: string; readonly other: string },
): Differences {
  const first = firstDifference(mine.moments, other.moments)
  if (first === null && mine.endsAt === other.endsAt) {
    return { sentences: ['The two runs are the same.'], differsAt: null }
  }
  const differsAt = first === null ? Math.min(mine.endsAt, other.endsAt) : first.at
  return {
    sentences: [
      first === null
        ? `The runs are the same up to ${timeText(differsAt)}, where the shorter one ends.`
        : `The runs are the same up to ${timeText(differsAt)}.`,
      ...momentSentence(names.mine, first?.mine),
      ...momentSentence(names.other, first?.other),
      ...leaderSentences(mine, other, names),
      ...verdictSentences(mine, other, names),
    ],
    differsAt,
  }
}

type Split = { readonly at: Micros; readonly mine: Moment | undefined; readonly other: Moment | undefined }

function firstDifference(mine: readonly Moment[], other: readonly Moment[]): Split | null {
  const most = Math.max(mine.length, other.length)
  for (let index = 0; index < most; index++) {
    const [a, b] = [mine[index], other[index]]
    if (a !== undefined && b !== undefined && isSame(a, b)) continue
    return { at: Math.min(a?.at ?? Infinity, b?.at ?? Infinity), mine: a, other: b }
  }
  return null
}

function isSame(a: Moment, b: Moment): boolean {
  return a.at === b.at && a.node === b.node && a.kind === b.kind && a.text === b.text
}

function momentSentence(name: string, moment: Moment | undefined): readonly string[] {
  return moment === undefined ? [] : [`Then in “${name}” (${timeText(moment.at)}): ${moment.text}`]
}

/** The total time without any node that leads, and the nodes that lead at the end. */
export function leadershipOf(picture: Picture): {
  readonly withoutLeader: Micros
  readonly atEnd: readonly NodeId[]
} {
  const spans = picture.lanes
    .flatMap(({ roles }) => roles.filter(({ leads }) => leads))
    .sort((a, b) => a.from - b.from)
  let covered = 0
  let withoutLeader = 0
  for (const { from, to } of spans) {
    if (from > covered) withoutLeader += from - covered
    covered = Math.max(covered, to)
  }
  withoutLeader += Math.max(0, picture.endsAt - covered)
  const atEnd = picture.lanes.filter(({ roles }) => roles.at(-1)?.leads === true).map(({ node }) => node)
  return { withoutLeader, atEnd }
}

function leaderSentences(
  mine: Picture,
  other: Picture,
  names: { readonly mine: string; readonly other: string },
): readonly string[] {
  const [a, b] = [leadershipOf(mine), leadershipOf(other)]
  const ends = (nodes: readonly NodeId[]): string =>
    nodes.length === 0
      ? 'no node leads'
      : nodes.length === 1
        ? `${nodes[0]} leads`
        : `${listText(nodes)} lead`
  const sentences: string[] = []
  if (String(a.atEnd) !== String(b.atEnd)) {
    sentences.push(
      `At the end ${ends(a.atEnd)} in “${names.mine}”, and ${ends(b.atEnd)} in “${names.other}”.`,
    )
  }
  if (a.withoutLeader !== b.withoutLeader) {
    sentences.push(
      `No node leads for ${timeText(a.withoutLeader)} in “${names.mine}”, and for ${timeText(b.withoutLeader)} in “${names.other}”.`,
    )
  }
  return sentences
}

function verdictSentences(
  mine: Picture,
  other: Picture,
  names: { readonly mine: string; readonly other: string },
): readonly string[] {
  return mine.verdicts.flatMap((verdict) => {
    const counterpart = other.verdicts.find(({ name }) => name === verdict.name)
    if (counterpart === undefined || counterpart.verdict === verdict.verdict) return []
    return [
      `${verdict.name}: ${verdict.verdict} in “${names.mine}”, ${counterpart.verdict} in “${names.other}”.`,
    ]
  })
}
