/** `conclave run --agent`, beside three real agents. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/agents.ts'
import { until } from '../../../test/support/wait.ts'
import { findFreePorts as free } from '../../service/chaos/free-ports.ts'
import { judge } from '../../service/chaos/judge.ts'
import { COMMAND, Witness, type WitnessLine } from '../../service/chaos/witness.ts'
import { stepDown } from '../../service/client/index.ts'
import { isAlive } from '../../service/supervise/processes.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname
const IDS = ['a', 'b', 'c'] as const
type Id = (typeof IDS)[number]
const ADMIN = 'an admin token of some length'

let folder: string
let witness: Witness
let agents: Map<string, ChildProcess>
let runners: Map<string, ChildProcess>
let urls: Map<string, string>

const adminFlags = (): readonly string[] => ['--admin-token-file', join(folder, 'admin')]

function run(id: Id, manner: 'stubborn' | 'kind'): ChildProcess {
  const asked = [
    '--agent',
    urls.get(id) ?? '',
    ...adminFlags(),
    '--kill-before-ms',
    '100',
    '--grace-ms',
    '300',
  ]
  const command = ['sh', '-c', COMMAND, 'witness', join(folder, 'log'), manner]
  return spawn(CONCLAVE, ['run', ...asked, '--', ...command], {
    stdio: 'ignore',
    env: { ...process.env, WITNESS_SECONDS: '0.05' },
  })
}

async function nextAfter({ token }: WitnessLine): Promise<WitnessLine> {
  await until(() => (witness.latest?.token ?? 0) > token)
  return witness.latest as WitnessLine
}

it.each<[readonly string[], number, string]>([
  [['--agent', 'nonsense'], 2, '--agent nonsense: write a URL'],
  [
    ['--agent', 'http://127.0.0.1:2', '--admin-token-file', '/no/such'],
    2,
    '--admin-token-file: there is no file /no/such',
  ],
])('conclave run %j exits with %i', async (words, code, message) => {
  const child = spawn(CONCLAVE, ['run', ...words, '--', 'true'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  const ended = await new Promise<number | null>((resolve) => child.once('close', resolve))
  expect([ended, said]).toEqual([code, expect.stringContaining(message)])
})

/** One group for all tests. The last test kills an agent. */
describe('conclave run --agent', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'conclave-run-agent-'))
    writeFileSync(join(folder, 'key'), 'a key that is long enough for this')
    writeFileSync(join(folder, 'admin'), ADMIN)
    witness = new Witness(join(folder, 'log'))
    agents = new Map()
    runners = new Map()
    const [udp, http] = await Promise.all([free(IDS.length, 'udp'), free(IDS.length, 'tcp')])
    urls = new Map(IDS.map((id, index) => [id, `http://127.0.0.1:${http[index]}`]))
    for (const [index, id] of IDS.entries()) {
      const peers = IDS.flatMap((peer, place) =>
        peer === id ? [] : ['--peer', `${peer}=127.0.0.1:${udp[place]}`],
      )
      const words = ['--group', 'g', '--id', id, '--listen', `127.0.0.1:${udp[index]}`, ...peers]
      const files = ['--key-file', join(folder, 'key'), '--data', join(folder, id), ...adminFlags()]
      // On a busy machine, messages are late by hundreds of milliseconds.
      const slow = ['--profile', 'region', '--option', 'sigmaMs=1000']
      const more = ['--http', `127.0.0.1:${http[index]}`, ...slow]
      agents.set(id, spawn(CONCLAVE, ['agent', ...words, ...files, ...more], { stdio: 'ignore' }))
      runners.set(id, run(id, 'stubborn'))
    }
    await until(() => witness.lines.length > 3)
  }, 60_000)

  afterAll(async () => {
    for (const child of [...agents.values(), ...runners.values()]) {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
    }
    await until(() => witness.lines.every(({ pid }) => !isAlive(pid)))
    witness.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('refuses a --kill-before-ms that is too long for the lease of an agent that does not lead', async () => {
    const follower = IDS.find((id) => id !== witness.latest?.id) as Id
    const words = ['--agent', urls.get(follower) ?? '', ...adminFlags(), '--kill-before-ms', '5000']
    const { code, said } = await conclave(['run', ...words, '--', 'true'])
    expect(said).toMatch(/--kill-before-ms 5000: must be at most \d{4}; a lease lasts [\d.]+ ms/)
    expect(code).toBe(2)
  }, 60_000)

  it('exits with 5 if the agent refuses the admin token', async () => {
    const { id } = witness.latest as WitnessLine
    const words = ['--agent', urls.get(id) ?? '']
    const child = spawn(CONCLAVE, ['run', ...words, '--', 'true'], { stdio: 'ignore' })
    expect(await new Promise<number | null>((resolve) => child.once('exit', resolve))).toBe(5)
  }, 60_000)

  it('runs one command at a time after step-down, a stopped runner and a killed agent', async () => {
    const first = witness.latest as WitnessLine
    // On a busy machine the term can end before the agent is asked to step down.
    await stepDown({ agent: urls.get(first.id) ?? '', adminToken: ADMIN }).catch((error: Error) =>
      expect(error).toMatchObject({ status: 409 }),
    )
    const second = await nextAfter(first)

    runners.get(second.id)?.kill('SIGSTOP')
    await until(() => !isAlive(second.pid))
    runners.get(second.id)?.kill('SIGCONT')
    // The agent still leads, so the same runner starts again with the same token after the first command is dead.
    await until(() => witness.latest?.pid !== second.pid)
    const third = witness.latest as WitnessLine

    agents.get(third.id)?.kill('SIGKILL')
    const fourth = await nextAfter(third)
    expect(fourth.id).not.toBe(third.id)
    // A busy machine may hold up another runner, too. The witness sees commands that overlap.
    const again = /^token \d+ has two holders: (?<id>\w)'s command .* and \k<id>'s command /
    expect(judge(witness.lines).filter((problem) => !again.test(problem))).toEqual([])
  }, 60_000)
})
