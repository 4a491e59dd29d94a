/** Runs the quick start as one shell session, with other ports: every `sh run` block, and what it must print. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { missingLine } from './support/shown.ts'

const ROOT = resolve(import.meta.dirname, '..')
const TIMEOUT_MS = 300_000

const temporary = mkdtempSync(join(tmpdir(), 'conclave-quick-start-'))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const text = readFileSync(join(ROOT, 'docs/tutorials/quick-start.md'), 'utf8')
const blocks = [...text.matchAll(/```(?<info>sh run|text)\n(?<body>.*?)```/gs)].map(({ groups }) => ({
  info: groups?.['info'],
  body: groups?.['body'] ?? '',
}))

/**
 * The blocks as one script. The ports 7400 to 7499 of the page become 100 others, so that tests can run side by side.
 */
function sessionAt(port: number): string {
  const commands = blocks.filter(({ info }) => info === 'sh run').map(({ body }) => body)
  return (
    commands
      .join('')
      .replaceAll(/:74(\d\d)\b/g, (_, last: string) => `:${port + Number(last)}`)
      // Each question is a process.
      .replaceAll(/do sleep 0\.[12]; done$/gm, 'do sleep 1; done')
  )
}

let endSession = (): void => {}
afterAll(() => endSession())

function runSession(script: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const env = {
    ...process.env,
    PATH: `${join(ROOT, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    NO_COLOR: '1',
    TMPDIR: temporary,
  }
  // The session gets a process group of its own, so that nothing it started outlives the test.
  const child = spawn('sh', ['-eu', '-c', script], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  endSession = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // All processes of the group have ended.
    }
  }
  let output = ''
  child.stdout.on('data', (data: Buffer) => (output += data.toString()))
  child.stderr.on('data', (data: Buffer) => (output += data.toString()))
  return new Promise((done) => child.once('exit', (code) => done({ code, output })))
}

it(
  'runs on one machine exactly as documented',
  async () => {
    const shown = blocks.filter(({ info }) => info === 'text').flatMap(({ body }) => body.trim().split('\n'))
    expect(shown.length).toBeGreaterThan(3)
    const { code, output } = await runSession(sessionAt(25_000 + (process.pid % 70) * 100))
    const problem = code === 0 ? missingLine(shown, output) : `exit code ${code}`
    expect(problem === null ? null : `${problem}\n${output}`).toBeNull()
  },
  TIMEOUT_MS,
)
