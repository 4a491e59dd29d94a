import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { until } from './support/wait.ts'

const CONCLAVE = new URL('../bin/conclave', import.meta.url).pathname

let up: ChildProcess | null = null

afterEach(async () => {
  up?.kill('SIGKILL')
  await until(() => agents().length === 0)
  up = null
})

type Process = { readonly pid: number; readonly words: readonly string[] }

/** The agents that this test's `up` has started. */
function agents(): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): Process[] => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        const isOurs = words.includes('agent') && words.some((word) => word.includes('conclave-up-'))
        return isOurs ? [{ pid: Number(name), words }] : []
      } catch {
        return []
      }
    })
}

const idOf = ({ words }: Process): string => words[words.indexOf('--id') + 1] as string

function start(...words: readonly string[]): { said(): string } {
  let said = ''
  up = spawn(CONCLAVE, ['up', '--nodes', '3', '--option', 'sigmaMs=300', ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  up.stdout?.on('data', (data: Buffer) => (said += data.toString()))
  return { said: () => said }
}

/** Who was last said to lead, alone. */
function leaderIn(text: string): string | null {
  return / s  (n\d) \(token \d+\) leads/.exec(text.trim().split('\n').at(-1) ?? '')?.[1] ?? null
}

it('starts agents that elect; when the leader is killed another leads; killed itself, it leaves nothing running', async () => {
  const { said } = start()
  await until(() => leaderIn(said()) !== null)
  const first = leaderIn(said()) as string
  expect(agents()).toHaveLength(3)
  const { pid } = agents().find((agent) => idOf(agent) === first) as Process
  process.kill(pid, 'SIGKILL')
  await until(() => leaderIn(said()) !== null && leaderIn(said()) !== first)
  const left = agents()
  expect(left).toHaveLength(2)
  up?.kill('SIGKILL')
  await until(() => left.every((agent) => !existsSync(`/proc/${agent.pid}`)))
}, 40_000)

it('ends by itself when told for how long, cleanly', async () => {
  const { said } = start('--seconds', '4')
  const code = await new Promise((resolve) => up?.once('exit', resolve))
  expect(code).toBe(0)
  expect(said()).toMatch(/n1 {2}http:/)
  expect(agents()).toEqual([])
}, 40_000)
