import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { Workplace } from '../../../test/support/agents.ts'
import { conclave } from '../../../test/support/cli.ts'
import { until } from '../../../test/support/wait.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname

let up: ChildProcess | null = null
/** The folder of this test's `up`, known after its agents have started. */
let folder: string | null = null

afterEach(async () => {
  up?.kill('SIGKILL')
  await until(() => folder === null || !existsSync(folder))
  up = null
  folder = null
})

type Process = { readonly pid: number; readonly id: string; readonly isStopped: boolean }

/** The agents that this test's `up` has started. */
function agents(): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): Process[] => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
        const data = words[words.indexOf('--data') + 1] ?? ''
        if (Number(stat[1]) === up?.pid && words.includes('agent')) folder = dirname(data)
        const isOurs = words.includes('agent') && folder !== null && dirname(data) === folder
        const id = words[words.indexOf('--id') + 1] as string
        return isOurs ? [{ pid: Number(name), id, isStopped: stat[0] === 'T' }] : []
      } catch {
        return []
      }
    })
}

function start(...words: readonly string[]): { out(): string; said(): string; send(line: string): void } {
  let out = ''
  let said = ''
  const flags = ['--nodes', '3', '--option', 'sigmaMs=300', '--http-port', '0', ...words]
  up = spawn(CONCLAVE, ['up', ...flags], { stdio: 'pipe' })
  up.stdout?.on('data', (data: Buffer) => (out += data.toString()))
  up.stderr?.on('data', (data: Buffer) => (said += data.toString()))
  return { out: () => out, said: () => said, send: (line) => up?.stdin?.write(`${line}\n`) }
}

/** The single leader in the last line, if any. */
function leaderIn(text: string): string | null {
  return / s  (n\d) \(token \d+\) leads/.exec(text.trim().split('\n').at(-1) ?? '')?.[1] ?? null
}

it('elects again after the leader is killed; leaves no process behind when it is killed itself, not even a paused one', async () => {
  const { out, said, send } = start()
  await until(() => leaderIn(out()) !== null)
  expect(agents()).toHaveLength(3)
  send('wait')
  send('kill leader')
  send('wait')
  await until(() => / (n\d) killed/.test(said()))
  const first = / (n\d) killed/.exec(said())?.[1]
  await until(() => leaderIn(out()) !== null && leaderIn(out()) !== first)
  const [other] = agents().filter(({ id }) => id !== leaderIn(out())) as [Process]
  send(`pause ${other.id}`)
  await until(() => agents().some(({ isStopped }) => isStopped))
  const left = agents()
  expect(left).toHaveLength(2)
  up?.kill('SIGKILL')
  await until(() => left.every((agent) => !existsSync(`/proc/${agent.pid}`)))
}, 60_000)

it('has no leader while the partition has no majority, and one leader after it is healed', async () => {
  const { out, said, send } = start()
  await until(() => leaderIn(out()) !== null)
  send('partition n1 n2 n3')
  await until(() => out().trim().endsWith('no leader'))
  send('heal')
  await until(() => leaderIn(out()) !== null)
  send('cut n9-n1')
  send('dance')
  await until(() => said().includes('"dance": unknown command'))
  expect(said()).toContain('"n9": unknown node; use n1, n2, n3, leader or all')
  send('quit')
  expect(await new Promise((resolve) => up?.once('exit', resolve))).toBe(0)
}, 60_000)

it('leaves nothing behind when it is ended while it starts', async () => {
  const place = mkdtempSync(join(tmpdir(), 'conclave-early-'))
  const child = spawn(CONCLAVE, ['up', '--nodes', '3', '--http-port', '0'], {
    stdio: 'ignore',
    env: { ...process.env, TMPDIR: place },
  })
  const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  // oxlint-disable-next-line no-await-in-loop -- as soon as there is something to leave behind
  while (readdirSync(place).length === 0) await new Promise((resolve) => setImmediate(resolve))
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  await until(() => readdirSync(place).length === 0)
  rmSync(place, { recursive: true })
}, 30_000)

it('stops after --seconds without leaving anything behind, and prints JSON', async () => {
  const { out } = start('--seconds', '4', '--json')
  await until(() => agents().length > 0)
  const code = await new Promise((resolve) => up?.once('exit', resolve))
  expect(code).toBe(0)
  const lines = out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { nodes: { id: string; url: string }[] })
  expect(lines[0]?.nodes.map(({ id }) => id)).toEqual(['n1', 'n2', 'n3'])
  expect(agents()).toEqual([])
  expect(existsSync(folder as string)).toBe(false)
}, 60_000)

it.each(['bogus=1', 'sigmaMs=fast', 'fastMs=1', 'nonsense'])(
  'refuses --option %s before it starts anything, with the message of an agent',
  async (option) => {
    const workplace = new Workplace()
    const agent = await conclave(['agent', ...workplace.alone('--option', option)])
    const refused = await conclave(['up', '--option', option], { env: { TMPDIR: workplace.path('.') } })
    const left = readdirSync(workplace.folder).filter((name) => name.startsWith('conclave-up-'))
    await workplace.close()
    expect(refused).toEqual({ code: 2, stdout: '', stderr: agent.stderr })
    expect(agent.stderr).toContain(option.split('=')[0])
    expect(left).toEqual([])
  },
  20_000,
)

it('ignores the variables of an agent', async () => {
  const env = { CONCLAVE_OBSERVER: 'true', CONCLAVE_OPTION: 'bogus=1', CONCLAVE_CONFIG: '/no/such/file' }
  up = spawn(CONCLAVE, ['up', '--nodes', '1', '--option', 'sigmaMs=300', '--http-port', '0'], {
    stdio: 'pipe',
    env: { ...process.env, ...env },
  })
  let out = ''
  up.stdout?.on('data', (data: Buffer) => (out += data.toString()))
  await until(() => leaderIn(out) !== null)
  expect(leaderIn(out)).toBe('n1')
}, 60_000)

it('draws frames that fit a terminal of 60 columns, and restores the terminal', async () => {
  const words = `${CONCLAVE} up --nodes 3 --option sigmaMs=300 --http-port 0`
  up = spawn('script', ['-qec', `stty cols 60 rows 16; exec ${words}`, '/dev/null'], { stdio: 'pipe' })
  let out = ''
  up.stdout?.on('data', (data: Buffer) => (out += data.toString()))
  await until(() => /n\d +leader/.test(out))
  up.stdin?.write('l')
  await until(() => /n\d killed/.test(out))
  up.stdin?.write('q')
  await new Promise((resolve) => up?.once('exit', resolve))
  const [before = '', rest = ''] = out.split('\u001B[?1049h')
  const [drawn = '', after = ''] = rest.split('\u001B[?1049l')
  expect(before).toMatch(/^n1 {2}http/)
  const frames = drawn.split('\u001B[H').slice(1)
  expect(frames.length).toBeGreaterThan(2)
  for (const frame of frames) {
    // oxlint-disable-next-line no-control-regex -- it removes escape sequences
    const lines = frame.replaceAll(/\u001B\[[\d;?]*[a-zA-Z]/g, '').split(/\r+\n/)
    expect(lines.filter((line) => line.length > 60)).toEqual([])
    expect(lines.length).toBeLessThanOrEqual(16)
  }
  expect(after).toContain('killed')
  expect(after.trim()).toMatch(/stopping the agents$/)
}, 60_000)
