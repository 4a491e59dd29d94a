/** The guarantee card of omega: simulations stay within the computed bounds. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/cli.ts'
import { rowOf } from '../../workbench/guarantees/milestones.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-plan-omega-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const plan = (...words: readonly string[]) => conclave(['plan', '--protocol', 'omega', ...words])

describe('the card of omega', () => {
  it.each(['lan', 'region', 'wan'])('%s: every measurement is within its bound', async (profile) => {
    const { code, stdout } = await plan('--nodes', '4', '--profile', profile, '--seeds', '12', '--json')
    expect(code).toBe(0)
    const card = JSON.parse(stdout)
    expect(card).toMatchObject({
      protocol: 'omega',
      nodes: 4,
      isKept: true,
      guarantees: { atOnce: 1, inTurn: 2 },
    })
    expect(card.measured.rows).toHaveLength(3)
    for (const { runs, median, most, worst } of card.measured.rows) {
      expect(runs).toBe(12)
      expect(median).toBeGreaterThan(0)
      expect(most).toBeLessThanOrEqual(worst)
    }
  })

  it('reads a configuration file, and prints text', async () => {
    const file = join(folder, 'group.json')
    writeFileSync(
      file,
      JSON.stringify({ protocol: 'omega', nodes: ['a', 'b', 'c'], options: { quorum: 'static' }, seeds: 3 }),
    )
    const { code, stdout } = await conclave(['plan', '--config', file])
    expect(code).toBe(0)
    expect(stdout).toContain('omega, quorum static, profile lan: 3 nodes')
    expect(stdout).toContain(
      '1 of 3 nodes may fail at once, or 1 one after another (a view needs a majority of all nodes)',
    )
    expect(stdout).toContain('9.76 datagrams per second and pair of nodes; measured: 9.76')
    expect(stdout).toContain('3 runs: all measurements are within the computed bounds')
  })

  it.each([
    [
      ['--nodes', '5', '--option', 'alphaMs=100'],
      /options\.alphaMs: 100 is too small: it must be at least 230/,
    ],
    [['--nodes', '1'], /--nodes 1: must be at least 2/],
    [['--nodes', '5', '--option', 'nonsense=1'], /options\.nonsense/],
    [
      ['--nodes', '3', '--option', 'links=reported'],
      /options\.links: does not apply to a plan: real nodes always use datagrams/,
    ],
    [
      ['--nodes', '3', '--mode', 'local', '--option', 'quorum=static'],
      /--mode local: contradicts options\.quorum = "static"; remove one of them/,
    ],
  ])('%j is refused', async (words, why) => {
    const { code, stderr } = await plan(...words)
    expect(code).toBe(2)
    expect(stderr).toMatch(why)
  })

  it.each([
    [{ nodes: ['a', 'a', 'b'] }, /nodes\[1\]: a is listed twice/],
    [{ nodes: ['a', 'b'], option: {} }, /option/],
  ])('a file that says %j is refused', async (said, why) => {
    const file = join(folder, 'wrong.json')
    writeFileSync(file, JSON.stringify(said))
    const answer = await plan('--config', file, '--seeds', '3')
    expect(answer.code).toBe(2)
    expect(answer.stderr).toMatch(why)
  })

  it('marks a measurement that exceeds its bound or is missing', () => {
    const milestone = { name: 'view', output: 'view', computed: { typical: 5, worst: 10 } }
    const row = (...times: readonly number[]) => rowOf(milestone, times)
    expect(row(9, 10, 8)).toMatchObject({ exceeded: false, median: 9, most: 10 })
    expect(row(9, 11).exceeded).toBe(true)
    expect(row(9, 0).exceeded).toBe(true)
  })
})
