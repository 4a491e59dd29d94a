import { describe, expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import { catalogue } from '../../protocols/index.ts'
import { InvalidScenarioError, parseScenario } from './parse.ts'

const GOOD: PlainObject = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 1000 }

describe('a scenario', () => {
  it('gets every default that it leaves out', () => {
    expect(parseScenario(GOOD, catalogue)).toEqual({
      protocol: 'bully',
      nodes: [1, 2, 3],
      options: {
        answerTimeoutMs: 200,
        coordinatorTimeoutMs: 500,
        repaired: true,
        detector: 'nfd-e',
        heartbeatMs: 50,
        suspectAfterMs: 200,
        alphaMs: 150,
        window: 30,
        marginFloorMs: 25,
        phiThreshold: 8,
        sigmaFloorMs: 25,
        pauseMs: 0,
        longestSilenceMs: 500,
        maxDelayMs: 100,
        minDelayMs: 0,
        stepMs: 1,
        driftPpm: 100,
      },
      seed: 1,
      links: 'full',
      network: { delayMs: [0.2, 2], loss: 0, duplicate: 0, fifo: true, rules: [] },
      registers: null,
      clocks: { driftPpm: 0, lateMs: 0 },
      initial: null,
      events: [],
      untilMs: 1000,
      checkpointsMs: [],
      schedule: null,
    })
  })

  it('reads the same after a trip through a file', () => {
    const scenario = parseScenario(
      { ...GOOD, events: [{ atMs: 5, crash: 1 }], initial: { leader: 3 }, checkpointsMs: [7] },
      catalogue,
    )
    expect(parseScenario(JSON.parse(JSON.stringify(scenario)), catalogue)).toEqual(scenario)
  })

  it('is checked against its own nodes and protocol, whichever file was read before', () => {
    const crashOf4 = (file: PlainObject) => () =>
      parseScenario({ ...GOOD, ...file, events: [{ atMs: 1, crash: 4 }] }, catalogue)
    const unknown = 'events[0].crash: 4 is not one of the nodes (1, 2, 3)'
    expect(crashOf4({})).toThrow(unknown)
    expect(crashOf4({ nodes: [1, 2, 3, 4] })().nodes).toEqual([1, 2, 3, 4])
    expect(crashOf4({})).toThrow(unknown)
    expect(crashOf4({ protocol: 'ring', options: { answerTimeoutMs: 200 } })).toThrow(
      'options.answerTimeoutMs',
    )
    expect(crashOf4({ nodes: ['1', '2', '3', '4'] })).toThrow('events[0].crash: 4 is not one of the nodes')
  })

  it('may name its nodes with strings, in any order', () => {
    expect(parseScenario({ ...GOOD, nodes: ['b', 'a'] }, catalogue).nodes).toEqual(['b', 'a'])
  })
})

describe('an error names the field and its place', () => {
  const event = (fields: PlainObject): PlainObject => ({ events: [{ atMs: 1, crash: 1 }, fields] })
  it.each<[PlainObject, string]>([
    [
      { protocol: 'buly' },
      'protocol: unknown protocol "buly" (known: ring, bully, bully-gm, invitation, local-leader, ',
    ],
    [{ protocol: 5 }, 'protocol: 5 is not a string'],
    [{ nodes: [] }, 'nodes: is empty'],
    [{ nodes: [1, 2, 1] }, 'nodes[2]: 1 is listed twice'],
    [{ nodes: [1, '1'] }, 'nodes[1]: 1 is listed twice'],
    [{ nodes: [1.5] }, 'nodes[0]: 1.5 is not an integer or a string'],
    [{ nodes: [''] }, 'nodes[0]: must be a non-empty string'],
    [{ nodes: 'all' }, 'nodes: "all" is not a list'],
    [{ seed: -1 }, 'seed: -1 is out of bounds: it must be at least 0'],
    [{ network: { loss: 2 } }, 'network.loss: 2 is out of bounds: it must be at most 1'],
    [event({ crash: 1 }), 'events[1].atMs: is missing: write a finite number'],
    [event({ atMs: 1, partition: [] }), 'events[1].partition: has 0 entries: it needs at least 1'],
    [{ nods: [1] }, 'nods: unknown field'],
    [{ options: { answerTimeoutMs: -1 } }, 'options.answerTimeoutMs: '],
    [{ options: { answerTimeout: 1 } }, 'options.answerTimeout: unknown field'],
    [{ options: { detector: 'psychic' } }, 'options.detector: "psychic" is not one of "none", "fixed", '],
    [{ options: { heartbeatMs: 0 } }, 'options.heartbeatMs: '],
    [{ options: { window: 0 } }, 'options.window: '],
    [{ options: { phiThreshold: 0.5 } }, 'options.phiThreshold: '],
    [
      { options: { detector: 'fixed', suspectAfterMs: 40 } },
      'options.suspectAfterMs: 40 is too small: it must be at least 50 (heartbeatMs), or every pause',
    ],
    [
      { options: { alphaMs: 460 } },
      'options.longestSilenceMs: 500 is too small: it must be at least 510 ' +
        '(heartbeatMs + alphaMs, 50 + 460), or it cuts off every estimate',
    ],
    [
      { options: { detector: 'bertier', marginFloorMs: 500 } },
      'options.longestSilenceMs: 500 is too small: it must be at least 550',
    ],
    [
      { options: { detector: 'phi', sigmaFloorMs: 100 } },
      'options.longestSilenceMs: 500 is too small: it must be at least 611.201',
    ],
    [
      { options: { detector: 'reliable', minDelayMs: 5, maxDelayMs: 2 } },
      'options.maxDelayMs: 2 is too small: it must be at least 5 (minDelayMs), or',
    ],
    [{ options: { detector: 'reliable', minDelayMs: -1 } }, 'options.minDelayMs: '],
    [{ seed: 1.5 }, 'seed: '],
    [{ untilMs: -5 }, 'untilMs: '],
    [{ untilMs: Number.POSITIVE_INFINITY }, 'untilMs: '],
    [{ untilMs: 1e15 }, 'untilMs: '],
    [{ network: { loss: 1.1 } }, 'network.loss: '],
    [{ network: { loss: -0.1 } }, 'network.loss: '],
    [{ network: { speed: 1 } }, 'network.speed: unknown field'],
    [{ network: { delayMs: [5, 2] } }, 'network.delayMs: runs backwards'],
    [{ network: { rules: [{ from: 9 }] } }, 'network.rules[0].from: 9 is not one of the nodes (1, 2, 3)'],
    [{ network: { rules: [{ kind: 'telegram' }] } }, 'network.rules[0].kind: '],
    [{ clocks: { driftPpm: -3 } }, 'clocks.driftPpm: '],
    [{ links: [[1, 9]] }, 'links[0][1]: 9 is not one of the nodes (1, 2, 3)'],
    [{ links: 'some' }, 'links: is neither "full" nor a list of pairs of nodes'],
    [{ initial: { leader: 7 } }, 'initial.leader: 7 is not one of the nodes'],
    [{ initial: { leader: 3, members: [1, 2] } }, 'initial: the leader is not among the members'],
    [{ checkpointsMs: [2000] }, 'checkpointsMs[0]: 2000 is after untilMs (1000)'],
    [event({ atMs: -1, crash: 1 }), 'events[1].atMs: '],
    [event({ atMs: 1001, crash: 1 }), 'events[1].atMs: 1001 is after untilMs (1000)'],
    [event({ atMs: 1, crash: 9 }), 'events[1].crash: 9 is not one of the nodes (1, 2, 3)'],
    [event({ atMs: 1, explode: 1 }), 'events[1].explode: unknown event (known: crash,'],
    [event({ atMs: 1, crash: 1, hard: true }), 'events[1].hard: unknown field'],
    [event({ atMs: 1, pause: 1 }), 'events[1].forMs: '],
    [event({ atMs: 1, cut: [[1, 1]] }), 'events[1].cut[0]: a node has no link to itself'],
    [event({ atMs: 1, partition: [[1], [4]] }), 'events[1].partition[1][0]: 4 is not one of the nodes'],
    [event({ atMs: 1, command: { node: 1, do: 'dance' } }), 'events[1].command.do: '],
    [
      event({ atMs: 1, command: { node: 1, do: 'detect', of: 8 } }),
      'events[1].command.of: 8 is not one of the nodes',
    ],
    [event({ crash: 1 }), 'events[1].atMs: '],
    [event({ atMs: 1, drift: 9, ppm: 1 }), 'events[1].drift: 9 is not one of the nodes (1, 2, 3)'],
    [event({ atMs: 1, drift: 1 }), 'events[1].ppm: '],
    [event({ atMs: 1, drift: 1, ppm: -1_000_000 }), 'events[1].ppm: '],
    [event({ atMs: 1, drift: 1, ppm: 1e9 }), 'events[1].ppm: '],
    [event({ atMs: 1, skew: 'a', byMs: 1 }), 'events[1].skew: "a" is not one of the nodes (1, 2, 3)'],
    [event({ atMs: 1, skew: 1, forMs: 1 }), 'events[1].byMs: '],
    [event({ atMs: 1, skew: 1, byMs: 1e15 }), 'events[1].byMs: '],
    [event({ atMs: 1, drop: -1 }), 'events[1].drop: '],
    [event({ atMs: 1, drop: 1.5 }), 'events[1].drop: '],
    [event({ atMs: 1, drop: 'election' }), 'events[1].drop: '],
    [event({ atMs: 1, delay: 3 }), 'events[1].forMs: '],
    [event({ atMs: 1, delay: 3, forMs: -5 }), 'events[1].forMs: '],
    [event({ atMs: 1, copy: 3, forMs: 5 }), 'events[1].forMs: unknown field'],
    [event({ atMs: 1, copy: 3, afterMs: -5 }), 'events[1].afterMs: '],
    [{ untilMs: undefined as never, schedule: [{ node: 1, do: 'jump' }] }, 'schedule[0].do: '],
    [{ untilMs: undefined as never, schedule: [{ node: 1, do: 'deliver' }] }, 'schedule[0].from: '],
    [{ untilMs: undefined as never, schedule: [{ node: 1, do: 'tick' }] }, 'schedule[0].node: unknown field'],
    [{ untilMs: undefined as never, schedule: [{ do: 'crash' }] }, 'schedule[0].node: '],
    [{ schedule: [{ node: 1, do: 'crash' }] }, 'untilMs: a schedule has no time'],
    [
      event({
        atMs: 1,
        partition: [
          [1, 2],
          [2, 3],
        ],
      }),
      'events[1].partition: a node is in two blocks',
    ],
    [event({ atMs: 1, toString: 1 }), 'events[1].toString: unknown event'],
    [event({ atMs: 1 }), 'events[1]: does not say what happens'],
    [{ initial: { leader: 3, members: [3, 3] } }, 'initial: a member is listed twice'],
    [{ seed: -1 }, 'seed: '],
    [
      { schedule: [], events: [{ atMs: 1, crash: 1 }] },
      'schedule: a scenario has events or a schedule, not both',
    ],
  ])('%j', (fields, message) => {
    const parse = () => parseScenario({ ...GOOD, ...fields }, catalogue)
    expect(parse).toThrow(InvalidScenarioError)
    try {
      parse()
    } catch (error) {
      expect((error as InvalidScenarioError).message).toContain(message)
      const { message: text, problems } = error as InvalidScenarioError
      expect(text.split('\n')).toHaveLength(problems.length)
    }
  })

  it.each<[PlainObject, string]>([
    [{ nodes: [1] }, 'nodes: ring needs at least 2 nodes'],
    [
      { options: { loads: { 1: Number.POSITIVE_INFINITY } } },
      'options.loads.1: Infinity is not a finite number',
    ],
    [{ options: { loads: { 1: -1 } } }, 'options.loads.1: '],
    [{ options: { loads: { 9: 1 } } }, 'options.loads.9: is not one of the nodes (1, 2, 3)'],
    [
      { events: [{ atMs: 1, command: { node: 1, do: 'abdicate' } }] },
      'events[0].command.do: "abdicate" is not one of "start", "setLoad"',
    ],
    [
      { events: [{ atMs: 1, command: { node: 1, do: 'setLoad', load: 'much' } }] },
      'events[0].command.load: ',
    ],
  ])('in a ring: %j', (fields, message) => {
    expect(() => parseScenario({ ...GOOD, protocol: 'ring', ...fields }, catalogue)).toThrow(message)
  })

  it.each([
    ['epochs', { members: 'registered' }, 'options.members: "registered"'],
    ['omega', { links: 'hosted' }, 'options.links: "hosted"'],
    ['local-leader', { link: 'hosted' }, 'options.link: "hosted"'],
  ])('%s as only real processes record it: %j', (protocol, options, message) => {
    expect(() => parseScenario({ ...GOOD, protocol, options }, catalogue)).toThrow(message)
  })

  it('reports all problems at once, each with its field', () => {
    const file = {
      protocol: 'bully',
      nodes: [1, 2, 3],
      seed: -1,
      netwrok: {},
      options: { detectr: 'none', answerTimeoutMs: 'soon' },
      events: [
        { atMs: 1, crash: 9 },
        { atMs: 2, crsh: 1 },
        { atMs: 9000, crash: 1 },
      ],
      untilMs: 1000,
    }
    let problems: InvalidScenarioError['problems'] = []
    try {
      parseScenario(file, catalogue)
    } catch (error) {
      problems = (error as InvalidScenarioError).problems
    }
    expect(problems.map(({ field }) => field)).toEqual([
      'options.answerTimeoutMs',
      'options.detectr',
      'seed',
      'netwrok',
      'events[0].crash',
      'events[1].crsh',
      'events[2].atMs',
    ])
  })

  it.each<[PlainObject, string]>([
    [{ protocol: 'buly' }, 'did you mean bully?'],
    [{ netwrok: {} }, 'netwrok: unknown field; did you mean network?'],
    [{ network: { los: 1 } }, 'network.los: unknown field; did you mean loss?'],
    [{ network: { speed: 1 } }, 'network.speed: unknown field (known: delayMs, loss, '],
    [{ options: { detectr: 'none' } }, 'options.detectr: unknown field; did you mean detector?'],
    [{ events: [{ atMs: 1, crsh: 1 }] }, '; did you mean crash?'],
    [
      { events: [{ atMs: 1, crash: 1, afterEffect: 1 }] },
      'events[0].afterEffect: unknown field; did you mean afterEffects?',
    ],
  ])('suggests what may have been meant: %j', (fields, message) => {
    expect(() => parseScenario({ ...GOOD, ...fields }, catalogue)).toThrow(message)
  })

  it('also where there is no scenario at all', () => {
    for (const file of [null, [], 7, 'bully'])
      expect(() => parseScenario(file, catalogue)).toThrow(InvalidScenarioError)
    const { untilMs: _untilMs, ...endless } = GOOD
    expect(() => parseScenario(endless, catalogue)).toThrow('untilMs: is missing')
  })
})
