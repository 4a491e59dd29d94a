/** The help of the screen of `conclave up`: what each key and command does. */
import { measureWidth } from '../output.ts'
import { UP_COMMAND_ROWS } from './commands.ts'

/** Keys, each with a short and a long meaning. The footer of the screen shows the short ones. */
export const UP_KEYS: readonly {
  readonly key: string
  readonly short: string
  readonly long: string
}[] = [
  { key: '?', short: 'help', long: 'show or close this help' },
  { key: 'q', short: 'quit', long: 'stop all nodes and exit' },
  {
    key: '1-9',
    short: 'select',
    long: 'select a node; the up and down arrows select the previous and next node',
  },
  { key: 'k', short: 'kill', long: 'kill the selected node (kill -9)' },
  { key: 'r', short: 'restart', long: 'start the selected node again' },
  { key: 'p', short: 'pause', long: 'pause or resume the selected node (SIGSTOP, SIGCONT)' },
  { key: 'x', short: 'cut off', long: 'cut all links of the selected node' },
  { key: 'h', short: 'heal', long: 'heal all links' },
  { key: 'l', short: 'kill the leader', long: 'kill the leader, whichever node it is' },
  { key: 'd', short: 'step down', long: 'make the leader step down' },
  {
    key: ':',
    short: 'command',
    long: 'type one of the commands below; Enter runs it, Escape leaves the line',
  },
  { key: 'PgUp PgDn', short: 'history', long: 'show earlier or later events' },
]

const COLUMNS = [
  { name: 'role', meaning: 'leader, follower, down, paused, or silent: the agent does not answer' },
  { name: 'lease left', meaning: 'how long the lease of the leader still runs, as this node knows it' },
  {
    name: 'reaches',
    meaning: 'the numbers of the nodes that this node can reach; a dot for each of the others',
  },
]

/** The lines of the help, no wider than `columns`. */
export function helpLines(columns: number): readonly string[] {
  return [
    'Keys',
    ...rowLines(UP_KEYS.map(({ key, long }) => [key, long])),
    '',
    'Commands, typed after ":"',
    ...rowLines(UP_COMMAND_ROWS),
    '',
    'NODES: n1 or n1,n3 or leader or all',
    'LINK: n1>n2 (from n1 to n2) or n1-n2 (both directions)',
    '',
    'Columns of the table',
    ...rowLines(COLUMNS.map(({ name, meaning }) => [name, meaning])),
  ].flatMap((line) => (measureWidth(line) <= columns ? [line] : wrapWords(line.split(' '), columns)))

  function rowLines(rows: readonly (readonly [string, string])[]): readonly string[] {
    const width = Math.min(Math.max(...rows.map(([name]) => name.length)), Math.floor(columns / 2) - 4)
    return rows.flatMap(([name, meaning]) => {
      const room = Math.max(10, columns - width - 4)
      const [first = '', ...rest] = wrapWords(meaning.split(' '), room)
      const indent = ' '.repeat(width + 4)
      const head =
        name.length > width ? [`  ${name}`, `${indent}${first}`] : [`  ${name.padEnd(width)}  ${first}`]
      return [...head, ...rest.map((line) => `${indent}${line}`)]
    })
  }
}

function wrapWords(words: readonly string[], columns: number): readonly string[] {
  return wrap(words, ' ', columns)
}

/** Joins pieces into lines that are no wider than `columns`. */
export function wrap(pieces: readonly string[], between: string, columns: number): readonly string[] {
  const lines: string[] = []
  for (const piece of pieces) {
    const longer = lines.length === 0 ? piece : `${lines.at(-1)}${between}${piece}`
    if (lines.length > 0 && measureWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(piece)
  }
  return lines
}
