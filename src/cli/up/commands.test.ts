import { describe, expect, it } from 'vitest'
import type { LinkFault, NetworkFaults } from '../../service/runtime/index.ts'
import { execute } from './commands.ts'
import type { LocalAgent } from './local-agent.ts'
import { LocalGroup } from './local-group.ts'

/** Records what is done to it. The first agent leads. */
class FakeAgent {
  readonly id: string
  readonly isLeader: boolean
  readonly calls: string[] = []
  state = 'up'
  faults: NetworkFaults = {}

  constructor(id: string) {
    this.id = id
    this.isLeader = id === 'n1'
  }

  #change(name: string, state: string): boolean {
    this.calls.push(name)
    const hasChanged = this.state !== state
    this.state = state
    return hasChanged
  }

  kill(): Promise<boolean> {
    return Promise.resolve(this.#change('kill', 'down'))
  }

  start(): boolean {
    return this.#change('start', 'up')
  }

  pause(isPaused: boolean): boolean {
    return this.#change('pause', isPaused ? 'paused' : 'up')
  }

  stepDown(to: string | null): Promise<string | null> {
    this.calls.push(to === null ? 'stepDown' : `stepDown to ${to}`)
    return Promise.resolve(null)
  }

  refresh(): Promise<void> {
    this.calls.push('refresh')
    return Promise.resolve()
  }

  injectFaults(faults: NetworkFaults): void {
    this.faults = faults
  }
}

function setUp() {
  const agents = ['n1', 'n2', 'n3', 'n4'].map((id) => new FakeAgent(id))
  const group = new LocalGroup(() => agents as unknown as readonly LocalAgent[])
  const run = (line: string): Promise<void> => execute(group, line, new AbortController().signal)
  const log = (): readonly string[] => group.log.map(({ text }) => text)
  const faults = (): { readonly [id: string]: { readonly [from: string]: LinkFault } } =>
    Object.fromEntries(
      agents.flatMap((agent) => (Object.keys(agent.faults).length === 0 ? [] : [[agent.id, agent.faults]])),
    )
  return { agents, group, run, log, faults }
}

const CUT = { cut: true }

describe('commands on nodes', () => {
  it.each([
    ['kill n2', ['n2 killed']],
    ['kill leader', ['n1 killed']],
    ['kill n2,n4', ['n2 killed', 'n4 killed']],
    ['kill all', ['n1 killed', 'n2 killed', 'n3 killed', 'n4 killed']],
    ['pause n3', ['n3 paused']],
    ['restart n3', ['n3 is already up']],
    ['resume all', []],
  ])('%s', async (line, entries) => {
    const { run, log } = setUp()
    await run(line)
    expect(log()).toEqual(entries)
  })

  it('step-down asks the leader, with the node that follows if one is chosen', async () => {
    const { agents, run } = setUp()
    await run('step-down')
    await run('step-down n2')
    expect(agents.map(({ calls }) => calls)).toEqual([['stepDown', 'stepDown to n2'], [], [], []])
  })

  it('wait refreshes until exactly one node leads', async () => {
    const { agents, run } = setUp()
    await run('wait')
    expect(agents.every(({ calls }) => calls.includes('refresh'))).toBe(true)
  })
})

describe('commands on links', () => {
  it('cut n1>n2 drops the messages from n1 to n2', async () => {
    const { run, log, faults } = setUp()
    await run('cut n1>n2')
    expect(faults()).toEqual({ n2: { n1: CUT } })
    expect(log()).toEqual(['n1>n2: cut'])
  })

  it('slow and lose act in both directions of n1-n2', async () => {
    const { run, faults } = setUp()
    await run('slow n1-n2 5..20')
    const slow = { cut: false, delayMs: [5, 20], loss: 0 }
    expect(faults()).toEqual({ n1: { n2: slow }, n2: { n1: slow } })
    await run('lose n1-n2 0.3')
    const lossy = { cut: false, delayMs: [0, 0], loss: 0.3 }
    expect(faults()).toEqual({ n1: { n2: lossy }, n2: { n1: lossy } })
  })

  it('partition cuts the links between the parts and the rest, and replaces earlier faults', async () => {
    const { run, log, faults } = setUp()
    await run('cut n1-n2')
    await run('partition n1,n2 n3')
    expect(faults()).toEqual({
      n1: { n3: CUT, n4: CUT },
      n2: { n3: CUT, n4: CUT },
      n3: { n1: CUT, n2: CUT, n4: CUT },
      n4: { n1: CUT, n2: CUT, n3: CUT },
    })
    expect(log().at(-1)).toBe('partition: n1,n2 | n3 | n4')
  })

  it('heal removes the faults of one link, or all', async () => {
    const { run, faults } = setUp()
    await run('cut n1-all')
    await run('heal n1-n2')
    expect(faults()).toEqual({ n1: { n3: CUT, n4: CUT }, n3: { n1: CUT }, n4: { n1: CUT } })
    await run('heal')
    expect(faults()).toEqual({})
  })
})

it.each(['', '   ', '# a comment'])('ignores "%s"', async (line) => {
  const { run, log } = setUp()
  await run(line)
  expect(log()).toEqual([])
})

it.each([
  ['dance', '"dance": unknown command; use kill, restart'],
  ['kill', 'kill: takes 1 argument, not 0'],
  ['heal n1-n2 now', 'heal: takes 0 to 1 arguments, not 2'],
  ['kill n9', '"n9": unknown node; use n1, n2, n3, n4, leader or all'],
  ['cut n1', '"n1": not a link; write n1>n2 or n1-n2'],
  ['slow n1-n2 9..3', 'slow 9..3: the range is reversed; write 3..9'],
  ['slow n1-n2 fast', 'slow fast: write a number of milliseconds'],
  ['lose n1-n2 30', 'lose 30: write a number from 0 to 1, such as 0.3'],
  ['sleep', 'sleep: takes 1 argument, not 0'],
])('refuses %s', async (line, problem) => {
  await expect(setUp().run(line)).rejects.toThrow(problem)
})
