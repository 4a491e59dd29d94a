import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { conclave, Workplace } from '../../../test/support/agents.ts'
import { until } from '../../../test/support/wait.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname

let up: ChildProcess | null = null
/** The folder of this test's `up`, once its agents were seen. */
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

function start(...words: readonly string[]): { out(): string; said(): string; tell(line: string): void } {
  let out = ''
  let said = ''
  const flags = ['--nodes', '3', '--option', 'sigmaMs=300', '--http-port', '0', ...words]
  up = spawn(CONCLAVE, ['up', ...flags], { stdio: 'pipe' })
  up.stdout?.on('data', (data: Buffer) => (out += data.toString()))
  up.stderr?.on('data', (data: Buffer) => (said += data.toString()))
  return { out: () => out, said: () => said, tell: (line) => up?.stdin?.write(`${line}\n`) }
}

/** Who was last said to lead, alone. */
function leaderIn(text: string): string | null {
  return / s  (n\d) \(token \d+\) leads/.exec(text.trim().split('\n').at(-1) ?? '')?.[1] ?? null
}

it('starts agents that elect; when the leader is killed another leads; killed itself, it leaves nothing, not even what is stopped', async () => {
  const { out, said, tell } = start()
  await until(() => leaderIn(out()) !== null)
  expect(agents()).toHaveLength(3)
  tell('wait')
  tell('kill leader')
  tell('wait')
  await until(() => / (n\d) killed/.test(said()))
  const first = / (n\d) killed/.exec(said())?.[1]
  await until(() => leaderIn(out()) !== null && leaderIn(out()) !== first)
  const [other] = agents().filter(({ id }) => id !== leaderIn(out())) as [Process]
  tell(`pause ${other.id}`)
  await until(() => agents().some(({ isStopped }) => isStopped))
  const left = agents()
  expect(left).toHaveLength(2)
  up?.kill('SIGKILL')
  await until(() => left.every((agent) => !existsSync(`/proc/${agent.pid}`)))
}, 60_000)

it('cuts a part off: nobody leads where no majority is; when it is healed somebody leads alone', async () => {
  const { out, said, tell } = start()
  await until(() => leaderIn(out()) !== null)
  tell('partition n1 n2 n3')
  await until(() => out().trim().endsWith('nobody leads'))
  tell('heal')
  await until(() => leaderIn(out()) !== null)
  tell('cut n9-n1')
  tell('dance')
  await until(() => said().includes('"dance" is no command'))
  expect(said()).toContain('"n9" is none of n1, n2, n3, leader, all')
  tell('quit')
  expect(await new Promise((resolve) => up?.once('exit', resolve))).toBe(0)
}, 60_000)

it('ends by itself when told for how long, cleanly, and tells programs in JSON', async () => {
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
  '--option %s is refused before anything is started, in the words of an agent',
  async (option) => {
    const workplace = new Workplace()
    const agent = await conclave(['agent', ...workplace.alone('--option', option)])
    const refused = await conclave(['up', '--option', option], { TMPDIR: workplace.path('.') })
    const left = readdirSync(workplace.folder).filter((name) => name.startsWith('conclave-up-'))
    await workplace.close()
    expect([refused.code, refused.out, refused.said]).toEqual([2, '', agent.said])
    expect(agent.said).toContain(option.split('=')[0])
    expect(left).toEqual([])
  },
  20_000,
)

it('is not led astray by the variables of an agent', async () => {
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

it('fills a terminal of 60 columns, frame by frame, and leaves it as it was', async () => {
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
    // oxlint-disable-next-line no-control-regex -- that is what is taken out
    const lines = frame.replaceAll(/\u001B\[[\d;?]*[a-zA-Z]/g, '').split(/\r+\n/)
    expect(lines.filter((line) => line.length > 60)).toEqual([])
    expect(lines.length).toBeLessThanOrEqual(16)
  }
  expect(after).toContain('killed')
  expect(after.trim()).toMatch(/ending the agents$/)
}, 60_000)
