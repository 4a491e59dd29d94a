/** Bad input to the commands of the workbench. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave as run } from '../../test/support/cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'conclave-bad-input-'))
afterAll(() => rmSync(folder, { recursive: true }))

const conclave = (...words: readonly string[]) => run(words, { cwd: root })

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const QUIET = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 3000 }

describe('bad input prints one line and exits with 2', () => {
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
    ['a missing file', ['sim', join(folder, 'nowhere')], 'no such file'],
    ['a folder', ['sim', folder], 'cannot be read'],
    ['an empty node list', ['sim', bad('b10', { nodes: [] })], 'nodes: is empty'],
    ['a duplicate node', ['sim', bad('b11', { nodes: [1, 1] })], 'nodes[1]: 1 is listed twice'],
    [
      'an impossible step',
      ['sim', file('b12', { protocol: 'bully', nodes: [1, 2], schedule: [{ node: 1, do: 'recover' }] })],
      'schedule[0]: 1 is up',
    ],
    ['a backward range', 'sim --protocol bully --nodes 3 --seeds 9..2'.split(' '), 'the range is reversed'],
    ['a range that is none', 'sim --protocol bully --nodes 3 --seeds all'.split(' '), '--seeds all'],
    ['no seeds', 'sim --protocol bully --nodes 3'.split(' '), '--seeds'],
    ['zero nodes in a campaign', 'sim --protocol bully --nodes 0 --seeds 1'.split(' '), '--nodes 0'],
    [
      'an unknown fault',
      'sim --protocol bully --nodes 3 --seeds 1 --faults rain'.split(' '),
      '"rain" is unknown',
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
      '--ticks 2: bully does not define the length of a tick',
    ],
    [
      'a tick of no length',
      ['sim', file('b17', { protocol: 'bully', nodes: [1, 2], schedule: [{ do: 'tick' }] })],
      'schedule[0]: bully does not define the length of a tick',
    ],
    ['too many nodes', 'explore --protocol bully --nodes 99'.split(' '), '--nodes 99'],
    ['an unknown order', 'explore --protocol bully --nodes 3 --order odd'.split(' '), '--order odd'],
    ['an unknown flag', ['explore', '--fast'], "unknown option '--fast'"],
    ['an unknown command', ['elect'], "unknown command 'elect'"],
    ['a ring of one', ['explore', '--protocol', 'ring', '--nodes', '1'], 'must be at least 2'],
    [
      'a crowd',
      ['sim', '--protocol', 'ring', '--nodes', '3..50000', '--seeds', '1..2'],
      'at most 10000 nodes can be simulated',
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
    ['a missing trace', ['replay', join(folder, 'nowhere')], 'no such file'],
    ['a bad trace to measure', ['qos', file('b16', '{}')], 'line 1: trace'],
    ['a missing trace to measure', ['qos', join(folder, 'nowhere')], 'no such file'],
    ['a module that is none', ['sim', file('b14', QUIET), '--load', join(folder, 'x.mjs')], '--load'],
    [
      'a trace that cannot be written',
      ['sim', file('b15', QUIET), '--trace', join(folder, 'no/x')],
      '--trace',
    ],
  ]

  it.each(cases)('%s', async (_what, words, message) => {
    const plain = await conclave(...words)
    expect(plain.code).toBe(2)
    expect(plain.stdout).toBe('')
    expect(plain.stderr).toMatch(/^conclave: [^\n]+\n$/)
    expect(plain.stderr).toContain(message)
    const json = await conclave(...words, '--json')
    expect([json.code, json.stderr]).toEqual([2, ''])
    expect(JSON.parse(json.stdout).error.message).toContain(message)
  })
})
