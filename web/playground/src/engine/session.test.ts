import { describe, expect, it } from 'vitest'
import { present } from '../../../../src/core/index.ts'
import { catalogue } from '../../../../src/protocols/index.ts'
import { parseScenario, runScenario } from '../../../../src/workbench/sim/index.ts'
import type { OwnModule, Problem } from './messages.ts'
import { MOST_RECORDS } from './run.ts'
import { createSession } from './session.ts'

const BULLY = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 1000, events: [{ atMs: 500, crash: 3 }] }

async function problemsOf(asked: Promise<unknown>): Promise<readonly Problem[]> {
  try {
    await asked
    return []
  } catch (error) {
    return (error as { readonly problems: readonly Problem[] }).problems
  }
}

/** A protocol in which every node leads at once. */
function module(body = '', imports = ''): OwnModule {
  const text = `${imports}import { define } from 'conclave/core'
import { z } from 'zod'

const view = { role: 'leader', leader: null, token: null, until: null, members: null, detail: null }
export const protocol = define({
  name: 'proud', title: 'everybody leads', source: 'a test', kinds: ['hello'],
  options: () => z.strictObject({ loud: z.boolean().default(true) }),
  promises: ['one-leader'],
  create: () => ({
    start(stable, now) { return { state: { n: 0 }, effects: [{ type: 'setTimer', name: 'tick', at: now + 1000 }] } },
    step(state, input, now) { ${body}
      return { state: { n: state.n + 1 }, effects: [{ type: 'setTimer', name: 'tick', at: now + 1000 }] } },
    view: () => view,
    shift: (state) => state,
  }),
  settlesWithin: () => 1000,
})
`
  return { name: 'proud.mjs', text }
}

describe('run', () => {
  it('has the verdicts and goals of conclave sim', async () => {
    const { picture } = await createSession().ask({ type: 'run', scenario: BULLY, module: null })
    const report = runScenario(present(catalogue.find('bully'), 'bully'), parseScenario(BULLY, catalogue))
    expect(picture.verdicts.map(({ name, verdict }) => ({ name, verdict }))).toEqual(
      report.specs.map(({ name, verdict }) => ({ name, verdict })),
    )
    expect(picture.goals.map(({ name, count }) => ({ name, count }))).toEqual(
      report.goals.map(({ name, count }) => ({ name, count })),
    )
    expect(picture.endsAt).toBe(1_000_000)
    expect(picture.commands.map(({ name }) => name)).toEqual(['detect'])
  })

  it('reports all problems of a scenario, each with its field', async () => {
    const scenario = { ...BULLY, untilMs: 400, events: [{ atMs: 500, crash: 9 }] }
    const problems = await problemsOf(createSession().ask({ type: 'run', scenario, module: null }))
    expect(problems.map(({ place }) => place)).toEqual(['events[0].crash'])
    expect(problems[0]?.message).toBe('9 is not one of the nodes (1, 2, 3)')
  })

  it('refuses a world that is too large to show, with what to do', async () => {
    const nodes = Array.from({ length: 101 }, (_, index) => index)
    const asked = createSession().ask({ type: 'run', scenario: { ...BULLY, nodes }, module: null })
    expect(await problemsOf(asked)).toEqual([
      { place: 'nodes', message: expect.stringContaining('run larger worlds with conclave sim') as string },
    ])
  })

  it('shows the first part of a run that is too long', async () => {
    const flood = module("return { state, effects: [{ type: 'setTimer', name: 'tick', at: now + 1 }] }")
    const scenario = { nodes: [1], untilMs: 60_000 }
    const { picture } = await createSession().ask({ type: 'run', scenario, module: flood })
    expect(picture.moments).toHaveLength(MOST_RECORDS)
    expect(picture.cutShort).toMatch(/^the run was stopped at .* ms, after 100,000 events/)
    expect(picture.endsAt).toBe(picture.moments.at(-1)?.at)
  })

  it('names the step of a schedule that is not possible', async () => {
    const scenario = { protocol: 'bully', nodes: [1, 2], schedule: [{ node: 1, do: 'recover' }] }
    const problems = await problemsOf(createSession().ask({ type: 'run', scenario, module: null }))
    expect(problems[0]?.place).toBe('schedule[0]')
  })

  it('says that there is no run yet', async () => {
    expect(await problemsOf(createSession().ask({ type: 'trace' }))).toEqual([
      { place: null, message: 'there is no run yet: run a scenario first' },
    ])
  })
})

describe('a module of the user', () => {
  const SCENARIO = { nodes: [1, 2, 3], untilMs: 10 }
  const run = (given: OwnModule) => createSession().ask({ type: 'run', scenario: SCENARIO, module: given })

  it('runs, and is judged', async () => {
    const { picture, scenario } = await run(module())
    expect(scenario['protocol']).toBe('proud')
    expect(picture.verdicts).toMatchObject([{ name: 'one-leader', verdict: 'violated' }])
    expect(picture.verdicts[0]?.moment).toBe(picture.moments.findIndex(({ node }) => node === 2))
  })

  it('that throws in a step gives the run up to there, and the line', async () => {
    const { picture } = await run(module('if (now < 0 || state.n === 2) state.no.such()'))
    expect(picture.cutShort).toMatch(/ by an error: line 11: TypeError: /)
    expect(picture.moments.length).toBeGreaterThan(6)
  })

  it('that throws while it loads is refused with the line', async () => {
    const { text } = module()
    expect(await problemsOf(run({ name: 'a.mjs', text: `\n${text}\nnull.x\n` }))).toMatchObject([
      { place: 'line 20', message: expect.stringMatching(/^TypeError: /) as string },
    ])
  })

  it('that imports another file is refused with the line and what to do', async () => {
    expect(await problemsOf(run(module('', "import { a } from './a.mjs'\n")))).toEqual([
      {
        place: 'line 1',
        message: expect.stringMatching(/^cannot import \.\/a\.mjs: .*conclave\/core.*zod/) as string,
      },
    ])
  })

  it('with a syntax error is not taken for an import, although strings follow `export`', async () => {
    const { name, text } = module()
    const problems = await problemsOf(
      run({ name, text: `${text}export const other = define({ name: 'x' }\n` }),
    )
    expect(problems[0]?.message).toMatch(/^SyntaxError: /)
  })

  it('without a protocol, or with a name of the package, is refused', async () => {
    expect((await problemsOf(run({ name: 'a.mjs', text: 'export const a = 1' })))[0]?.message).toMatch(
      /^a\.mjs must export `protocol`/,
    )
    const { name, text } = module()
    const taken = await problemsOf(run({ name, text: text.replace("'proud'", "'bully'") }))
    expect(taken[0]?.message).toBe('bully is a protocol of this package: choose another name')
  })

  it('can be changed and run again under the same name', async () => {
    const session = createSession()
    await session.ask({ type: 'run', scenario: SCENARIO, module: module() })
    const again = module('if (state.n >= 1) return { state, effects: [] }')
    const { picture } = await session.ask({ type: 'run', scenario: SCENARIO, module: again })
    expect(picture.moments).toHaveLength(9)
  })
})

describe('why', () => {
  it('leads from a step back to its causes', async () => {
    const session = createSession()
    const { picture } = await session.ask({ type: 'run', scenario: BULLY, module: null })
    const moment = picture.moments.findLastIndex(({ isLeadership }) => isLeadership)
    const chain = await session.ask({ type: 'why', moment })
    expect(chain[0]?.moment).toBe(moment)
    expect(chain.length).toBeGreaterThan(1)
    expect(chain.at(-1)?.because).toBeNull()
  })
})

describe('tryseeds', () => {
  const ask = (scenario: object, seeds: number, swarm: boolean) =>
    createSession().ask({ type: 'tryseeds', scenario: scenario as never, module: null, seeds, swarm })

  it('finds and shrinks a violation, and the scenario that it gives has it', async () => {
    const broken = { protocol: 'bully', nodes: [1, 2, 3, 4], options: { repaired: false }, untilMs: 100 }
    const { found, seeds } = await ask(broken, 500, true)
    expect(found?.seed).toBe(seeds)
    const scenario = present(found, 'violation').scenario
    const { picture } = await createSession().ask({ type: 'run', scenario, module: null })
    expect(picture.verdicts.find(({ name }) => name === found?.spec)?.verdict).toBe('violated')
  })

  it('runs the given scenario with every seed', async () => {
    expect(await ask(BULLY, 20, false)).toMatchObject({ seeds: 20, found: null })
  })

  it('refuses options that no drawn scenario can have', async () => {
    const scenario = { protocol: 'local-leader', nodes: ['a', 'b'], options: { voters: ['a'] }, untilMs: 10 }
    expect((await problemsOf(ask(scenario, 5, true)))[0]?.place).toMatch(/^options\.voters/)
  })

  it('refuses a schedule', async () => {
    const scenario = { protocol: 'bully', nodes: [1, 2], schedule: [] }
    expect((await problemsOf(ask(scenario, 5, false)))[0]?.place).toBe('schedule')
  })
})

describe('explore', () => {
  const FORM = {
    protocol: 'bully',
    nodes: [1, 2, 3],
    options: { repaired: false },
    crashes: 1,
    recoveries: 1,
    cuts: 0,
    depth: 1000,
    maxStates: 100_000,
  }
  const ask = (form: object) =>
    createSession().ask({ type: 'explore', settings: { ...FORM, ...form }, module: null })

  it('finds a schedule that violates a specification, and the run of it does', async () => {
    const { found, complete, cutShort } = await ask({})
    expect({ complete, cutShort }).toEqual({ complete: false, cutShort: 'it found a violation' })
    const scenario = present(found, 'violation').scenario
    const { picture } = await createSession().ask({ type: 'run', scenario, module: null })
    expect(picture.isUntimed).toBe(true)
    expect(picture.verdicts.find(({ name }) => name === found?.spec)?.verdict).toBe('violated')
    expect(picture.moments.length).toBeGreaterThanOrEqual(found?.schedule?.length ?? 0)
  })

  it('says when it saw every state', async () => {
    const done = await ask({ options: {} })
    expect(done).toMatchObject({ complete: true, found: null, cutShort: null })
    expect(done.progress).toBe('from every state a settled state can be reached')
  })

  it('numbers the nodes where the defaults of the protocol do', async () => {
    const form = { protocol: 'local-leader', nodes: ['a', 'b', 'c'], options: {}, maxStates: 2000 }
    expect((await ask(form)).cutShort).toBe('it reached the bound on the number of states')
  })

  it('refuses a world that is too large', async () => {
    const nodes = Array.from({ length: 17 }, (_, index) => index)
    expect((await problemsOf(ask({ nodes })))[0]).toEqual({
      place: 'nodes',
      message: 'use 1 to 16 nodes to explore bully',
    })
  })
})

describe('open', () => {
  const open = (text: string, name = 'run.ndjson') =>
    createSession().ask({ type: 'open', files: [{ name, text }] })

  async function traceOf(scenario: object): Promise<string> {
    const session = createSession()
    await session.ask({ type: 'run', scenario: scenario as never, module: null })
    return session.ask({ type: 'trace' })
  }

  it('shows a trace as the run that wrote it', async () => {
    const session = createSession()
    const ran = await session.ask({ type: 'run', scenario: BULLY, module: null })
    const opened = await open(await session.ask({ type: 'trace' }))
    expect(opened.notice).toBeNull()
    expect(opened.picture.moments).toEqual(ran.picture.moments)
    expect(opened.picture.flights).toEqual(ran.picture.flights)
    expect(opened.picture.lanes.map(({ roles }) => roles.map(({ role }) => role))).toEqual(
      ran.picture.lanes.map(({ roles }) => roles.map(({ role }) => role)),
    )
    expect(opened.picture.commands).toEqual([])
    expect(opened.picture.verdicts.map(({ name, verdict }) => [name, verdict])).toEqual(
      ran.picture.verdicts.map(({ name }) => [name, 'vacuous']),
    )
  })

  it('names the line of a trace that is damaged', async () => {
    const lines = (await traceOf(BULLY)).split('\n')
    const damaged = lines.with(3, lines[3]?.slice(0, 20) ?? '').join('\n')
    expect(await problemsOf(open(damaged))).toMatchObject([{ place: 'run.ndjson line 4' }])
    expect(await problemsOf(open(lines.with(4, '{"type":"step"}').join('\n')))).toMatchObject([
      { place: 'run.ndjson line 5' },
    ])
  })

  it('shows a trace of another version up to the first difference', async () => {
    const lines = (await traceOf(BULLY)).split('\n')
    const index = lines.findIndex((line) => line.includes('"setTimer"') && line.includes('"step"'))
    const other = lines.with(index, lines[index]?.replace('"setTimer"', '"stopTimer"') ?? '')
    const { picture, notice } = await open(other.join('\n'))
    expect(picture.moments).toHaveLength(index - 1)
    expect(notice).toMatch(/^run\.ndjson line \d+: another version wrote it/)
  })

  it('shows a trace of a protocol of the user, once its module was loaded', async () => {
    const session = createSession()
    await session.ask({ type: 'run', scenario: { nodes: [1, 2], untilMs: 10 }, module: module() })
    const text = await session.ask({ type: 'trace' })
    const { picture } = await session.ask({ type: 'open', files: [{ name: 'mine.ndjson', text }] })
    expect(picture.protocol).toBe('proud')
  })

  it('refuses a trace of an unknown protocol, and an empty one', async () => {
    const header = '{"trace":1,"protocol":"mine","nodes":[1],"options":{},"seed":1}'
    expect((await problemsOf(open(header)))[0]?.message).toMatch(/^the protocol "mine" is not one of /)
    expect((await problemsOf(open('')))[0]).toEqual({ place: 'run.ndjson', message: 'the trace is empty' })
  })
})
