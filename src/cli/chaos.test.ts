/** The report and the exit codes of `conclave chaos`, with cases that the test plays. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ChaosSettings, Finding } from '../service/chaos/index.ts'
import { chaosCommand } from './chaos.ts'

const cases = vi.hoisted(() => ({ run: [] as { name: string; settings: unknown }[], findings: {} as object }))

vi.mock('../service/chaos/cases.ts', () => {
  const play = (name: string) => async (settings: unknown) => {
    cases.run.push({ name, settings })
    const given = (cases.findings as { [name: string]: unknown })[name] ?? {}
    if (given instanceof Error) throw given
    return { name, done: `${name} was tried`, problems: [], measures: [], limited: null, ...given }
  }
  return { CASES: { kill: play('kill'), pause: play('pause'), disks: play('disks') } }
})

let stdout = ''
beforeEach(() => {
  stdout = ''
  cases.run.length = 0
  cases.findings = {}
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((stdout += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
})
afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

/** Runs the command with findings of its cases, and returns its exit code. */
async function chaos(
  findings: { readonly [name: string]: Partial<Finding> | Error },
  ...words: readonly string[]
): Promise<number> {
  cases.findings = findings
  await chaosCommand().exitOverride().parseAsync(words, { from: 'user' })
  return Number(process.exitCode)
}

const LATE = { what: 'failover', boundMs: 10, samplesMs: [20, 30] }
const FAST = { what: 'failover', boundMs: 100, samplesMs: [20, 30] }

describe('the report', () => {
  it('has one block per case, and the verdict', async () => {
    const code = await chaos({ kill: { measures: [FAST] }, disks: { limited: 'mounting needs root' } })
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'kill           ok  kill was tried',
      '  failover: median 20.0  p99 30.0  max 30.0 ms  (2 samples)  bound 100 ms: met',
      'pause          ok  pause was tried',
      'disks          ok  disks was tried',
      '  limited: mounting needs root',
      '',
      'never two leaders at once',
      '',
    ])
  })

  it('names violations, and indents lines that follow', async () => {
    const code = await chaos({ pause: { problems: ['two led', 'no leader:\n  n1: log'] } }, 'pause')
    expect(code).toBe(6)
    expect(stdout.split('\n')).toEqual([
      'pause          VIOLATED  pause was tried',
      '  VIOLATED: two led',
      '  VIOLATED: no leader:',
      '      n1: log',
      '',
      'violations in pause',
      '',
    ])
  })

  it('counts a case that broke off as violated', async () => {
    expect(await chaos({ kill: new Error('no leader within 60 s') }, 'kill')).toBe(6)
    expect(stdout).toContain('kill           VIOLATED  not completed\n  VIOLATED: no leader within 60 s\n')
  })

  it('is one JSON object with --json', async () => {
    expect(await chaos({ kill: { measures: [LATE] } }, 'kill', '--json')).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      cases: [
        {
          name: 'kill',
          done: 'kill was tried',
          problems: [],
          limited: null,
          measures: [
            { what: 'failover', boundMs: 10, count: 2, medianMs: 20, p99Ms: 30, maxMs: 30, missed: true },
          ],
        },
      ],
    })
  })
})

it.each<[string, { readonly [name: string]: Partial<Finding> }, number, string]>([
  ['all hold', {}, 0, 'never two leaders at once'],
  [
    'one is slow',
    { kill: { measures: [LATE] } },
    1,
    'never two leaders at once; slower than the bound: kill',
  ],
  ['one is violated', { kill: { problems: ['x'] } }, 6, 'violations in kill'],
  // A violation is worse than a late answer.
  ['both', { kill: { problems: ['x'] }, pause: { measures: [LATE] } }, 6, 'violations in kill'],
])('where %s, the verdict and the exit code follow', async (_what, findings, code, verdict) => {
  expect(await chaos(findings)).toBe(code)
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(verdict)
})

describe('the settings', () => {
  it('are those of the flags, with the bounds of the configuration', async () => {
    await chaos({}, 'kill', '--nodes', '3', '--times', '7', '--datagrams', '9', '--option', 'sigmaMs=60')
    expect(cases.run.map(({ name }) => name)).toEqual(['kill'])
    const [{ settings } = expect.fail('no case ran')] = cases.run
    const { onProgress, bounds, ...rest } = settings as ChaosSettings
    expect(rest).toEqual({
      nodes: 3,
      times: 7,
      datagrams: 9,
      flags: ['--profile', 'lan', '--option', 'sigmaMs=60'],
      killBeforeMs: 15,
    })
    expect(bounds.failoverMs).toBeGreaterThan(bounds.leaseMs)
    expect(bounds.lockMs).toBeGreaterThan(0)
    onProgress('1 of 7')
    expect(process.stderr.write).toHaveBeenCalledWith('kill: 1 of 7\n')
  })

  it('run the cases in their own order, each once', async () => {
    await chaos({}, 'disks', 'kill', 'kill')
    expect(cases.run.map(({ name }) => name)).toEqual(['kill', 'disks'])
  })

  it.each([
    [['meteor'], '"meteor": unknown case; use kill, pause, disks'],
    [['--nodes', '2'], '--nodes 2: must be at least 3'],
    [['--times', '0'], '--times 0: must be at least 1'],
    [['--datagrams', 'many'], '--datagrams many: write a whole number'],
    [['--kill-before-ms', '-1'], '--kill-before-ms'],
    [['--profile', 'moon'], '--profile moon: must be one of fast, lan, region, wan'],
    [['--option', 'nope=1'], 'options.nope: unknown field'],
  ])('%j are refused before any case runs', async (words, message) => {
    await expect(chaos({}, ...words)).rejects.toThrow(message)
    expect(cases.run).toEqual([])
  })
})
