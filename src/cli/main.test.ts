import { describe, expect, it } from 'vitest'
import { conclave } from '../../test/support/cli.ts'

describe('the errors of a command line', () => {
  it('are one line that names the help of the command', async () => {
    expect(await conclave(['sim', '--xyzzy'])).toEqual({
      code: 2,
      stdout: '',
      stderr: "conclave: unknown option '--xyzzy' (see conclave sim --help)\n",
    })
    expect((await conclave(['elect'])).stderr).toBe(
      "conclave: unknown command 'elect' (see conclave --help)\n",
    )
  })

  it('are one object with --json, with the flag or argument as field', async () => {
    const errorOf = async (...words: readonly string[]): Promise<unknown> =>
      (JSON.parse((await conclave([...words, '--json'])).stdout) as { error: unknown }).error
    expect(await errorOf('sim', '--fast')).toMatchObject({ name: 'UsageError', field: '--fast' })
    expect(await errorOf('draw')).toMatchObject({ name: 'UsageError', field: 'trace' })
    expect(await errorOf('explore', '--nodes', '3')).toMatchObject({ field: '--protocol' })
  })

  it('ignore a --json of the command after --', async () => {
    const { stdout, stderr } = await conclave(['run', '--', '/no/such/program', '--json'])
    expect([stdout, stderr]).toEqual(['', expect.stringContaining('no such program')])
  })

  it('include the stack with CONCLAVE_DEBUG', async () => {
    const { stderr } = await conclave(['sim', 'nowhere.json'], { env: { CONCLAVE_DEBUG: '1' } })
    expect(stderr).toMatch(/^conclave: nowhere\.json: no such file\nUsageError: .*\n {4}at /)
  })

  it('list each problem of a configuration on a line of its own', async () => {
    const { code, stderr } = await conclave(['agent', '--check', '--mode', 'odd', '--profile', 'moon'])
    const lines = stderr.trim().split('\n')
    expect(code).toBe(2)
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.every((line) => line.startsWith('conclave: '))).toBe(true)
  })
})

it('the help exits with 0, a missing command with 2', async () => {
  expect((await conclave(['--help'])).code).toBe(0)
  expect((await conclave(['help', 'sim'])).stdout).toContain('conclave sim')
  expect((await conclave([])).code).toBe(2)
  expect((await conclave(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})
