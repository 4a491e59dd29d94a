/** The screen of `conclave up` in a real terminal, at several sizes. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterAll, expect, it, vi } from 'vitest'
import { describeWithTool } from '../../../test/support/servers.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname
const SIZES = [
  [60, 20],
  [80, 24],
  [120, 40],
  [200, 60],
] as const

/** Each look at the screen starts a process. */
const until = (isSo: () => boolean): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: 25_000, interval: 100 })

await describeWithTool('tmux', 'the screen of conclave up in tmux', (program) => {
  // A server of its own, so that the test ends nothing else.
  const socket = `conclave-${randomUUID()}`
  const tmux = (...words: readonly string[]): string =>
    execFileSync(program, ['-L', socket, '-f', '/dev/null', ...words], { encoding: 'utf8', stdio: 'pipe' })
  const capture = (): readonly string[] => tmux('capture-pane', '-p', '-t', 'up').trimEnd().split('\n')
  const press = (...keys: readonly string[]): void => void tmux('send-keys', '-t', 'up', ...keys)
  /** The server ends with its last session, and so with the command. */
  const isRunning = (): boolean => {
    try {
      tmux('has-session')
      return true
    } catch {
      return false
    }
  }
  afterAll(() => {
    if (isRunning()) tmux('kill-server')
  })

  it('fits 60x20, 80x24, 120x40 and 200x60, with the time of a failover, events and help', async () => {
    const command = `${CONCLAVE} up --nodes 3 --http-port 0 --option sigmaMs=300`
    tmux('new-session', '-d', '-s', 'up', '-x', '60', '-y', '20', command)
    await until(() => capture().join(' ').includes('leads up'))
    press('l')
    await until(() => capture().join(' ').includes('last failover: '))
    for (const [columns, rows] of SIZES) {
      tmux('resize-window', '-t', 'up', '-x', String(columns), '-y', String(rows))
      // oxlint-disable-next-line no-await-in-loop -- one size after the other
      await until(() => capture().length === rows)
      const screen = capture()
      const text = screen.join('\n')
      expect(screen.every((line) => line.length <= columns)).toBe(true)
      expect(screen[0]).toMatch(/^(degraded|at risk): n\d leads up/)
      expect(screen.join(' ')).toMatch(/last failover: n\d leads \d+ ms after n\d was killed/)
      expect(screen.filter((line) => /^[> ] +n\d +(leader|follower|down)/.test(line))).toHaveLength(3)
      expect(screen.filter((line) => /^ +\d+\.\d\d s {2}n\d /.test(line)).length).toBeGreaterThan(1)
      expect(screen.at(-1)).toMatch(/^\? help {2}q quit/)
      // Nothing of an earlier frame is left.
      expect(text.match(/last failover/g)).toHaveLength(1)
      expect(text.match(/lease left/g)).toHaveLength(1)
      expect(text.includes('address')).toBe(columns >= 80)
    }
    press('?')
    await until(() => capture()[0] === 'Keys')
    expect(capture().at(-1)).toBe('? close')
    press('?')
    press('q')
    await until(() => !isRunning())
  }, 60_000)
})
