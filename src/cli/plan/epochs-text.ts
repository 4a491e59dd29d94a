/** The guarantee card of `epochs`, for a person to read. */
import { plural } from '../../core/text.ts'
import { formatTable, NEW_LINE, paint } from '../output.ts'
import { figureTable, heading, indented, listed, mark, shapeTable, verdict } from './card-text.ts'
import type { EpochsCard } from './epochs-card.ts'

const TITLES: { readonly [name: string]: string } = {
  detection: 'leader crashes: another stands',
  'fail-over': 'leader crashes: another leads',
  'hand-over': 'leader steps down: another leads',
  'leader stops': 'leader without store: it has stopped',
  'longest gap': 'no leader though the store answers',
}

export function epochsText(card: EpochsCard): string {
  return [
    paint('bold', headline(card)),
    '',
    heading('It assumes'),
    ...assumptions(card).map((line) => `  ${line}`),
    ...(card.store?.acceptWeak === true
      ? [
          paint(
            'yellow',
            '  acceptWeak: a store that loses an acknowledged write is accepted, and then two may lead in one epoch',
          ),
        ]
      : []),
    ...card.brokenAssumptions.map((line) => paint('red', `  NOT SO in what was simulated: ${line}`)),
    '',
    heading('Times in ms: computed, and measured in simulated worlds of this very configuration'),
    indented(figureTable(card.figures, TITLES, ['usual', 'slow'])),
    ...(card.figures.some(({ name }) => name === 'fail-over')
      ? []
      : ['  fail-over: none. When the leader fails, nobody else can lead until it is back.']),
    '  usual: accesses take anything up to r. slow: half of the runs take r for each of them.',
    '',
    heading('Overlap'),
    ...overlap(card).map((line) => `  ${line}`),
    '',
    heading('What happens when (ms, in the slow worlds)'),
    indented(shapeTable(card.shapes, 'store')),
    '  nodes are cut off from each other: nothing happens, they never talk. Only the way to the store counts: whoever',
    '  has lost it is to the others as one that has crashed, and to itself as one without a store.',
    '',
    heading('Fault tolerance'),
    ...tolerance(card).map((line) => `  ${line}`),
    '',
    heading('Operations a second in the store, while nothing happens'),
    indented(operationsTable(card)),
    '  None of it grows with the number of nodes, but for the rows that a read round returns; the group has one leader.',
    '',
    verdict(card),
  ].join(NEW_LINE)
}

function headline({ nodes, store, profile, turns, start }: EpochsCard): string {
  const where = store === null ? 'any store that is a register' : `a store of kind ${store.kind}`
  const how = [
    ...(turns === 'succession' ? [] : [`turns ${turns}`]),
    ...(start === 'stamps' ? [] : [`start ${start}`]),
  ]
  return `epochs, profile ${profile}${how.map((word) => `, ${word}`).join('')}: ${plural(nodes.length, 'node')} (${listed(nodes)}) that meet in ${where}`
}

function assumptions({ constantsMs: c, driftPpm, assumed, store }: EpochsCard): readonly string[] {
  return [
    'the store is a register: reads return the last write, none that was acknowledged is lost, late ones change nothing',
    ...(store === null
      ? ['(name the store, and this card says what of that nobody can find out: docs/explanation/stores.md)']
      : assumed.map((line) => `of ${store.kind}, which cannot be found out: ${line}`)),
    `for progress, not for safety: an access takes at most ${c['access']} ms (r)`,
    `for the lease: a clock drifts by at most ${driftPpm} ppm (d); after a sleep of the host a second clock tells how long it was`,
    `from these: lease ${c['lease']} ms, renewed every ${c['period']} (T); followers look every ${c['poll']} and wait ${c['patience']}`,
  ]
}

function overlap({ store }: EpochsCard): readonly string[] {
  return [
    'zero: at no instant of true time do two lead. Not zero if a clock drifts by more than d, or stands still and the',
    'second clock does too (a paused or copied virtual machine).',
    store?.acceptWeak === true
      ? 'One leader an epoch, and one holder a token, as long as the store loses no write: it was accepted as weak.'
      : 'At most one leader an epoch, and one holder a token, whatever the clocks do: whoever checks tokens is safe.',
  ]
}

function tolerance({ tolerance: { spare }, nodes }: EpochsCard): readonly string[] {
  return [
    spare === 0
      ? 'A single node: when it fails nobody leads until it is back.'
      : `${spare} of ${nodes.length} nodes may fail, whichever they are: nobody votes, one that is left leads.`,
    'The store must live: while it is gone nobody leads. It bears what it is made to bear.',
  ]
}

function operationsTable({ operations }: EpochsCard): string {
  return formatTable([
    ['', 'computed /s', 'measured /s'],
    ...operations.map((line) => [
      line.what,
      line.computedPerSecond.toFixed(2),
      line.measuredPerSecond.toFixed(2),
      mark(line),
    ]),
  ])
}
