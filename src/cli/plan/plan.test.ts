/** `conclave plan`: bad input, the shape of its report, and measurements within the computed bounds. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type Ended, conclave as run } from '../../../test/support/cli.ts'
import { sized } from '../../../test/support/sizes.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Figure, Shape, SpecLine } from '../../workbench/guarantees/figures.ts'
import { readPlan } from './config.ts'

/** The part of the output of `--json` that these tests use. */
type Card = {
  readonly figures: readonly Figure[]
  readonly shapes: readonly Shape[]
  readonly specs: readonly SpecLine[]
  readonly exceeded: readonly string[]
  readonly brokenAssumptions: readonly string[]
  readonly advice: readonly string[]
  readonly runs: number
  readonly traffic: { readonly measured: { readonly datagramsPerSecond: number } }
  readonly operations: readonly { readonly computedPerSecond: number; readonly measuredPerSecond: number }[]
}

const ROOT = resolve(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'conclave-plan-'))
afterAll(() => rmSync(folder, { recursive: true }))

const conclave = (...words: readonly string[]): Promise<Ended> => run(words, { cwd: ROOT })

function config(name: string, contents: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(contents))
  return path
}

async function card(...words: readonly string[]): Promise<{ readonly code: number; readonly card: Card }> {
  const { code, stdout } = await conclave('plan', '--json', '--workers', '1', ...words)
  return { code, card: JSON.parse(stdout) as Card }
}

describe('an invalid configuration', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['duplicate ids', { nodes: [1, 2, 1] }, 'nodes[2]: 1 is listed twice'],
    ['a voter listed twice', { voters: ['a', 'b', 'a'] }, 'voters[2]: a is listed twice'],
    [
      'an observer that is also a voter',
      { voters: [1, 2, 3], observers: [3] },
      'observers: 3 is a voter too: an observer never votes',
    ],
    [
      'no voter at all',
      { nodes: [1, 2, 3], voters: [] },
      'voters: is empty: without voters no node can lead',
    ],
    [
      'no voter that could lead',
      { voters: [1, 2, 3], witnesses: [1, 2, 3] },
      'witnesses: every voter is a witness: no node could lead',
    ],
    [
      'a voter that is not a node',
      { nodes: [1, 2], voters: [1, 7] },
      'voters[1]: 7 is not one of the nodes (1, 2)',
    ],
    [
      'impossible constants',
      { nodes: [1, 2, 3], options: { deltaMs: 20 } },
      'options.fastMs: breaks the bound Δ ≥ (2δ − δmin)(1 + ρ): 10.1 ms is below 39.984 ms; the nearest valid value is 39.984',
    ],
    ['an unknown field', { nodes: [1], netwrok: {} }, 'netwrok: unknown field'],
    ['an unknown field further in', { nodes: [1], network: { delay: 1 } }, 'network.delay: unknown field'],
    [
      'an unknown option',
      { nodes: [1], options: { delta: 1 } },
      'options.delta: unknown field (known: mode, profile, deltaMs',
    ],
    [
      'delays that run backwards',
      { nodes: [1], network: { delayMs: [2, 1] } },
      'network.delayMs: the range is reversed; write [minimum, maximum]',
    ],
    ['no processes', {}, 'nodes: is missing; list the nodes, as nodes or as voters and observers'],
    [
      'the same list twice',
      { voters: [1], options: { voters: [1] } },
      'options.voters: is also given as voters; remove one of them',
    ],
    [
      'a protocol without a card',
      { protocol: 'bully', nodes: [1] },
      'protocol: bully has no guarantee card; use one of local-leader, omega, epochs',
    ],
    [
      'a protocol made for searches',
      { nodes: [1], options: { link: 'none' } },
      'options.link: is for searches without time, which have no guarantee card',
    ],
  ]

  it.each(cases)('%s', async (_what, contents, message) => {
    const { code, stdout, stderr } = await conclave('plan', '--config', config('bad.json', contents))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.slice(0, `conclave: ${message}`.length)).toBe(`conclave: ${message}`)
  })

  it('is reported with its field with --json', async () => {
    const { code, stdout } = await conclave(
      'plan',
      '--json',
      '--config',
      config('bad.json', { nodes: [1], x: 1 }),
    )
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toEqual({
      error: { name: 'UsageError', message: 'x: unknown field', field: 'x' },
    })
  })

  it.each([
    [['--config', 'group.yaml'], 'group.yaml: no such file'],
    [['--config', 'nowhere.json'], 'nowhere.json: no such file'],
    [[], 'plan needs a configuration: --config FILE, or --nodes N with --profile and --mode'],
    [['--nodes', '0'], '--nodes 0: must be at least 1'],
    [['--nodes', '3', '--mode', 'both'], '--mode both: must be one of local, majority'],
    [['--nodes', '3', '--seeds', 'many'], '--seeds many: write a whole number'],
  ])('%j', async (words, message) => {
    const { code, stderr } = await conclave('plan', ...words)
    expect({ code, stderr }).toEqual({ code: 2, stderr: `conclave: ${message}\n` })
  })
})

describe('the card of epochs', () => {
  const redis = { kind: 'redis', url: 'redis://db', acceptWeak: true }
  const base = { protocol: 'epochs', nodes: ['a', 'b', 'c'], seeds: sized(4, 15) }

  it.each([
    ['as it is', {}],
    ['with the oracle and a long lease', { turns: 'oracle', leaseMs: 1000 }],
    ['with clocks that drift by 5 %, waiting from its tick', { driftPpm: 50_000, start: 'simple' }],
  ])('%s: everything measured is within what is computed', async (_what, options) => {
    const { code, card: told } = await card('--config', config('epochs.json', { ...base, options }))
    const { figures, shapes, operations, exceeded, specs } = told
    expect(exceeded).toEqual([])
    expect(code).toBe(0)
    expect(figures.map(({ name }) => name)).toEqual([
      'detection',
      'fail-over',
      'hand-over',
      'leader stops',
      'longest gap',
    ])
    // What is typical is near the mean of what was measured: no bound that is merely generous.
    for (const { computed, punctual } of figures.slice(0, 3)) {
      const typical = computed.typicalMs ?? Number.NaN
      expect(Math.abs((punctual?.meanMs ?? Number.NaN) - typical)).toBeLessThan(0.2 * typical)
      expect(punctual?.maxMs ?? 0).toBeGreaterThan(0.5 * computed.worstMs)
    }
    expect(shapes.every(({ leader }) => leader.runs > 0)).toBe(true)
    expect(operations.map(({ computedPerSecond }) => computedPerSecond > 0)).toEqual([
      true,
      true,
      false,
      true,
    ])
    expect(specs.map(({ name }) => name)).toContain('one-leader-an-epoch')
  })

  const many = sized(7, 15)

  it(`has the same cost of a renewal with 3 nodes and with ${many}`, async () => {
    const leader = async (nodes: number) => {
      const result = await card('--protocol', 'epochs', '--nodes', String(nodes), '--seeds', '1')
      const { operations } = result.card
      return operations.slice(0, 2).map(({ measuredPerSecond }) => measuredPerSecond)
    }
    expect(await leader(many)).toEqual(await leader(3))
  })

  it('lists the assumptions about a store, and that a weak store was accepted', async () => {
    const weak = (
      await conclave('plan', '--config', config('weak.json', { ...base, store: redis, seeds: 2 }))
    ).stdout
    expect(weak).toContain('of redis, which conclave cannot check: it is not made a replica')
    expect(weak).toContain('acceptWeak: a store that loses an acknowledged write is accepted')
    expect(weak).toContain('as long as the store loses no write: it was accepted as weak')
    const path = join(folder, 'agent.yaml')
    writeFileSync(path, 'group: g\nid: a\nprotocol: epochs\nstore: { kind: file, path: /srv/x }\n')
    const file = (await conclave('plan', '--config', path, '--nodes', '2', '--seeds', '2')).stdout
    expect(file).toContain('all nodes run on this host')
    expect(file).not.toContain('acceptWeak')
  })

  it('reports a store that is slower than assumed: times exceed their bounds, specifications hold', async () => {
    const slow = { ...base, registers: { delayMs: [20, 60] } }
    const { code, card: told } = await card('--config', config('slow.json', slow))
    expect(code).toBe(6)
    expect(told.brokenAssumptions).toEqual([
      'accesses take up to 60 ms, but the configuration assumes at most 25 ms (r)',
    ])
    expect(told.specs.every(({ violations }) => violations === 0)).toBe(true)
  })

  it.each([
    [{ ...base, mode: 'local' }, 'mode'],
    [{ ...base, options: { turns: 'none' } }, 'options.turns: none guarantees no times'],
    [{ ...base, options: { periodMs: 10 } }, 'options.periodMs: is below'],
    [{ ...base, store: 'ftp://x' }, 'store: ftp: is not a kind of store'],
    [{ ...base, profile: 'moon' }, 'moon'],
    [{ protocol: 'epochs' }, 'nodes: is missing'],
    [{ protocol: 'ring', nodes: [1, 2] }, 'protocol: ring has no guarantee card'],
  ])('refuses %j', (contents, problem) => {
    expect(() => readPlan({ option: [] }, contents as unknown as PlainObject)).toThrow(problem)
  })
})

describe('the card', () => {
  it('of five nodes on a LAN: within the bounds, failover in 110 ms on average, 280 datagrams per second', async () => {
    const runs = sized(10, 60)
    const { code, card: lan } = await card('--nodes', '5', '--timing', 'fixed', '--seeds', String(runs))
    expect(lan.exceeded).toEqual([])
    expect(code).toBe(0)
    const [, failOver, handOver] = lan.figures
    expect(failOver).toMatchObject({
      name: 'fail-over',
      computed: { typicalMs: 98.07, worstMs: 185.94 },
      punctual: { runs, none: 0 },
      late: { runs, none: 0 },
      exceeded: false,
    })
    expect(failOver?.punctual?.meanMs).toBeLessThan(110)
    expect(handOver?.late?.maxMs).toBeLessThanOrEqual(2 * 2 * 5)
    expect(lan.traffic.measured.datagramsPerSecond).toBeLessThan(280)
    expect(lan.specs.map(({ name }) => name)).toContain('one-leader')
    expect(Object.keys(lan)).toEqual([
      'protocol',
      'mode',
      'rule',
      'profile',
      'voters',
      'observers',
      'witnesses',
      'constantsMs',
      'rhoPpm',
      'network',
      'brokenAssumptions',
      'advice',
      'seeds',
      'runs',
      'idle',
      'figures',
      'shapes',
      'traffic',
      'tolerance',
      'specs',
      'exceeded',
    ])
  })

  it.each([
    ['--nodes', '4', '--mode', 'local'],
    ['--nodes', '3', '--profile', 'wan'],
    ['--nodes', '5', '--option', 'priorities={"1":2,"5":1}', '--option', 'sticky=true'],
    ['--nodes', '4', '--option', 'rule="equality"', '--profile', 'region'],
    [
      '--nodes',
      '3',
      '--option',
      'witnesses=[1]',
      '--option',
      'sigmaMs=50',
      '--option',
      'rhoPpm=1',
      '--mode',
      'local',
    ],
  ])('keeps to what was computed: %s %s %s %s', async (...words) => {
    expect((await card(...words, '--seeds', sized('2', '8'))).card.exceeded).toEqual([])
  })

  it('does not depend on the number of threads, or on flags or a file', async () => {
    const file = config('same.json', { voters: [1, 2, 3], options: { profile: 'region' }, seeds: 3 })
    const one = await conclave('plan', '--json', '--config', file, '--workers', '1')
    const two = await conclave(
      'plan',
      '--json',
      '--nodes',
      '3',
      '--profile',
      'region',
      '--seeds',
      '3',
      '--workers',
      '2',
    )
    expect(two.stdout).toBe(one.stdout)
  })

  it('of two halves reports that neither can lead, and when the leader has stopped', async () => {
    const { card: four } = await card('--nodes', '4', '--timing', 'fixed', '--seeds', sized('2', '10'))
    const halves = four.shapes.find(({ name }) => name === 'neither 2|2')
    expect(halves).toMatchObject({ leaderWithinMs: 'never', exceeded: false, leader: { none: 1 } })
    expect(halves?.stopped.maxMs).toBeLessThanOrEqual(halves?.stoppedWithinMs ?? 0)
  })

  it('reports a network that is slower than assumed: safety still holds', async () => {
    const file = config('slow.json', {
      nodes: [1, 2, 3, 4, 5],
      options: { timing: 'fixed' },
      network: { delayMs: [1, 14] },
    })
    const { code, card: slow } = await card('--config', file, '--seeds', sized('2', '8'))
    expect(code).toBe(6)
    expect(slow.brokenAssumptions).toEqual([
      'messages take up to 14 ms, and the configuration assumes at most 5 (δ)',
    ])
    expect(slow.exceeded).toContain('hand-over')
    expect(slow.specs.filter(({ violations }) => violations > 0)).toEqual([])
    const text = await conclave('plan', '--workers', '1', '--config', file, '--seeds', sized('1', '2'))
    expect(text.code).toBe(6)
    expect(text.stdout).toContain('NOT true in the simulation: messages take up to 14 ms')
    expect(text.stdout).toContain('EXCEEDS the bound')
  })

  it('uses the delays of the network if they are within the assumptions', async () => {
    const file = config('quick.json', {
      nodes: [1, 2, 3],
      options: { timing: 'fixed' },
      network: { delayMs: [0.1, 0.4] },
    })
    const { code, card: quick } = await card('--config', file, '--seeds', sized('2', '6'))
    expect([code, quick.brokenAssumptions]).toEqual([0, []])
    const handOver = quick.figures.find(({ name }) => name === 'hand-over')
    expect(handOver?.computed.typicalMs).toBeLessThan(1)
    expect(handOver?.computed.worstMs).toBe(15)
  })

  it('advises a larger Δ if drift makes timely messages look slow, and that helps', async () => {
    const drifting = [
      '--nodes',
      '3',
      '--option',
      'sigmaMs=50',
      '--option',
      'rhoPpm=1000',
      '--seeds',
      sized('3', '15'),
    ]
    const { code, card: tight } = await card(...drifting)
    expect(code).toBe(6)
    expect(tight.advice).toEqual([
      'messages that take 5 ms (δ) may count as slow, because clocks drift: set fastMs to 10.48 or more',
    ])
    const { card: ample } = await card(...drifting, '--option', 'fastMs=10.5')
    expect([ample.advice, ample.exceeded]).toEqual([[], []])
  })

  it('detects a protocol whose first try always fails', async () => {
    const file = config('broken.json', {
      nodes: [1, 2, 3, 4, 5],
      options: { misreading: 'short-kappa' },
    })
    const { code, card: broken } = await card('--config', file, '--seeds', sized('2', '6'))
    expect(code).toBe(6)
    expect(broken.exceeded).toContain('hand-over')
  })

  it('of a single node has no times to measure', async () => {
    const { code, card: alone } = await card('--nodes', '1', '--timing', 'fixed')
    expect([code, alone.runs, alone.figures, alone.shapes]).toEqual([0, 0, [], []])
  })
})
