/** conclave up: a group of real agents on this machine, watched and teased. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Command } from 'commander'
import { UsageError } from './errors.ts'
import { freePorts } from './free-ports.ts'
import { LocalAgent } from './local-agent.ts'
import { narrate, print } from './output.ts'
import { keysOf, tableOf } from './up-text.ts'
import { options, wholeNumber } from './values.ts'

type UpFlags = {
  readonly nodes: string
  readonly mode: string
  readonly profile: string
  readonly option: readonly string[]
  readonly seconds?: string
  readonly plain?: boolean
}

const MOST_NODES = 25
/** How often the agents are asked how they stand. */
const LOOK_MS = 100

const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

export function upCommand(): Command {
  return new Command('up')
    .description('start a group of real processes on this machine, and watch them elect')
    .option('--nodes <n>', 'how many', '5')
    .option('--mode <mode>', 'majority: one leader in all; local: one in each partition', 'majority')
    .option('--profile <profile>', 'lan, region or wan', 'lan')
    .option('--option <name=value>', "set one of the protocol's options (repeat for more)", collect, [])
    .option('--seconds <n>', 'end by itself after so long')
    .option('--plain', 'lines instead of a table, as without a terminal')
    .addHelpText(
      'after',
      `
In a terminal: a number chooses a node; k kills it (kill -9), r starts it again, p pauses it or lets it go on; l kills
whoever leads; d lets the leader hand over; q ends everything. Without a terminal, one line for each change.

Each node is a "conclave agent" with its own port and data folder, in a temporary folder that is removed at the end.
When this process ends, however it ends, so do they.`,
    )
    .action(async (flags: UpFlags) => {
      await up(flags)
    })
}

async function up(flags: UpFlags): Promise<void> {
  const count = wholeNumber('--nodes', flags.nodes, 1)
  if (count > MOST_NODES)
    throw new UsageError(`--nodes ${count}: at most ${MOST_NODES} on one machine`, '--nodes')
  options(flags.option)
  const seconds = flags.seconds === undefined ? null : wholeNumber('--seconds', flags.seconds, 1)
  const folder = mkdtempSync(join(tmpdir(), 'conclave-up-'))
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 })
  const adminToken = randomBytes(16).toString('hex')
  const tokenFile = join(folder, 'admin-token')
  writeFileSync(tokenFile, adminToken, { mode: 0o600 })
  const ids = Array.from({ length: count }, (_, index) => `n${index + 1}`)
  const [udp, http] = await Promise.all([freePorts(count, 'udp'), freePorts(count, 'tcp')])
  const agents = ids.map((id, index) => {
    const peers = ids.flatMap((peer, place) =>
      peer === id ? [] : ['--peer', `${peer}=127.0.0.1:${udp[place]}`],
    )
    const words = {
      group: 'up',
      id,
      listen: `127.0.0.1:${udp[index]}`,
      http: `127.0.0.1:${http[index]}`,
      'key-file': keyFile,
      'admin-token-file': tokenFile,
      data: join(folder, id),
      mode: flags.mode,
      profile: flags.profile,
    }
    return new LocalAgent(id, `http://${words.http}`, adminToken, [
      ...Object.entries(words).flatMap(([flag, value]) => [`--${flag}`, value]),
      ...peers,
      ...flags.option.flatMap((option) => ['--option', option]),
    ])
  })
  const isTerminal = process.stdout.isTTY && process.stdin.isTTY && flags.plain !== true
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort())
  const limit = seconds === null ? null : AbortSignal.timeout(seconds * 1000)
  limit?.addEventListener('abort', () => ended.abort())
  try {
    for (const agent of agents) agent.start()
    print(agents.map(({ id, url }) => `${id}  ${url}`).join('\n'))
    await (isTerminal ? watchInTerminal(agents, ended) : watchPlainly(agents, ended.signal))
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One line for each change. */
async function watchPlainly(agents: readonly LocalAgent[], signal: AbortSignal): Promise<void> {
  let said = ''
  const began = performance.now()
  await everySoOften(signal, async () => {
    await Promise.all(agents.map((agent) => agent.look()))
    const leaders = agents.flatMap(({ id, seen }) =>
      seen?.self.role === 'leader' ? [`${id} (token ${seen.leader?.token})`] : [],
    )
    const down = agents
      .filter(({ standing }) => standing !== 'up')
      .map(({ id, standing }) => `${id} ${standing}`)
    const text = [leaders.length === 0 ? 'nobody leads' : `${leaders.join(' and ')} leads`, ...down].join(
      ', ',
    )
    if (text === said) return
    said = text
    print(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  })
}

async function watchInTerminal(agents: readonly LocalAgent[], ended: AbortController): Promise<void> {
  const { stdin, stdout } = process
  let chosen = 0
  const onKey = (key: Buffer): void => {
    const deed = keysOf(key.toString(), agents, chosen)
    if (deed === 'quit') ended.abort()
    else chosen = deed
  }
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', onKey)
  stdout.write('\u001B[?25l')
  try {
    let height = 0
    await everySoOften(ended.signal, async () => {
      await Promise.all(agents.map((agent) => agent.look()))
      const table = tableOf(agents, chosen)
      stdout.write(`${height > 0 ? `\u001B[${height}A` : ''}\u001B[0J${table}\n`)
      height = table.split('\n').length
    })
  } finally {
    stdin.off('data', onKey)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write('\u001B[?25h')
    narrate('ending the agents')
  }
}

async function everySoOften(signal: AbortSignal, look: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    await look()
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}
