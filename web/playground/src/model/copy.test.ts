import { describe, expect, it } from 'vitest'
import { commandText, scenarioText, testText } from './copy.ts'

const SCENARIO = {
  protocol: 'bully',
  nodes: [1, 2, 3],
  events: [
    { atMs: 50, crash: 3 },
    { atMs: 60, partition: [[1], [2]] },
  ],
  untilMs: 300,
}

describe('a copied run', () => {
  it('as a scenario is JSON with one event per line', () => {
    const text = scenarioText(SCENARIO)
    expect(JSON.parse(text)).toEqual(SCENARIO)
    expect(text).toBe(
      [
        '{',
        '  "protocol": "bully",',
        '  "nodes": [1, 2, 3],',
        '  "events": [',
        '    { "atMs": 50, "crash": 3 },',
        '    { "atMs": 60, "partition": [[1], [2]] }',
        '  ],',
        '  "untilMs": 300',
        '}',
        '',
      ].join('\n'),
    )
  })

  it('as a command gives the scenario by standard input', () => {
    expect(commandText(SCENARIO, null)).toMatch(
      /^conclave sim - --transcript <<'SCENARIO'\n\{\n[^]*\}\nSCENARIO\n$/,
    )
    expect(commandText(SCENARIO, { name: "my protocol's", text: '' })).toContain(
      `--load 'my protocol'\\''s.mjs' <<`,
    )
  })

  it('as a test expects the verdicts of the run', () => {
    const verdict = { title: '', why: '', judged: 1, at: null, moment: null } as const
    const text = testText(
      SCENARIO,
      [
        { ...verdict, name: 'agreement', verdict: 'violated' },
        { ...verdict, name: 'live-leader', verdict: 'vacuous' },
      ],
      null,
    )
    expect(text).toContain('test("bully violates agreement", () => {')
    expect(text).toContain('{ "agreement": "violated", "live-leader": "vacuous" }')
  })

  it('as a test takes the name of a module for a name, and for nothing else', () => {
    expect(testText(SCENARIO, [], { name: "x'; evil() //.mjs", text: '' })).toContain(
      `import * as own from "./x'; evil() //.mjs"\n`,
    )
  })
})
