/** A node with the wrong key, of another group, or with other constants: it never leads, and both sides say why. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Finding } from './report.ts'
import type { RunNode } from './run-node.ts'
import { type Settings, Trial } from './trial.ts'

type Kind = {
  readonly name: string
  /** How its words differ from what they should be. */
  readonly twist: (words: readonly string[], folder: string) => readonly string[]
  /** What both sides must say. */
  readonly says: RegExp
}

const KINDS: readonly Kind[] = [
  {
    name: 'another key',
    twist: (words, folder) => replaced(words, '--key-file', join(folder, 'other-key')),
    says: /not authentic|unknown key/,
  },
  {
    name: 'another group',
    twist: (words) => replaced(words, '--group', 'other'),
    says: /another group/,
  },
  {
    name: 'other constants',
    twist: (words) => before(words, ['--option', 'renewalIntervalMs=137']),
    says: /configured differently/,
  },
]

/** How long it is let try, in lock times, and how long is waited for what must be said. */
const TRYING = 10
const PATIENCE_MS = 30_000
/** How often one thing may be said by one node in that time. */
const MOST_SAID = 6

export async function strangers(settings: Settings): Promise<Finding> {
  const problems: string[] = []
  const trial = await Trial.begin(settings)
  try {
    writeFileSync(join(trial.folder, 'other-key'), randomBytes(32), { mode: 0o600 })
    for (const kind of KINDS) {
      settings.say(kind.name)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      problems.push(...(await tried(trial, kind)))
    }
    problems.push(...trial.problems(1))
  } finally {
    await trial.end()
  }
  return {
    name: 'strangers',
    done: `a node came back with ${KINDS.map(({ name }) => name).join(', then with ')}`,
    problems,
    measures: [],
    limited: null,
  }
}

async function tried(trial: Trial, { name, twist, says }: Kind): Promise<readonly string[]> {
  const { id: leader } = await trial.settle()
  const node = trial.nodes.find(({ id }) => id !== leader) as RunNode
  const rest = trial.nodes.filter((other) => other !== node)
  node.signal('SIGTERM')
  await node.ended
  const from = trial.witness.lines.length
  const heard = rest.map(({ said }) => said.length)
  const stranger = node.as((words) => twist(words, trial.folder))
  stranger.start()
  await stranger.takesPart
  await setTimeout(TRYING * trial.settings.bounds.lockMs)
  const problems: string[] = []
  const wrong = trial.witness.lines.slice(from).find(({ id }) => id === node.id)
  if (wrong !== undefined) problems.push(`${name}: ${node.id} led with token ${wrong.token}`)
  const isSaid = (): boolean =>
    rest.every(({ said }, place) => said.slice(heard[place]).some((line) => says.test(line))) &&
    stranger.said.some((line) => says.test(line))
  const until = performance.now() + PATIENCE_MS
  // oxlint-disable-next-line no-await-in-loop -- until it is said
  while (!isSaid() && performance.now() < until) await setTimeout(50)
  if (!isSaid()) problems.push(`${name}: not everybody said what is wrong`)
  const often = rest.filter(
    ({ said }, place) => said.slice(heard[place]).filter((line) => says.test(line)).length > MOST_SAID,
  )
  problems.push(...often.map(({ id }) => `${name}: ${id} said it more than ${MOST_SAID} times`))
  if (stranger.pid === null) problems.push(`${name}: ${node.id} ended by itself`)
  stranger.signal('SIGKILL')
  await stranger.ended
  node.start()
  return problems
}

function replaced(words: readonly string[], flag: string, value: string): readonly string[] {
  return words.map((word, place) => (words[place - 1] === flag ? value : word))
}

/** Just before the command of the command line. */
function before(words: readonly string[], more: readonly string[]): readonly string[] {
  const at = words.indexOf('--')
  return [...words.slice(0, at), ...more, ...words.slice(at)]
}
