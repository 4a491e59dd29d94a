import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { InvalidScenarioError, pathText, type ScenarioProblem, schemaProblems } from './problems.ts'

describe('a path', () => {
  it.each([
    ['', [], ''],
    ['', ['events', 1, 'crash'], 'events[1].crash'],
    ['network', ['rules', 0], 'network.rules[0]'],
    ['events[2]', ['node'], 'events[2].node'],
    ['', [3], '[3]'],
  ] as const)('from %j along %j is %j', (start, path, text) => {
    expect(pathText(start, path)).toBe(text)
  })
})

describe('the problems of a schema', () => {
  const schema = z.strictObject({
    nodes: z.array(z.number()),
    network: z.strictObject({ delayMs: z.number() }).optional(),
    events: z.array(z.strictObject({ atMs: z.number() })).default([]),
  })
  const problems = (value: object, place = ''): readonly ScenarioProblem[] => {
    const { error } = schema.safeParse(value)
    return error === undefined ? [] : schemaProblems(error, schema, place)
  }

  it('name the field of every wrong value', () => {
    expect(problems({ nodes: [1, 'x'] }).map(({ field }) => field)).toEqual(['nodes[1]'])
    expect(problems({ nodes: 1 }, 'file')[0]?.field).toBe('file.nodes')
  })

  it('suggest the nearest field for each unknown one', () => {
    expect(problems({ nodes: [], node: 1, evnts: 2 })).toEqual([
      { field: 'node', problem: 'unknown field; did you mean nodes?' },
      { field: 'evnts', problem: 'unknown field; did you mean events?' },
    ])
  })

  it('list the known fields where none is near, also inside lists and optional parts', () => {
    expect(problems({ nodes: [], network: { delayMs: 1, zzzzzz: 2 } })).toEqual([
      { field: 'network.zzzzzz', problem: 'unknown field (known: delayMs)' },
    ])
    expect(problems({ nodes: [], events: [{ atMs: 1, zzzzzz: 2 }] })).toEqual([
      { field: 'events[0].zzzzzz', problem: 'unknown field (known: atMs)' },
    ])
  })

  it('say only that a field is unknown without a schema', () => {
    const { error } = schema.safeParse({ nodes: [], other: 1 })
    expect(error === undefined ? [] : schemaProblems(error, null, '')).toEqual([
      { field: 'other', problem: 'unknown field' },
    ])
  })
})

describe('an invalid scenario', () => {
  const error = new InvalidScenarioError([
    { field: 'nodes', problem: 'is empty' },
    { field: '', problem: 'is not an object' },
  ])

  it('lists all problems, and names the first field', () => {
    expect(error.message).toBe('nodes: is empty\nis not an object')
    expect([error.field, error.code]).toEqual(['nodes', 'ERR_CONCLAVE_INVALID_SCENARIO'])
    expect(new InvalidScenarioError([]).field).toBe('')
  })
  it('can be located in its file', () => {
    const located = error.locate((field) => `f.json:${field === '' ? 1 : 2}:3`)
    expect(located.message).toBe('f.json:2:3: nodes: is empty\nf.json:1:3: is not an object')
    expect(located.problems[0]).toEqual({ field: 'nodes', problem: 'is empty', place: 'f.json:2:3' })
  })
})
