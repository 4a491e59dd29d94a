/** Ctrl-C in long commands: real processes, and real signals. */
import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { CONCLAVE } from '../../test/support/agents.ts'

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Starts the command, and sends SIGINT once its output shows that it is at work. */
function interrupt(
  words: readonly string[],
  isAtWork: (stdout: string, stderr: string) => boolean,
): Promise<Ended> {
  const child = spawn(CONCLAVE, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr, isSent] = ['', '', false]
  const look = (): void => {
    if (isSent || !isAtWork(stdout, stderr)) return
    isSent = true
    child.kill('SIGINT')
  }
  child.stdout.on('data', (data: Buffer) => {
    stdout += data.toString()
    look()
  })
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString()
    look()
  })
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Without a terminal, a line of progress appears every five seconds. */
const hasProgress = (unit: string) => (_stdout: string, stderr: string) => stderr.includes(`${unit}: `)

describe.concurrent('an interrupted command prints what it knows, and exits with 130', () => {
  it('sim', async () => {
    const words = [
      'sim',
      '--protocol',
      'bully',
      '--nodes',
      '3',
      '--seeds',
      '1..100000000',
      '--workers',
      '1',
      '--json',
    ]
    const { code, stdout, stderr } = await interrupt(words, hasProgress('seeds'))
    const report = JSON.parse(stdout) as { readonly seeds: number; readonly interrupted: boolean }
    expect([code, report.interrupted, report.seeds > 0]).toEqual([130, true, true])
    expect(stderr).toMatch(/interrupted after [\d,]+ of 100,000,000 seeds/)
  }, 60_000)

  it('explore, which blocks its thread', async () => {
    const words = ['explore', '--protocol', 'local-leader', '--nodes', '3', '--json']
    const { code, stdout } = await interrupt(words, hasProgress('states'))
    const report = JSON.parse(stdout) as { readonly cutShort: string; readonly states: number }
    expect([code, report.cutShort, report.states > 0]).toEqual([130, 'stopped', true])
  }, 60_000)

  it('plan', async () => {
    const words = ['plan', '--nodes', '3', '--seeds', '1000000', '--workers', '1']
    const { code, stdout, stderr } = await interrupt(words, hasProgress('runs'))
    expect(code).toBe(130)
    expect(stdout).toContain('local-leader, majority mode')
    expect(stderr).toContain('interrupted: the cards are of the runs until then')
  }, 60_000)

  it('doctor', async () => {
    const words = ['doctor', '--measure-ms', '600000', '--json']
    const { code, stdout } = await interrupt(words, (_stdout, stderr) =>
      stderr.includes('checking this host'),
    )
    const report = JSON.parse(stdout) as {
      readonly interrupted: boolean
      readonly findings: readonly object[]
    }
    expect([code, report.interrupted, report.findings.length > 0]).toEqual([130, true, true])
  }, 60_000)

  it('chaos', async () => {
    const words = ['chaos', 'kill', '--nodes', '3', '--times', '100000', '--option', 'sigmaMs=300', '--json']
    const { code, stdout } = await interrupt(words, (_stdout, stderr) => stderr.includes('kill: '))
    expect([code, JSON.parse(stdout)]).toEqual([130, { cases: [], interrupted: true }])
  }, 60_000)
})
