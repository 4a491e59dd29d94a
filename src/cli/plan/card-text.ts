/** The guarantee card, for a person to read. */
import { count, plural } from '../../core/text.ts'
import type { Card } from '../../workbench/guarantees/card.ts'
import type { Figure, Shape, Stats } from '../../workbench/guarantees/figures.ts'
import { formatTable, NEW_LINE, paint } from '../output.ts'

export function cardText(card: Card): string {
  return [
    paint('bold', headline(card)),
    '',
    heading('It assumes'),
    ...assumptions(card).map((line) => `  ${line}`),
    ...card.brokenAssumptions.map((line) => paint('red', `  NOT SO in what was simulated: ${line}`)),
    ...card.advice.map((line) => paint('yellow', `  advice: ${line}`)),
    '',
    heading('Times in ms: computed, and measured in simulated worlds of this very configuration'),
    indented(figureTable(card.figures, TITLES)),
    ...(card.figures.some(({ name }) => name === 'fail-over')
      ? []
      : ['  fail-over: none. When the leader fails, nobody else can lead until it is back.']),
    '  punctual: timers fire when due. late: up to σ later, half of the crashes in the middle of a step.',
    '',
    heading('Overlap'),
    ...overlap(card).map((line) => `  ${line}`),
    '',
    heading('What happens when (ms, in the late worlds)'),
    indented(shapeTable(card.shapes, card.mode)),
    '',
    heading('Fault tolerance'),
    ...tolerance(card).map((line) => `  ${line}`),
    '',
    heading('Steady state, the whole group'),
    indented(trafficTable(card)),
    '  bytes: the text of a message as canonical JSON; a wire format may be smaller, and headers come on top.',
    '',
    verdict(card),
  ].join(NEW_LINE)
}

export function heading(text: string): string {
  return paint('bold', text)
}

export function indented(text: string): string {
  return text
    .split(NEW_LINE)
    .map((line) => `  ${line}`)
    .join(NEW_LINE)
}

function headline({ protocol, mode, rule, profile, voters, observers, witnesses }: Card): string {
  const parts = [
    `${plural(voters.length, 'voter')} (${listed(voters)})`,
    ...(witnesses.length === 0
      ? []
      : [`of which ${plural(witnesses.length, 'witness')} (${listed(witnesses)})`]),
    ...(observers.length === 0 ? [] : [`${plural(observers.length, 'observer')} (${listed(observers)})`]),
  ]
  const how = mode === 'majority' && rule === 'equality' ? 'majority mode, rule equality' : `${mode} mode`
  return `${protocol}, ${how}, profile ${profile}: ${parts.join(', ')}`
}

const LISTED = 9

export function listed(ids: readonly (string | number)[]): string {
  return ids.length <= LISTED ? ids.join(', ') : `${ids.slice(0, 3).join(', ')} ... ${ids.at(-1)}`
}

function assumptions({ constantsMs: c, rhoPpm, mode }: Card): readonly string[] {
  return [
    `a message takes ${c['deltaMin']} to ${c['delta']} ms (δmin, δ); one that provably took at most ${c['fast']} ms is fast (Δ)`,
    `a process acts at most ${c['sigma']} ms after it is due (σ: scheduling, garbage collection)`,
    `a clock drifts by at most ${rhoPpm} ppm (ρ); after a sleep of the host a second clock tells how long it was`,
    mode === 'majority'
      ? 'what a voter has stored survives its crash: a voter that lost its disk comes back as a new one'
      : 'what a process has stored survives its crash, or it comes back as a new one',
    `from these: lease ${c['lease']} ms, renewed every ${c['renewal']}; gone after ${c['expires']} ms of silence; heartbeat every ${c['heartbeat']}`,
  ]
}

const TITLES: { readonly [name: string]: string } = {
  detection: 'leader crashes: another stands',
  'fail-over': 'leader crashes: another leads',
  'hand-over': 'leader steps down: another leads',
  'isolated leader stops': 'leader cut off: it has stopped',
  'longest gap': 'stable partition without leader (κ)',
}

export function figureTable(
  figures: readonly Figure[],
  titles: { readonly [name: string]: string },
  worlds: readonly [string, string] = ['punctual', 'late'],
): string {
  const cells = (stats: Stats | null): readonly string[] =>
    stats === null ? ['', '', '', ''] : [stats.meanMs, stats.p50Ms, stats.p99Ms, stats.maxMs].map(ms)
  return formatTable([
    ['', 'computed', '', worlds[0], '', '', '', worlds[1], '', '', ''],
    ['', 'typical', 'worst', 'mean', 'p50', 'p99', 'max', 'mean', 'p50', 'p99', 'max'],
    ...figures.map((figure) => [
      titles[figure.name] ?? figure.name,
      ms(figure.computed.typicalMs),
      ms(figure.computed.worstMs),
      ...cells(figure.punctual),
      ...cells(figure.late),
      mark(figure),
    ]),
  ])
}

export function shapeTable(shapes: readonly Shape[], mode: Card['mode'] | 'store'): string {
  return formatTable([
    ['', '', 'computed', 'mean', 'max', 'runs'],
    ...shapes.flatMap((shape) => {
      const { what, leader, stopped, stoppedWithinMs } = shape
      const some = leader.none > 0 && leader.none < leader.runs ? ` (none in ${leader.none})` : ''
      const row = [
        what,
        outcome(shape, mode),
        typeof shape.leaderWithinMs === 'number' ? ms(shape.leaderWithinMs) : '-',
        leader.meanMs === null ? 'none' : ms(leader.meanMs),
        leader.maxMs === null ? 'none' : `${ms(leader.maxMs)}${some}`,
        count(leader.runs),
        mark(shape),
      ]
      if (stoppedWithinMs === null) return [row]
      const other = [
        '',
        mode === 'store' ? 'and the one before has stopped after' : 'and none on the other side after',
        ms(stoppedWithinMs),
        ms(stopped.meanMs),
        ms(stopped.maxMs),
      ]
      return [row, [...other, count(stopped.runs), '']]
    }),
  ])
}

function outcome({ leaderWithinMs }: Shape, mode: Card['mode'] | 'store'): string {
  if (leaderWithinMs === 'never') return 'no leader while it lasts'
  if (leaderWithinMs === null) return 'nothing promised; a leader within'
  if (leaderWithinMs === 0) return 'the leader stays'
  return mode === 'local' ? 'a leader of its own within' : 'a leader within'
}

export function mark({ exceeded }: { readonly exceeded: boolean }): string {
  return exceeded ? paint('red', '<- EXCEEDS what was computed') : ''
}

export function ms(value: number | null): string {
  return value === null ? '-' : value.toFixed(1)
}

function overlap({ mode }: Card): readonly string[] {
  return mode === 'majority'
    ? [
        'zero: at no instant of true time do two lead, and every leadership has a larger token than those before.',
        'Not zero if a clock drifts by more than ρ, or stands still and the second clock does too (a paused or copied',
        'virtual machine). Tokens only grow even then: whoever checks them never obeys the older leader again.',
        'If a voter loses its disk and comes back under its old id, neither holds.',
      ]
    : [
        'zero within a partition: no process supports two leaders at the same instant of true time.',
        'Each partition has a leader of its own, so there are two while the network is split: local mode has no tokens.',
        'Not zero if a clock drifts by more than ρ, or stands still and the second clock does too.',
      ]
}

function tolerance({
  mode,
  voters,
  tolerance: { spare, quorum, eligible },
  witnesses,
  observers,
}: Card): readonly string[] {
  const lines =
    mode === 'majority'
      ? [
          `${spare} of ${plural(voters.length, 'voter')} may fail, whichever they are: ${quorum} must be there for a leader.`,
          ...(voters.length % 2 === 0
            ? [
                `An even number: ${voters.length - 1} voters would bear as many failures, ${voters.length + 1} one more.`,
              ]
            : []),
        ]
      : [
          `${spare} of ${plural(voters.length, 'voter')} may fail, whichever they are: those that are left have a leader.`,
        ]
  if (witnesses.length > 0) {
    lines.push(`Witnesses vote but never lead: ${eligible} of ${voters.length} can lead.`)
  }
  if (observers.length > 0)
    lines.push('Observers learn who leads; their failure matters to nobody, nor do they help.')
  return lines
}

function trafficTable({ traffic }: Card): string {
  const rate = (value: number): string => value.toFixed(1)
  return formatTable([
    ['', 'computed /s', 'measured /s', 'bytes each'],
    ...traffic.kinds.map(({ kind, computedPerSecond, measuredPerSecond, bytes }) => [
      kind,
      rate(computedPerSecond),
      rate(measuredPerSecond),
      String(bytes),
    ]),
    [
      'datagrams',
      rate(traffic.computed.datagramsPerSecond),
      rate(traffic.measured.datagramsPerSecond),
      '',
      mark(traffic),
    ],
    ['bytes', count(traffic.computed.bytesPerSecond), count(traffic.measured.bytesPerSecond), ''],
  ])
}

export function verdict({
  exceeded,
  runs,
  specs,
  idle,
}: Pick<Card, 'exceeded' | 'runs' | 'specs' | 'idle'>): string {
  const names = specs.map(({ name }) => name).join(', ')
  const violated = specs.filter(({ violations }) => violations > 0)
  const lines = [
    ...violated.map(({ name, violations, why }) =>
      paint('red', `${name} VIOLATED in ${plural(violations, 'run')}, first: ${why}`),
    ),
    ...(idle === 0 ? [] : [`in ${plural(idle, 'run')} nobody led although nothing had happened yet`]),
  ]
  if (runs === 0) {
    lines.push('0 runs: a process that is alone has nothing to try, so only the traffic was measured')
    return lines.join(NEW_LINE)
  }
  lines.push(
    exceeded.length === 0
      ? paint('green', `${plural(runs, 'run')}: everything kept to what was computed; held: ${names}`)
      : paint('red', `${plural(runs, 'run')}: NOT as computed: ${exceeded.join(', ')}`),
  )
  return lines.join(NEW_LINE)
}
