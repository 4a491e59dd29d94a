/** The command line as its users meet it: real processes, their output and their exit codes. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { program } from '../src/cli/commands.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'conclave-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

function conclave(...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(join(root, 'bin/conclave'), words, {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 1 << 26,
  })
  return { status, stdout, stderr }
}

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const QUIET = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 3000 }
const CROSSED = {
  protocol: 'bully',
  nodes: [1, 2, 3],
  initial: { leader: 3 },
  options: { detector: 'none', repaired: false },
  network: {
    delayMs: 10,
    rules: [
      { from: 2, to: 1, kind: 'coordinator', delayMs: 20 },
      { from: 3, kind: 'coordinator', delayMs: 5 },
    ],
  },
  events: [
    { atMs: 100, crash: 3 },
    { atMs: 110, command: { node: 2, do: 'detect', of: 3 } },
    { atMs: 115, recover: 3 },
  ],
  untilMs: 50_000,
}

describe('conclave sim FILE', () => {
  it('prints one object with --json, and ends with 0 when all held', () => {
    const { status, stdout, stderr } = conclave('sim', file('quiet.json', QUIET), '--json')
    expect([status, stderr]).toEqual([0, ''])
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ protocol: 'bully', endedAtMs: 3000, leaders: [3], groups: [[1, 2, 3]] })
    expect(report.nodes['1']).toEqual({
      up: true,
      role: 'follower',
      leader: 3,
      token: null,
      members: null,
      untilMs: null,
    })
  })

  it('ends with 6 when a specification is violated, and says which', () => {
    const path = file('crossed.json', CROSSED)
    const { status, stdout } = conclave('sim', path)
    expect(status).toBe(6)
    expect(stdout).toMatch(/agreement +VIOLATED at [\d.]+ ms: 1 follows 2 but 2 follows 3/)
    expect(JSON.parse(conclave('sim', path, '--json').stdout).specs[0]).toMatchObject({ verdict: 'violated' })
  })

  it('reports checkpoints as the world stood then', () => {
    const scenario = { ...CROSSED, checkpointsMs: [112, 99] }
    const { stdout } = conclave('sim', file('checkpoints.json', scenario), '--json')
    const { checkpoints } = JSON.parse(stdout)
    expect(checkpoints['99'].leaders).toEqual([3])
    expect(checkpoints['112']).toMatchObject({ leaders: [2], groups: [[1], [2]], messages: { total: 1 } })
    expect(checkpoints['112'].nodes['3']).toMatchObject({ up: false, role: 'crashed', leader: null })
  })

  it('writes the same trace in every process, and replay finds every effect identical', () => {
    const scenario = { ...QUIET, network: { delayMs: [1, 9] }, clocks: { driftPpm: 80 }, seed: 11 }
    const path = file('seeded.json', scenario)
    const traces = ['one', 'two'].map((name) => join(folder, `${name}.trace`))
    for (const trace of traces) expect(conclave('sim', path, '--trace', trace).status).toBe(0)
    const [one = '', two = ''] = traces
    expect(readFileSync(one, 'utf8')).toBe(readFileSync(two, 'utf8'))
    expect(conclave('replay', one)).toMatchObject({ status: 0 })
    expect(conclave('replay', one, '--diff', two)).toMatchObject({
      status: 0,
      stdout: 'the traces are identical\n',
    })
    expect(conclave('sim', path, '--seed', '12', '--trace', two).status).toBe(0)
    expect(conclave('replay', one, '--diff', two)).toMatchObject({ status: 1 })
    const damaged = readFileSync(one, 'utf8').replace('"to":3', '"to":2')
    const { status, stdout } = conclave('replay', file('damaged.trace', damaged))
    expect(status).toBe(1)
    expect(stdout).toContain('answers differently now')
  })

  it('tells the story with --transcript', () => {
    const { stdout } = conclave('sim', file('story.json', CROSSED), '--transcript')
    expect(stdout).toContain('110.000 ms  2 is told: detect(of 3): coordinator(id 2) to 1; LEADS')
  })
})

describe('conclave sim, a campaign', () => {
  it('finds nothing wrong with the repaired bully, and reaches its goals', () => {
    const { status, stdout } = conclave(
      ...'sim --protocol bully --nodes 3..5 --seeds 1..200 --faults swarm --json'.split(' '),
    )
    expect(status).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ seeds: 200, violations: [], vacuous: [] })
    expect(report.steps).toBeGreaterThan(10_000)
    expect(report.goals.every(({ reached }: { reached: boolean }) => reached)).toBe(true)
  })

  it('gives for each violation one command that shows it again, and a small scenario that violates', () => {
    const words = 'sim --protocol bully --nodes 3 --seeds 1..200 --option repaired=false --json'.split(' ')
    const { status, stdout } = conclave(...words)
    expect(status).toBe(6)
    const { violations } = JSON.parse(stdout)
    const [{ seed, spec, replay, shrunk }] = violations
    expect(replay).toBe(
      `conclave sim --protocol bully --nodes 3 --seeds ${seed}..${seed} --faults swarm --option repaired=false`,
    )
    const again = conclave(...replay.split(' ').slice(1), '--json')
    expect(again.status).toBe(6)
    expect(JSON.parse(again.stdout).violations[0]).toMatchObject({ seed, spec })
    const small = conclave('sim', file('shrunk.json', shrunk), '--json')
    expect(small.status).toBe(6)
  })

  it('reports the same with one thread and with several', () => {
    const words =
      'sim --protocol bully --nodes 2..4 --seeds 1..120 --option repaired=false --json --workers'.split(' ')
    expect(conclave(...words, '1').stdout).toBe(conclave(...words, '3').stdout)
  })
})

describe('conclave explore', () => {
  it('finds the permanent disagreement, and its scenario runs to the same end', () => {
    const { status, stdout } = conclave(
      ...'explore --protocol bully --nodes 3 --crashes 1 --recoveries 1 --option repaired=false --json'.split(
        ' ',
      ),
    )
    expect(status).toBe(6)
    const { counterexample, complete } = JSON.parse(stdout)
    expect(complete).toBe(false)
    expect(counterexample.steps).toHaveLength(6)
    expect(conclave('sim', file('counterexample.json', counterexample.scenario)).status).toBe(6)
  })

  it('finds nothing in the repaired form, and says what it searched', () => {
    const { status, stdout } = conclave('explore', '--protocol', 'bully', '--nodes', '3', '--json')
    expect(status).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ states: 477, transitions: 1186, complete: true, counterexample: null })
    for (const field of ['depth', 'seconds', 'statesPerSecond', 'bytesPerState', 'reuse']) {
      expect(report[field]).toBeGreaterThan(0)
    }
  })

  it('lets time pass as often as --ticks says, for a protocol that says how long a tick is', () => {
    const module = file(
      'hourglass.mjs',
      `import { define } from ${JSON.stringify(join(root, 'dist/core/index.js'))}
      export const protocol = define({
        name: 'hourglass', title: 'leads for two ticks', source: 'a test', kinds: ['none'],
        settlesWithin: () => 0,
        exploration: { crashes: 0, tick: 1000 },
        create: ({ self }) => ({
          start: (_stable, now) => ({ state: { until: now + 2000 }, effects: [] }),
          step: (state) => ({ state, effects: [] }),
          view: ({ until }, now) => ({
            role: now < until ? 'leader' : 'follower', leader: self, token: null, until, members: null, detail: null,
          }),
          shift: ({ until }, by) => ({ until: until + by }),
        }),
      })`,
    )
    const explored = (...words: readonly string[]) =>
      JSON.parse(
        conclave('explore', '--load', module, ...'--protocol hourglass --nodes 1 --json'.split(' '), ...words)
          .stdout,
      )
    expect(explored()).toMatchObject({ states: 1, complete: true })
    expect(explored('--ticks', '3')).toMatchObject({ states: 4, transitions: 3, complete: true })
    const schedule = [{ do: 'tick' }, { do: 'tick' }]
    const scenario = file('hourglass.json', { protocol: 'hourglass', nodes: [1], schedule })
    const { stdout } = conclave('sim', scenario, '--load', module, '--transcript')
    expect(stdout).toContain('1.000 ms  -- a tick of 1 ms passes --')
    expect(stdout).toContain('2.000 ms  -- a tick of 1 ms passes; 1 follows 1 --')
  })
})

describe('conclave qos', () => {
  it('measures the detectors of a trace, and says when there are none', () => {
    const trace = join(folder, 'qos.trace')
    const crash = { ...QUIET, events: [{ atMs: 1000, crash: 3 }] }
    expect(conclave('sim', file('qos.json', crash), '--trace', trace).status).toBe(0)
    const { status, stdout, stderr } = conclave('qos', trace, '--json')
    expect([status, stderr]).toEqual([0, ''])
    const { qos } = JSON.parse(stdout)
    expect(qos.all).toMatchObject({ mistakes: 0, queryAccuracy: 1, detection: { samples: 2 } })
    expect(qos.pairs[0]).toMatchObject({ monitor: 1, peer: 2 })
    expect(conclave('qos', trace).stdout).toMatch(/detection time T_D +2 +0/)
    const blind = { ...QUIET, options: { detector: 'none' } }
    expect(conclave('sim', file('blind.json', blind), '--trace', trace).status).toBe(0)
    expect(conclave('qos', trace, '--json').stdout).toBe('{"qos":null}\n')
    expect(conclave('qos', trace)).toMatchObject({ status: 0, stdout: '' })
  })

  it('is part of a campaign where there is a detector', () => {
    const words = 'sim --protocol bully --nodes 3 --seeds 1..30 --json'.split(' ')
    expect(JSON.parse(conclave(...words).stdout).qos.detection.samples).toBeGreaterThan(0)
    expect(JSON.parse(conclave(...words, '--option', 'detector=none').stdout)).not.toHaveProperty('qos')
  })
})

describe('conclave specs, protocols and help', () => {
  it('list what there is', () => {
    expect(
      JSON.parse(conclave('specs', '--json').stdout).specs.map(({ name }: { name: string }) => name),
    ).toContain('agreement')
    const { protocols } = JSON.parse(conclave('protocols', '--json').stdout)
    const bully = protocols.find(({ name }: { name: string }) => name === 'bully')
    expect(bully.options.properties).toHaveProperty('answerTimeoutMs')
    expect(conclave('specs').stdout).toContain('Edinburgh lecture 11')
    expect(conclave('protocols').stdout).toContain('coordinatorTimeoutMs')
  })

  it('explain every command with an example', () => {
    for (const asked of [['--help'], ['help'], ['help', 'sim']]) {
      expect(conclave(...asked)).toMatchObject({ status: 0, stderr: '' })
    }
    expect(conclave()).toMatchObject({ status: 2, stdout: '' })
    for (const command of ['sim', 'explore', 'replay', 'qos', 'specs', 'protocols']) {
      const { status, stdout } = conclave(command, '--help')
      expect(status).toBe(0)
      expect(stdout).toMatch(/Examples?:/)
    }
  })

  it('name --json for every command', async () => {
    const { commands } = await program('')
    const names = commands.map((command) => command.name())
    expect(names).toEqual(expect.arrayContaining(['up', 'agent', 'run', 'status', 'draw', 'completion']))
    const without = commands
      .filter(({ options }) => !options.some(({ long }) => long === '--json'))
      .map((command) => command.name())
    // What scripts of shells ask.
    expect(without).toEqual(['complete'])
  })

  it.each([
    ['run', '--', '/no/such/program'],
    ['draw', '/no/such/trace'],
    ['completion', 'tcsh'],
    ['agent', '--check'],
  ])('print an error of %s as one JSON object', (name, ...words) => {
    const { status, stdout, stderr } = conclave(name, '--json', ...words)
    expect([status, stderr]).toEqual([2, ''])
    expect(Object.keys(JSON.parse(stdout))).toEqual(['error'])
  })

  it('draw and complete in JSON', () => {
    const trace = join(folder, 'drawn.ndjson')
    conclave('sim', file('drawn.json', QUIET), '--trace', trace)
    expect(JSON.parse(conclave('draw', trace, '--json').stdout).svg).toMatch(/^<svg/)
    const out = join(folder, 'drawn.svg')
    expect(JSON.parse(conclave('draw', trace, '--json', '--out', out).stdout)).toEqual({ out })
    const { shell, script } = JSON.parse(conclave('completion', 'fish', '--json').stdout)
    expect([shell, `${script}\n`]).toEqual(['fish', conclave('completion', 'fish').stdout])
  })
})

describe('bad input gives one line, exit code 2 and nothing else', () => {
  const bad = (name: string, change: object): string => file(name, { ...QUIET, ...change })
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['an unknown protocol', ['sim', bad('b1', { protocol: 'x' })], 'protocol: unknown protocol "x"'],
    ['an unknown field', ['sim', bad('b2', { nodez: 1 })], 'nodez: unknown field'],
    ['an unknown node', ['sim', bad('b3', { events: [{ atMs: 1, crash: 8 }] })], 'events[0].crash: 8 is not'],
    ['an unknown option', ['sim', bad('b4', { options: { fast: 1 } })], 'options.fast: unknown field'],
    ['a negative time', ['sim', bad('b5', { events: [{ atMs: -1, crash: 1 }] })], 'events[0].atMs'],
    [
      'an event after the end',
      ['sim', bad('b6', { events: [{ atMs: 9999, crash: 1 }] })],
      'is after untilMs',
    ],
    ['a loss above 1', ['sim', bad('b7', { network: { loss: 2 } })], 'network.loss'],
    ['an endless run', ['sim', file('b8', '{"protocol":"bully","nodes":[1],"untilMs":1e999}')], 'untilMs'],
    ['a malformed file', ['sim', file('b9', '{"protocol":')], 'not JSON'],
    ['a missing file', ['sim', join(folder, 'nowhere')], 'there is no such file'],
    ['a folder', ['sim', folder], 'cannot be read'],
    ['an empty node list', ['sim', bad('b10', { nodes: [] })], 'nodes: is empty'],
    ['a duplicate node', ['sim', bad('b11', { nodes: [1, 1] })], 'nodes[1]: 1 is listed twice'],
    [
      'an impossible step',
      ['sim', file('b12', { protocol: 'bully', nodes: [1, 2], schedule: [{ node: 1, do: 'recover' }] })],
      'schedule[0]: 1 is up',
    ],
    ['a backward range', 'sim --protocol bully --nodes 3 --seeds 9..2'.split(' '), 'runs backwards'],
    ['a range that is none', 'sim --protocol bully --nodes 3 --seeds all'.split(' '), '--seeds all'],
    ['no seeds', 'sim --protocol bully --nodes 3'.split(' '), '--seeds'],
    ['zero nodes in a campaign', 'sim --protocol bully --nodes 0 --seeds 1'.split(' '), '--nodes 0'],
    [
      'an unknown fault',
      'sim --protocol bully --nodes 3 --seeds 1 --faults rain'.split(' '),
      '"rain" is not',
    ],
    [
      'a wrong option',
      'sim --protocol bully --nodes 3 --seeds 1 --option x=1'.split(' '),
      'options.x: unknown',
    ],
    [
      'an option without value',
      'sim --protocol bully --nodes 3 --seeds 1 --option x'.split(' '),
      'NAME=VALUE',
    ],
    ['an unknown protocol to explore', 'explore --protocol x --nodes 3'.split(' '), '--protocol x'],
    ['a protocol missing', ['explore', '--nodes', '3'], '--protocol'],
    ['a depth of zero', 'explore --protocol bully --nodes 3 --depth 0'.split(' '), '--depth 0'],
    ['zero states', 'explore --protocol bully --nodes 3 --max-states 0'.split(' '), '--max-states 0'],
    ['no memory', 'explore --protocol bully --nodes 3 --memory 0'.split(' '), '--memory 0'],
    ['zero nodes', 'explore --protocol bully --nodes 0'.split(' '), '--nodes 0'],
    ['negative crashes', 'explore --protocol bully --nodes 3 --crashes -1'.split(' '), '--crashes'],
    ['negative ticks', 'explore --protocol bully --nodes 3 --ticks -1'.split(' '), '--ticks'],
    [
      'ticks of no length',
      'explore --protocol bully --nodes 3 --ticks 2'.split(' '),
      '--ticks 2: bully does not say how long a tick is',
    ],
    [
      'a tick of no length',
      ['sim', file('b17', { protocol: 'bully', nodes: [1, 2], schedule: [{ do: 'tick' }] })],
      'schedule[0]: ticks mean nothing to bully',
    ],
    ['too many nodes', 'explore --protocol bully --nodes 99'.split(' '), '--nodes 99'],
    ['an unknown order', 'explore --protocol bully --nodes 3 --order odd'.split(' '), '--order odd'],
    ['an unknown flag', ['explore', '--fast'], "unknown option '--fast'"],
    ['an unknown command', ['elect'], "unknown command 'elect'"],
    ['a ring of one', ['explore', '--protocol', 'ring', '--nodes', '1'], 'must be at least 2'],
    [
      'a crowd',
      ['sim', '--protocol', 'ring', '--nodes', '3..50000', '--seeds', '1..2'],
      'at most 10000 nodes in one world',
    ],
    [
      'an option of a campaign below its bound',
      [...'sim --protocol invitation --nodes 3 --seeds 1..2 --option'.split(' '), 'acceptWindowMs=44'],
      'options.acceptWindowMs: 44 is below 45',
    ],
    [
      'an option for a node that some worlds of a campaign lack',
      [...'sim --protocol ring --nodes 2..3 --seeds 1..2 --option'.split(' '), 'loads={"3":1}'],
      'options.loads.3: is not one of the nodes (1, 2)',
    ],
    ['a bad trace', ['replay', file('b13', 'no')], 'line 1 is not JSON'],
    ['a missing trace', ['replay', join(folder, 'nowhere')], 'there is no such file'],
    ['a bad trace to measure', ['qos', file('b16', '{}')], 'line 1: trace'],
    ['a missing trace to measure', ['qos', join(folder, 'nowhere')], 'there is no such file'],
    ['a module that is none', ['sim', file('b14', QUIET), '--load', join(folder, 'x.mjs')], '--load'],
    [
      'a trace that cannot be written',
      ['sim', file('b15', QUIET), '--trace', join(folder, 'no/x')],
      '--trace',
    ],
  ]

  it.each(cases)('%s', (_what, words, message) => {
    const plain = conclave(...words)
    expect(plain.status).toBe(2)
    expect(plain.stdout).toBe('')
    expect(plain.stderr).toMatch(/^conclave: [^\n]+\n$/)
    expect(plain.stderr).toContain(message)
    const json = conclave(...words, '--json')
    expect([json.status, json.stderr]).toEqual([2, ''])
    expect(JSON.parse(json.stdout).error.message).toContain(message)
  })
})
