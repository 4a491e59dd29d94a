/** Runs the examples of the clients against a real agent, and checks the code of the clients with the languages' own tools. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type AgentProcess, Workplace } from '../support/agents.ts'
import { describeWithTool, findTool } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { goEnvironment, pythonEnvironment } from './support.ts'

const ROOT = join(import.meta.dirname, '../..')
const PYTHON = join(ROOT, 'clients/python')
const GO = join(ROOT, 'clients/go')
const TIMEOUT_MS = 60_000

const place = new Workplace()
let agent: AgentProcess
beforeAll(async () => {
  agent = place.start(place.alone('--admin-token-file', place.path('admin'), '--data', place.path('data')))
  await agent.logged('elected')
}, TIMEOUT_MS)
afterAll(() => place.close())

type Running = {
  readonly process: ChildProcess
  readonly lines: () => readonly string[]
  ended: Promise<number | null>
}

async function start([program = '', ...words]: readonly string[]): Promise<Running> {
  const env = {
    ...pythonEnvironment(),
    CONCLAVE_AGENT: await agent.url(),
    CONCLAVE_ADMIN_TOKEN_FILE: place.path('admin'),
  }
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'], env, cwd: ROOT })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', (data: Buffer) => (text += data.toString()))
  return {
    process: child,
    lines: () => text.split('\n').slice(0, -1),
    ended: new Promise((resolve) => child.once('close', resolve)),
  }
}

/** `command` starts the example with this name. */
function describeExamples(command: (name: string) => readonly string[]): void {
  it(
    'tells who leads',
    async () => {
      // On a busy machine there may be no leader for a moment.
      const ask = async (): Promise<string> => {
        const running = await start(command('leader'))
        expect(await running.ended).toBe(0)
        return running.lines().join()
      }
      let said = await ask()
      // oxlint-disable-next-line no-await-in-loop -- until there is a leader
      for (let attempt = 0; attempt < 20 && said === 'there is no leader'; attempt++) said = await ask()
      expect(said).toMatch(/^a leads with token \d+$/)
    },
    TIMEOUT_MS,
  )

  it(
    'works while the agent leads, and ends on SIGTERM',
    async () => {
      const running = await start(command('lead'))
      await until(() => running.lines().length > 2)
      running.process.kill('SIGTERM')
      expect(await running.ended).toBe(0)
      expect(running.lines().every((line) => /^(step \d+|works) with token \d+$/.test(line))).toBe(true)
    },
    TIMEOUT_MS,
  )

  it(
    'shows events',
    async () => {
      const running = await start(command('watch'))
      await until(() => running.lines().length > 0)
      expect(running.lines()[0]).toBe('snapshot')
    },
    TIMEOUT_MS,
  )
}

describe('examples/client', () => {
  describeExamples((name) => [process.execPath, join(ROOT, `examples/client/${name}.mjs`)])
})

await describeWithTool('python3', 'clients/python', (program) => {
  describeExamples((name) => [program, join(PYTHON, `examples/${name}.py`)])
})

await describeWithTool('go', 'clients/go', (program) => {
  const run = (...words: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(program, words, {
      cwd: GO,
      encoding: 'utf8',
      env: goEnvironment(),
    })
    return `${status}${stdout}${stderr}`
  }
  describeExamples((name) => {
    const built = existsSync(place.path(name)) ? '0' : run('build', '-o', place.folder, './examples/...')
    if (built !== '0') throw new Error(built)
    return [place.path(name)]
  })

  it(
    'has no findings of go vet, and the format of gofmt',
    () => {
      expect(run('vet', './...')).toBe('0')
      expect(run('fmt', './...')).toBe('0')
    },
    TIMEOUT_MS,
  )

  it('uses the standard library only', () => {
    expect(run('list', '-m', 'all')).toBe('0example.org/conclave\n')
  })
})

const mypy = await findTool('mypy')
describe.skipIf(mypy.missing !== undefined)(`clients/python, checked by mypy${mypy.missing ?? ''}`, () => {
  it(
    'has correct types, strictly',
    () => {
      const cache = place.path('mypy')
      const { status, stdout } = spawnSync(mypy.program, ['--cache-dir', cache], {
        cwd: PYTHON,
        encoding: 'utf8',
      })
      expect([status, stdout]).toEqual([0, expect.stringContaining('no issues found')])
    },
    TIMEOUT_MS,
  )
})
