/** `conclave plan` with adaptive timing: one card per level, from the configuration and from a running agent. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conclave, type Ended } from '../../../test/support/cli.ts'
import type { Figure, Shape } from '../../workbench/guarantees/figures.ts'

type Cards = {
  readonly timing: string
  readonly exceeded: readonly string[]
  readonly levels: readonly {
    readonly names: readonly string[]
    readonly level: number
    readonly leaseMs: number
    readonly card: {
      readonly figures: readonly Figure[]
      readonly shapes: readonly Shape[]
      readonly brokenAssumptions: readonly string[]
      readonly constantsMs: { readonly delta: number }
      readonly runs: number
    }
  }[]
}

let server: Server
let agent = ''
let status: object = {}

beforeAll(async () => {
  server = createServer((_request, response) => void response.writeHead(200).end(JSON.stringify(status)))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

const plan = (...words: readonly string[]): Promise<Ended> =>
  conclave(['plan', '--nodes', '3', '--seeds', '1', '--workers', '1', ...words])

async function cards(...words: readonly string[]): Promise<Cards> {
  const { stdout } = await plan('--json', ...words)
  return JSON.parse(stdout) as Cards
}

function failOver({ levels }: Cards): readonly (number | undefined)[] {
  return levels.map(({ card }) => card.figures.find(({ name }) => name === 'fail-over')?.computed.worstMs)
}

describe('the cards of adaptive timing', () => {
  it('are of the best and the worst level, both simulated and within their bounds', async () => {
    const found = await cards('--lease-min-ms', '60', '--lease-max-ms', '500', '--seeds', '3')
    expect(found).toMatchObject({ timing: 'adaptive', exceeded: [] })
    expect(found.levels.map(({ names }) => names)).toEqual([['best'], ['worst']])
    const [best, worst] = found.levels
    expect(best?.leaseMs).toBeCloseTo(61, 0)
    expect(worst?.leaseMs).toBeGreaterThan(400)
    for (const { card } of found.levels) {
      expect(card.runs).toBeGreaterThan(10)
      expect(card.shapes.length).toBeGreaterThan(5)
    }
    for (const [index, worstMs = 0] of failOver(found).entries()) {
      const { leaseMs = 0 } = found.levels[index] ?? {}
      expect(worstMs).toBeGreaterThan(leaseMs)
      expect(worstMs).toBeLessThan(3 * leaseMs)
    }
  })

  it('have all fields of the card of fixed timing, from the best level', async () => {
    const tuned = await cards('--lease-min-ms', '60', '--lease-max-ms', '200')
    const fixed = JSON.parse((await plan('--json', '--timing', 'fixed')).stdout) as object
    expect(Object.keys(tuned)).toEqual(expect.arrayContaining(Object.keys(fixed)))
    expect(tuned).toMatchObject(tuned.levels[0]?.card ?? {})
  })

  it('are followed by a table of all levels', async () => {
    const { code, stdout } = await plan('--profile', 'fast', '--lease-max-ms', '60')
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('The best level: leases of 20.0 ms (level 4)')
    expect(lines.filter((line) => line.startsWith('The worst level: leases of'))).toHaveLength(1)
    const table = lines.slice(lines.findIndex((line) => line.startsWith('All levels')))
    expect(table[1]?.trim()).toMatch(/^best +worst$/)
    expect(table.find((line) => line.trim().startsWith('leader crashes: another leads'))).toMatch(
      /\d+\.\d( +\d+\.\d){3}$/,
    )
  })

  it('with one level are one card', async () => {
    const found = await cards('--lease-min-ms', '100', '--lease-max-ms', '125')
    expect(found.levels.map(({ names }) => names)).toEqual([['best', 'worst']])
  })

  it('begin at the first level for which the network is fast enough', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-levels-'))
    const file = join(folder, 'group.json')
    writeFileSync(file, JSON.stringify({ nodes: ['a', 'b', 'c'], network: { delayMs: [1, 14] } }))
    const { stdout } = await conclave(['plan', '--json', '--config', file, '--seeds', '2', '--workers', '1'])
    rmSync(folder, { recursive: true })
    const { levels, exceeded } = JSON.parse(stdout) as Cards
    const [best] = levels
    expect(exceeded).toEqual([])
    expect(best?.card.brokenAssumptions).toEqual([])
    expect(best?.card.constantsMs.delta).toBeGreaterThanOrEqual(14)
    expect(best?.card.constantsMs.delta).toBeLessThan(14 * 1.25)
  })
})

describe('the present level', () => {
  const timing = { level: 12, levels: [9, 20], leaseMinMs: 60, leaseMaxMs: 800 }
  const bounds = ['--lease-min-ms', '60', '--lease-max-ms', '800']

  it('comes from a running agent', async () => {
    status = { self: { id: 'a', role: 'leader' }, timing }
    const { stdout, stderr } = await plan('--json', '--agent', agent, ...bounds)
    const { levels } = JSON.parse(stdout) as Cards
    expect(levels.map(({ names, level }) => [names, level])).toEqual([
      [['best'], 9],
      [['present'], 12],
      [['worst'], 20],
    ])
    expect(stderr).not.toContain('other bounds')
  })

  it('is one with the best, if the group is there', async () => {
    status = { self: { id: 'a', role: 'leader' }, timing: { ...timing, level: 9 } }
    const { levels } = await cards('--agent', agent, ...bounds)
    expect(levels.map(({ names }) => names)).toEqual([['best', 'present'], ['worst']])
  })

  it('is shown with a note if the agent has other bounds', async () => {
    status = { self: { id: 'a', role: 'leader' }, timing: { ...timing, levels: [4, 20], leaseMinMs: 20 } }
    const { stderr } = await plan('--json', '--agent', agent, ...bounds)
    expect(stderr).toContain('a uses leases from 20 to 800 ms, other bounds than this configuration\n')
  })

  it.each([
    ['fixed timing of the agent', [], 'the timing of a is fixed; plan it with --timing fixed'],
    ['fixed timing of the plan', ['--timing', 'fixed'], 'the timing of this configuration is fixed'],
  ])('does not exist with %s', async (_what, words, problem) => {
    status = { self: { id: 'a', role: 'leader' } }
    const { code, stderr } = await plan('--agent', agent, ...words)
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)])
  })
})

describe('bad input', () => {
  it.each([
    [['--timing', 'slow'], '--timing slow: must be one of fixed, adaptive'],
    [['--lease-min-ms', 'short'], '--lease-min-ms short: write a number of milliseconds'],
    [['--lease-min-ms', '5'], '--lease-min-ms: 5 is out of bounds: it must be at least 10\n'],
    [['--lease-min-ms', '100000'], '--lease-min-ms: 100000 is out of bounds: it must be at most 60000\n'],
    [['--option', 'leaseMinMs=5'], 'options.leaseMinMs: 5 is out of bounds: it must be at least 10\n'],
    [
      ['--lease-min-ms', '50000', '--lease-max-ms', '60000'],
      '--lease-min-ms: 50000 is too close to leaseMaxMs, which is at most 60000; set leaseMinMs to 48000 or less\n',
    ],
    [['--lease-min-ms', '900', '--lease-max-ms', '90'], '--lease-min-ms: 900 is above leaseMaxMs'],
    [['--timing', 'fixed', '--lease-max-ms', '90'], '--lease-max-ms: only works with timing: adaptive'],
    [['--timing', 'adaptive', '--mode', 'local'], '--timing: adaptive only works with mode: majority'],
    [['--mode', 'local', '--lease-min-ms', '90'], '--lease-min-ms: does not apply to local mode'],
    [['--lease-loss-per-day', 'few'], '--lease-loss-per-day few: write a number, such as 1 or 0.5'],
    [['--lease-loss-per-day', '0'], '--lease-loss-per-day: 0 is out of bounds: it must be at least 0.01\n'],
    [
      ['--timing', 'fixed', '--lease-loss-per-day', '1'],
      '--lease-loss-per-day: only works with timing: adaptive',
    ],
  ])('%j', async (words, problem) => {
    const { code, stdout, stderr } = await plan(...words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(problem)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).not.toContain('\\u000a')
  })
})
