import { describe, expect, it } from 'vitest'
import { ids, simulate } from '../../../test/support/run.ts'
import type { Message, NodeId, PlainObject } from '../../core/index.ts'
import { assertion4 } from '../../workbench/specs/assertion-4.ts'
import type { Spec } from '../../workbench/specs/index.ts'
import { specNamed } from '../../workbench/specs/index.ts'
import { invitationDefinition } from './index.ts'

const QUICK = {
  checkPeriodMs: 600,
  timeoutPeriodMs: 400,
  queryTimeoutMs: 40,
  acceptWindowMs: 60,
  acceptTimeoutMs: 40,
  readyTimeoutMs: 40,
  jitter: 0,
}

function run(nodes: readonly NodeId[], options: PlainObject, more: PlainObject) {
  return simulate({
    protocol: 'invitation',
    nodes,
    options: { ...QUICK, ...options },
    network: { delayMs: 10 },
    untilMs: 10_000,
    ...more,
  })
}

const violations = (report: ReturnType<typeof run>) =>
  report.specs.flatMap((spec) => (spec.verdict === 'violated' ? [[spec.name, spec.why]] : []))

/** A stable 5-cycle, reached from boot by three link events. */
function fiveCycle(policy: string) {
  const slow = { ...QUICK, checkPeriodMs: 5000, timeoutPeriodMs: 200, priorityDelayMs: 20, policy }
  return run(
    [1, 2, 3, 4, 5],
    { ...slow, checkPhaseMs: { 1: 4000, 2: 2000, 3: 5000, 4: 3000, 5: 1000 } },
    {
      links: [],
      events: [
        { atMs: 3500, links: [[1, 2]] },
        {
          atMs: 4500,
          links: [
            [1, 2],
            [3, 4],
          ],
        },
        {
          atMs: 5500,
          links: [
            [1, 2],
            [2, 3],
            [3, 4],
            [4, 5],
            [1, 5],
          ],
        },
      ],
      untilMs: 200_000,
    },
  )
}

describe('the soft policy', () => {
  it('never settles on the stable 5-cycle: the groups rotate, period 5000 ms', () => {
    const report = fiveCycle('soft')
    const livelock = violations(report).find(([name]) => name === 'settles')
    expect(livelock?.[1]).toMatch(/^livelock: \d+ changes of leader .* repeating every 5000 ms$/)
  })

  it('lets two connected nodes invite each other for ever', () => {
    const livelocks = Array.from({ length: 40 }, (_, offset) =>
      run(
        [1, 2],
        { policy: 'soft', priorityDelayMs: 50, checkPhaseMs: { 1: 100, 2: 100 + offset * 2 } },
        {
          network: { delayMs: 10 },
          untilMs: 60_000,
        },
      ),
    ).filter((report) => violations(report).length > 0)
    expect(livelocks.length).toBeGreaterThan(0)
    expect(livelocks.length).toBeLessThan(40)
  })
})

describe('the strict policy', () => {
  it('settles on the 5-cycle, with leaders that cannot talk to each other', () => {
    const report = fiveCycle('strict')
    expect(violations(report)).toEqual([])
    expect(report.leaders).toEqual([3, 5])
  })

  it('settles between two nodes for all phases of their checks', () => {
    for (let offset = 0; offset < 40; offset++) {
      const report = run([1, 2], { checkPhaseMs: { 1: 100, 2: 100 + offset * 2 } }, { untilMs: 20_000 })
      expect(violations(report)).toEqual([])
      expect(report.leaders).toEqual([2])
    }
  })

  it('splits with a partition and merges again in one step', () => {
    const report = run(
      ids(8),
      { checkPhaseMs: { 4: 200, 8: 100 } },
      {
        events: [
          {
            atMs: 3000,
            partition: [
              [1, 2, 3, 4],
              [5, 6, 7, 8],
            ],
          },
          { atMs: 7000, heal: 'all' },
        ],
        checkpointsMs: [2900, 6900],
        untilMs: 12_000,
      },
    )
    expect(report.checkpoints['2900']?.groups).toEqual([ids(8)])
    expect(report.checkpoints['6900']?.groups).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ])
    expect(report.groups).toEqual([ids(8)])
    expect(violations(report)).toEqual([])
  })
})

describe("Stoller's three nodes", () => {
  /** Highest instead of lowest priority, so his 1 is 3 here: 3 talks to 2 only, 2 to both. */
  const stoller = (specs: readonly Spec[]) =>
    simulate(
      {
        protocol: 'invitation',
        nodes: [1, 2, 3],
        options: { ...QUICK, checkPhaseMs: { 1: 500, 2: 400, 3: 100 } },
        network: { delayMs: 10 },
        events: [
          { atMs: 2000, crash: 3 },
          {
            atMs: 4000,
            links: [
              [1, 2],
              [2, 3],
            ],
          },
          { atMs: 4000, recover: 3 },
        ],
        untilMs: 20_000,
      },
      { strict: true, specs },
    )

  it("refute Assertion 4, while 4' holds", () => {
    const report = stoller([assertion4, specNamed("assertion-4'") as Spec])
    expect(report.groups).toEqual([[1], [2, 3]])
    const [four, fourPrime] = report.specs
    expect(four?.verdict).toBe('violated')
    expect(fourPrime?.verdict).toBe('held')
  })
})

describe('the rules of the strict policy', () => {
  const startNode = (self: number) => {
    const { options, create } = invitationDefinition
    const protocol = create({ self, nodes: [1, 2, 3] }, options([1, 2, 3]).parse({}))
    const { state } = protocol.start(null, 0)
    const receive = (from: number, body: Message, before = state) =>
      protocol.step(before, { type: 'message', from, body, receipt: null }, 0)
    return { state, receive }
  }
  const invitationOf = (coordinator: number, counter: number): Message => {
    return { kind: 'invitation', group: { coordinator, counter } }
  }
  /** Node 1 as a Normal member of group 2.2. */
  const member = () => {
    const { receive } = startNode(1)
    const group = { coordinator: 2, counter: 2 }
    const accepting = receive(2, invitationOf(2, 2)).state
    const accepted = receive(2, { kind: 'answer', to: 'accept', group, yes: true }, accepting).state
    return { receive, state: receive(2, { kind: 'ready', group, d: 2 }, accepted).state }
  }

  it('let a coordinator accept only from a higher coordinator', () => {
    const { state, receive } = startNode(2)
    expect(receive(1, invitationOf(1, 2))).toEqual({ state, effects: [] })
    expect(receive(3, invitationOf(3, 2)).state).toMatchObject({ status: 'Election' })
  })

  it('let a member accept only invitations that its own coordinator forwards', () => {
    const { state, receive } = member()
    expect(receive(3, invitationOf(3, 2), state)).toEqual({ state, effects: [] })
    expect(receive(2, invitationOf(3, 2), state).state).toMatchObject({ status: 'Election' })
  })

  it('refuse an invitation that is not newer than the last of the same coordinator', () => {
    const { state, receive } = member()
    const alone = receive(
      2,
      { kind: 'replyThere', group: { coordinator: 2, counter: 2 }, yes: false },
      state,
    ).state
    expect(alone).toMatchObject({ group: { coordinator: 1 } })
    expect(receive(2, invitationOf(2, 2), alone)).toEqual({ state: alone, effects: [] })
    expect(receive(2, invitationOf(2, 3), alone).state).toMatchObject({ status: 'Election' })
  })

  it('ignore a "no" that concerns a former group', () => {
    const { state, receive } = member()
    const former = { kind: 'replyThere', group: { coordinator: 2, counter: 1 }, yes: false }
    expect(receive(2, former, state)).toEqual({ state, effects: [] })
  })
})

describe('a merge', () => {
  it('includes the members of an invited coordinator, which forwards the invitation', () => {
    const report = run(
      [1, 2, 3, 4],
      { checkPhaseMs: { 4: 100, 3: 500, 2: 200, 1: 550 } },
      {
        events: [
          {
            atMs: 0,
            partition: [
              [1, 2],
              [3, 4],
            ],
          },
          { atMs: 3000, heal: 'all' },
        ],
        checkpointsMs: [2990, 3400],
        untilMs: 8000,
      },
    )
    expect(report.checkpoints['2990']?.groups).toEqual([
      [1, 2],
      [3, 4],
    ])
    expect(report.checkpoints['3400']?.groups).toEqual([[1, 2, 3, 4]])
    const before = report.checkpoints['2990']?.messages.byKind
    const accepts = (report.messages.byKind['accept'] ?? 0) - (before?.['accept'] ?? 0)
    expect([before?.['accept'], accepts]).toEqual([2, 3])
  })

  it.each([
    [1, [[1, 2]]],
    [0, [[1], [2]]],
  ])('with %i resends of a lost accept ends in %j', (resends, groups) => {
    const report = run(
      [1, 2],
      { resends, acceptWindowMs: 100, checkPhaseMs: { 2: 100, 1: 550 } },
      {
        events: [
          { atMs: 145, loss: 1 },
          { atMs: 155, loss: 0 },
        ],
        untilMs: 400,
      },
    )
    expect(report.groups).toEqual(groups)
  })
})

describe('group numbers', () => {
  const crashes = (counter: string) =>
    run(
      [1, 2, 3],
      { counter, checkPhaseMs: { 3: 100, 2: 300, 1: 500 } },
      {
        events: [
          { atMs: 2000, crash: 3 },
          { atMs: 2010, recover: 3 },
        ],
        untilMs: 8000,
      },
    )

  it('are used again after a crash when the counter is volatile, never when it is stable', () => {
    expect(violations(crashes('volatile')).map(([name]) => name)).toContain('group-numbers')
    expect(violations(crashes('stable'))).toEqual([])
  })
})

describe('the bounds of options', () => {
  it.each<[PlainObject, string]>([
    [{ acceptWindowMs: 29 }, 'options.acceptWindowMs: 29 is below 30, its least value here (three delays'],
    [{ acceptWindowMs: 60, resends: 2 }, 'options.acceptWindowMs: 60 is below 70'],
    [{ checkPeriodMs: 179 }, 'options.checkPeriodMs: 179 is below 180'],
    [{ queryTimeoutMs: 19 }, 'options.queryTimeoutMs: 19 is below 20'],
  ])('refuse %j, and name both sides of the bound', (options, message) => {
    expect(() => run([1, 2], options, {})).toThrow(message)
  })

  it('accept exact values, also values that are not binary fractions', () => {
    const tight = { queryTimeoutMs: 0.2, acceptTimeoutMs: 0.2, readyTimeoutMs: 0.2, acceptWindowMs: 0.3 }
    const network = { delayMs: 0.1 }
    expect(() => run([1, 2], { ...tight, checkPeriodMs: 0.9 }, { network, untilMs: 10 })).not.toThrow()
    const least = 'options.acceptWindowMs: 0.299 is below 0.3, its least value'
    expect(() => run([1, 2], { ...tight, acceptWindowMs: 0.299 }, { network })).toThrow(least)
  })

  it('accept a first check at once, and no delay for higher coordinators', () => {
    const report = run([1, 2], { policy: 'soft', priorityDelayMs: 0, checkPhaseMs: { 1: 0, 2: 300 } }, {})
    expect(report.leaders).toEqual([1])
  })
})
