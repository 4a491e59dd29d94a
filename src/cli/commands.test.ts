/** Output and exit codes of the commands, run in this process and some of them as a process. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createProgram } from '../../dist/cli/commands.js'
import { type Ended, conclave as run } from '../../test/support/cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'conclave-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

const conclave = (...words: readonly string[]): Promise<Ended> => run(words, { cwd: root })

/** Runs a command as a process. */
function runProcess(...words: readonly string[]): { readonly [part in keyof Ended]: Ended[part] | null } {
  const { status, stdout, stderr } = spawnSync(join(root, 'bin/conclave'), words, {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { code: status, stdout, stderr }
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

describe('conclave as a process', () => {
  it.each([
    ['a run in which all held', 0, () => ['sim', file('process-quiet.json', QUIET)]],
    ['a violation', 6, () => ['sim', file('process-crossed.json', CROSSED), '--json']],
    ['bad input', 2, () => ['explore', '--fast']],
    ['no command', 2, () => []],
    ['help', 0, () => ['replay', '--help']],
  ] as const)('exits and prints as in this process: %s', async (_what, code, words) => {
    const own = runProcess(...words())
    expect(own.code).toBe(code)
    expect(await conclave(...words())).toEqual(own)
  })

  it('reads a scenario from standard input', () => {
    const { status, stdout } = spawnSync(join(root, 'bin/conclave'), ['sim', '-', '--json'], {
      input: JSON.stringify(QUIET),
      encoding: 'utf8',
    })
    expect([status, JSON.parse(stdout).leaders]).toEqual([0, [3]])
  })

  it('exits with 0 if its reader stops early', () => {
    const script = 'bin/conclave protocols --json | true; echo "${PIPESTATUS[0]}"'
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: root, encoding: 'utf8' })
    expect([stdout, stderr]).toEqual(['0\n', ''])
  })
})

describe('a command in this process', () => {
  it('prints the same after other commands have run', async () => {
    const asked = [
      ['sim', file('twice-crossed.json', CROSSED), '--transcript'],
      ['sim', file('twice-bad.json', { ...QUIET, nodes: [] })],
      'sim --protocol bully --nodes 3 --seeds 1..20 --option repaired=false --json'.split(' '),
      ['specs'],
      ['sim', '--help'],
      ['elect'],
    ]
    // A slow machine prints the progress of the campaign.
    const runOne = async (words: readonly string[]): Promise<Ended> => {
      const ended = await conclave(...words)
      return { ...ended, stderr: ended.stderr.replaceAll(/^seeds: .*\n/gm, '') }
    }
    const all = () => Promise.all(asked.map(runOne))
    const first = await all()
    expect(first.map(({ code }) => code)).toEqual([6, 2, 6, 0, 0, 2])
    expect(await all()).toEqual(first)
  })

  it('restores the state of the process', async () => {
    const state = () => ({
      exitCode: process.exitCode,
      folder: process.cwd(),
      environment: { ...process.env },
      listeners: [process, process.stdout, process.stderr].map((emitter) =>
        emitter.eventNames().map((name) => [name, emitter.listenerCount(name)]),
      ),
      writes: [process.stdout.write, process.stderr.write],
    })
    const before = state()
    const { code } = await run(['sim', 'nowhere.json'], { cwd: folder, env: { CONCLAVE_DEBUG: '1' } })
    expect(code).toBe(2)
    await run(['watch', '--agent', 'http://127.0.0.1:1'])
    expect(state()).toEqual(before)
  })
})

describe('conclave sim FILE', () => {
  it('prints one object with --json, and exits with 0 if all specifications held', async () => {
    const { code, stdout, stderr } = await conclave('sim', file('quiet.json', QUIET), '--json')
    expect([code, stderr]).toEqual([0, ''])
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

  it('exits with 6 if a specification is violated, and names it', async () => {
    const path = file('crossed.json', CROSSED)
    const { code, stdout } = await conclave('sim', path)
    expect(code).toBe(6)
    expect(stdout).toMatch(/agreement +VIOLATED at [\d.]+ ms: 1 follows 2 but 2 follows 3/)
    expect(JSON.parse((await conclave('sim', path, '--json')).stdout).specs[0]).toMatchObject({
      verdict: 'violated',
    })
  })

  it('reports the state of the world at checkpoints', async () => {
    const scenario = { ...CROSSED, checkpointsMs: [112, 99] }
    const { stdout } = await conclave('sim', file('checkpoints.json', scenario), '--json')
    const { checkpoints } = JSON.parse(stdout)
    expect(checkpoints['99'].leaders).toEqual([3])
    expect(checkpoints['112']).toMatchObject({ leaders: [2], groups: [[1], [2]], messages: { total: 1 } })
    expect(checkpoints['112'].nodes['3']).toMatchObject({ up: false, role: 'crashed', leader: null })
  })

  it('writes the same trace in every process, and replays every effect', async () => {
    const scenario = { ...QUIET, network: { delayMs: [1, 9] }, clocks: { driftPpm: 80 }, seed: 11 }
    const path = file('seeded.json', scenario)
    const traces = ['one', 'two'].map((name) => join(folder, `${name}.trace`))
    const [one = '', two = ''] = traces
    expect((await conclave('sim', path, '--trace', one)).code).toBe(0)
    expect(runProcess('sim', path, '--trace', two).code).toBe(0)
    expect(readFileSync(one, 'utf8')).toBe(readFileSync(two, 'utf8'))
    expect(await conclave('replay', one)).toMatchObject({ code: 0 })
    expect(await conclave('replay', one, '--diff', two)).toMatchObject({
      code: 0,
      stdout: 'the traces are identical\n',
    })
    expect((await conclave('sim', path, '--seed', '12', '--trace', two)).code).toBe(0)
    expect(await conclave('replay', one, '--diff', two)).toMatchObject({ code: 1 })
    const damaged = readFileSync(one, 'utf8').replace('"to":3', '"to":2')
    const { code, stdout } = await conclave('replay', file('damaged.trace', damaged))
    expect(code).toBe(1)
    expect(stdout).toContain('responds differently now')
  })

  it('explains a line of a trace with --why', async () => {
    const trace = join(folder, 'why.trace')
    const events = [{ atMs: 1000, partition: [[3]] }]
    const path = file('why.json', { protocol: 'bully', nodes: [1, 2, 3], untilMs: 3000, events })
    expect((await conclave('sim', path, '--trace', trace)).code).toBe(0)
    const lines = readFileSync(trace, 'utf8').split('\n')
    const line = 1 + lines.findIndex((text) => text.includes('"node":2') && text.includes('"role":"leader"'))
    const { code, stdout } = await conclave('replay', trace, '--why', String(line))
    expect(code).toBe(0)
    const explained = stdout.trimEnd().split('\n')
    expect(explained[0]).toMatch(/^line \d+, 1[\d.]+ ms: Node 2 reaches .* and begins to lead\.$/)
    expect(explained[1]).toMatch(
      /^ {2}because nothing came in time: messages .* \(heartbeat from 3\) were lost/,
    )
    expect(explained[2]).toMatch(/^line \d+, 1000 ms: An event of the scenario: partition \[\[3\]\]\.$/)
    const json = await conclave('replay', trace, '--why', String(line), '--json')
    expect(JSON.parse(json.stdout).causes[1]).toMatchObject({ atMs: 1000, because: null })
    const late = await conclave('replay', trace, '--why', '99999')
    expect([late.code, late.stderr]).toEqual([
      2,
      expect.stringContaining(`the trace has ${lines.length - 1} lines`),
    ])
    expect((await conclave('replay', trace, trace, '--why', '2')).code).toBe(2)
    expect((await conclave('replay', trace, '--why', '1')).code).toBe(2)
  })

  it('prints the steps with --transcript', async () => {
    const { stdout } = await conclave('sim', file('story.json', CROSSED), '--transcript')
    expect(stdout).toContain('110.000 ms  2 command detect(of 3): coordinator(id 2) to 1; LEADS')
  })
})

describe('conclave sim, a campaign', () => {
  it('finds no violation in the repaired bully, and reaches its goals', async () => {
    const { code, stdout } = await conclave(
      ...'sim --protocol bully --nodes 3..5 --seeds 1..60 --faults swarm --json'.split(' '),
    )
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ seeds: 60, violations: [], vacuous: [] })
    expect(report.steps).toBeGreaterThan(10_000)
    expect(report.goals.every(({ reached }: { reached: boolean }) => reached)).toBe(true)
  })

  it('prints a command that reproduces each violation, and a shrunk scenario', async () => {
    const words = 'sim --protocol bully --nodes 3 --seeds 1..60 --option repaired=false --json'.split(' ')
    const { code, stdout } = await conclave(...words)
    expect(code).toBe(6)
    const { violations } = JSON.parse(stdout)
    const [{ seed, spec, replay, shrunk }] = violations
    expect(replay).toBe(
      `conclave sim --protocol bully --nodes 3 --seeds ${seed}..${seed} --faults swarm --option repaired=false`,
    )
    const again = await conclave(...replay.split(' ').slice(1), '--json')
    expect(again.code).toBe(6)
    expect(JSON.parse(again.stdout).violations[0]).toMatchObject({ seed, spec })
    const small = await conclave('sim', file('shrunk.json', shrunk), '--json')
    expect(small.code).toBe(6)
  })

  it('reports the same with one thread and with several threads', async () => {
    const words =
      'sim --protocol bully --nodes 2..4 --seeds 1..60 --option repaired=false --json --workers'.split(' ')
    expect((await conclave(...words, '1')).stdout).toBe((await conclave(...words, '3')).stdout)
  })
})

describe('conclave explore', () => {
  it('finds the permanent disagreement, and its scenario reproduces it', async () => {
    const { code, stdout } = await conclave(
      ...'explore --protocol bully --nodes 3 --crashes 1 --recoveries 1 --option repaired=false --json'.split(
        ' ',
      ),
    )
    expect(code).toBe(6)
    const { counterexample, complete } = JSON.parse(stdout)
    expect(complete).toBe(false)
    expect(counterexample.steps).toHaveLength(6)
    expect((await conclave('sim', file('counterexample.json', counterexample.scenario))).code).toBe(6)
  })

  it('finds no violation in the repaired form, and reports the size of the search', async () => {
    const { code, stdout } = await conclave('explore', '--protocol', 'bully', '--nodes', '3', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ states: 477, transitions: 1186, complete: true, counterexample: null })
    for (const field of ['depth', 'seconds', 'statesPerSecond', 'bytesPerState', 'reuse']) {
      expect(report[field]).toBeGreaterThan(0)
    }
  })

  it('advances time by at most --ticks, for a protocol that defines the length of a tick', async () => {
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
    const explored = async (...words: readonly string[]) => {
      const asked = ['explore', '--load', module, ...'--protocol hourglass --nodes 1 --json'.split(' ')]
      return JSON.parse((await conclave(...asked, ...words)).stdout)
    }
    expect(await explored()).toMatchObject({ states: 1, complete: true })
    expect(await explored('--ticks', '3')).toMatchObject({ states: 4, transitions: 3, complete: true })
    const schedule = [{ do: 'tick' }, { do: 'tick' }]
    const scenario = file('hourglass.json', { protocol: 'hourglass', nodes: [1], schedule })
    const { stdout } = await conclave('sim', scenario, '--load', module, '--transcript')
    expect(stdout).toContain('1.000 ms  -- a tick of 1 ms passes --')
    expect(stdout).toContain('2.000 ms  -- a tick of 1 ms passes; 1 follows 1 --')
  })
})

describe('conclave qos', () => {
  it('measures the detectors of a trace, and prints nothing without a detector', async () => {
    const trace = join(folder, 'qos.trace')
    const crash = { ...QUIET, events: [{ atMs: 1000, crash: 3 }] }
    expect((await conclave('sim', file('qos.json', crash), '--trace', trace)).code).toBe(0)
    const { code, stdout, stderr } = await conclave('qos', trace, '--json')
    expect([code, stderr]).toEqual([0, ''])
    const { qos } = JSON.parse(stdout)
    expect(qos.all).toMatchObject({ mistakes: 0, queryAccuracy: 1, detection: { samples: 2 } })
    expect(qos.pairs[0]).toMatchObject({ monitor: 1, peer: 2 })
    expect((await conclave('qos', trace)).stdout).toMatch(/detection time T_D +2 +0/)
    const blind = { ...QUIET, options: { detector: 'none' } }
    expect((await conclave('sim', file('blind.json', blind), '--trace', trace)).code).toBe(0)
    expect((await conclave('qos', trace, '--json')).stdout).toBe('{"qos":null}\n')
    expect(await conclave('qos', trace)).toMatchObject({ code: 0, stdout: '' })
  })

  it('is part of a campaign of a protocol with a detector', async () => {
    const words = 'sim --protocol bully --nodes 3 --seeds 1..30 --json'.split(' ')
    expect(JSON.parse((await conclave(...words)).stdout).qos.detection.samples).toBeGreaterThan(0)
    expect(JSON.parse((await conclave(...words, '--option', 'detector=none')).stdout)).not.toHaveProperty(
      'qos',
    )
  })
})

describe('conclave specs, protocols and help', () => {
  it('list all specifications and protocols', async () => {
    expect(
      JSON.parse((await conclave('specs', '--json')).stdout).specs.map(({ name }: { name: string }) => name),
    ).toContain('agreement')
    const { protocols } = JSON.parse((await conclave('protocols', '--json')).stdout)
    const bully = protocols.find(({ name }: { name: string }) => name === 'bully')
    expect(bully.options.properties).toHaveProperty('answerTimeoutMs')
    expect((await conclave('specs')).stdout).toContain('Edinburgh lecture 11')
    expect((await conclave('protocols')).stdout).toContain('coordinatorTimeoutMs')
  })

  it('show an example for every command', async () => {
    const asked = [['--help'], ['help'], ['help', 'sim']]
    for (const help of await Promise.all(asked.map((words) => conclave(...words)))) {
      expect(help).toMatchObject({ code: 0, stderr: '' })
    }
    expect(await conclave()).toMatchObject({ code: 2, stdout: '' })
    const commands = ['sim', 'explore', 'replay', 'qos', 'specs', 'protocols']
    for (const { code, stdout } of await Promise.all(
      commands.map((command) => conclave(command, '--help')),
    )) {
      expect(code).toBe(0)
      expect(stdout).toMatch(/Examples?:/)
    }
  })

  it('offer --json for every command', async () => {
    const { commands } = await createProgram('')
    const names = commands.map((command) => command.name())
    expect(names).toEqual(expect.arrayContaining(['up', 'agent', 'run', 'status', 'draw', 'completion']))
    const without = commands
      .flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
      .filter(({ options }) => !options.some(({ long }) => long === '--json'))
      .map((command) => command.name())
    // Shell scripts call this command.
    expect(without).toEqual(['complete'])
  })

  it.each([
    ['run', '--', '/no/such/program'],
    ['draw', '/no/such/trace'],
    ['completion', 'tcsh'],
    ['agent', '--check'],
  ])('print an error of %s as one JSON object', async (name, ...words) => {
    const { code, stdout, stderr } = await conclave(name, '--json', ...words)
    expect([code, stderr]).toEqual([2, ''])
    expect(Object.keys(JSON.parse(stdout))).toEqual(['error'])
  })

  it('print a diagram and a completion script as JSON', async () => {
    const trace = join(folder, 'drawn.ndjson')
    await conclave('sim', file('drawn.json', QUIET), '--trace', trace)
    expect(JSON.parse((await conclave('draw', trace, '--json')).stdout).svg).toMatch(/^<svg/)
    const out = join(folder, 'drawn.svg')
    expect(JSON.parse((await conclave('draw', trace, '--json', '--out', out)).stdout)).toEqual({ out })
    const { shell, script } = JSON.parse((await conclave('completion', 'fish', '--json')).stdout)
    expect([shell, `${script}\n`]).toEqual(['fish', (await conclave('completion', 'fish')).stdout])
  })
})
