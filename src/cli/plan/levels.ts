/** The guarantee cards of adaptive timing: one per level, and all of them side by side. */
import { msOf } from '../../core/index.ts'
import type { PlannedLevel, TrialPlan } from '../../protocols/index.ts'
import { cardOf, type Measured } from '../../workbench/guarantees/card.ts'
import { EXIT } from '../errors.ts'
import { Interruption } from '../interrupt.ts'
import { NEW_LINE, paint, print, printJson, printNote } from '../output.ts'
import { formatCard, formatMs, heading, indentedTable } from './card-text.ts'
import type { ReadyPlan } from './config.ts'
import { measure } from './measure.ts'

type LevelCard = PlannedLevel & { readonly described: TrialPlan; readonly measured: Measured }

/** Runs the trials of each level in turn, and prints its card when it is complete. */
export async function runLevels(
  plan: ReadyPlan,
  levels: readonly PlannedLevel[],
  threads: number,
  isJson: boolean,
): Promise<number> {
  const interruption = new Interruption()
  const cards: LevelCard[] = []
  try {
    for (const level of levels) {
      const ready = { ...plan, ...level.plan }
      const described = plan.planning.describe(level.plan)
      if (described.kind !== 'trials') continue
      // oxlint-disable-next-line no-await-in-loop -- each level uses all threads
      const measured = await measure(ready, described, threads, interruption.signal)
      if (measured === null) break
      const card = { ...level, described, measured }
      cards.push(card)
      if (!isJson) print(`${formatTitle(card)}${NEW_LINE}${formatCard(described, measured)}${NEW_LINE}`)
      if (interruption.isInterrupted) break
    }
  } finally {
    interruption.close()
  }
  const { isInterrupted, exitCode } = interruption
  if (isJson) printJson({ ...cardsOf(plan, cards), ...(isInterrupted ? { interrupted: true } : {}) })
  else if (cards.length > 0) print(formatSideBySide(cards))
  if (isInterrupted && !isJson) printNote('interrupted: the cards are of the runs until then')
  return cards.some(({ measured }) => measured.exceeded.length > 0) ? EXIT.violated : (exitCode ?? EXIT.ok)
}

/** All cards as one object, which begins with the fields of the best: what an idle group does. */
function cardsOf({ definition, asked }: ReadyPlan, cards: readonly LevelCard[]): object {
  const levels = cards.map(({ names, level, lease, described, measured }) => ({
    names,
    level,
    leaseMs: msOf(lease),
    card: cardOf(described, measured, asked.seeds),
  }))
  return {
    protocol: definition.name,
    timing: 'adaptive',
    seeds: asked.seeds,
    ...levels[0]?.card,
    levels,
    exceeded: [...new Set(cards.flatMap(({ measured }) => measured.exceeded))],
  }
}

function nameOf({ names }: PlannedLevel): string {
  return names.join(' and ')
}

function formatTitle(card: LevelCard): string {
  const name = nameOf(card)
  const lease = formatMs(msOf(card.lease))
  return paint('bold', `The ${name} level: leases of ${lease} ms (level ${card.level})`)
}

/** The times of all levels in one table, and what each level costs. */
function formatSideBySide(cards: readonly LevelCard[]): string {
  const titles = new Map(
    cards.flatMap(({ described }) => described.figures.map(({ name, title }) => [name, title] as const)),
  )
  const figureIn = ({ measured }: LevelCard, name: string) =>
    measured.figures.find((figure) => figure.name === name)
  const rows = [...titles].map(([name, title]) => [
    title,
    ...cards.flatMap((card) => {
      const figure = figureIn(card, name)
      if (figure === undefined) return ['-', '-']
      return [formatMs((figure.punctual ?? figure.late)?.p50Ms ?? null), formatMs(figure.computed.worstMs)]
    }),
  ])
  const datagrams = cards.flatMap(({ measured }) => {
    const [, computed = '-', counted = '-'] =
      measured.load.rows.find(({ cells }) => cells[0] === 'datagrams')?.cells ?? []
    return [counted, computed]
  })
  return [
    heading('All levels, times in ms: median of the simulations, and computed bound'),
    ...indentedTable([
      ['', ...cards.flatMap((card) => [nameOf(card), ''])],
      ['', ...cards.flatMap(() => ['median', 'bound'])],
      ['lease', ...cards.flatMap(({ lease }) => ['', formatMs(msOf(lease))])],
      ...rows,
      ['datagrams per second', ...datagrams],
    ]),
    '  The leader chooses the level: the shortest leases that the measurements of the group support.',
  ].join(NEW_LINE)
}
