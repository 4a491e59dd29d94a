import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from '../../test/support/cli.ts'
import { messageWithPlace, placeOf } from './error-place.ts'

const stacked = (...lines: readonly string[]): Error =>
  Object.assign(new TypeError('gone'), { stack: ['TypeError: gone', ...lines].join('\n') })

describe('the place of an error', () => {
  it.each([
    [['    at Object.step (file:///home/me/my%20rules.mjs:117:62)'], '/home/me/my rules.mjs:117'],
    [['    at file:///home/me/rules.mjs:3:5'], '/home/me/rules.mjs:3'],
    [['    at /home/me/rules.cjs:3:5'], '/home/me/rules.cjs:3'],
    [['    at node:internal/x:1:2', '    at async f (file:///home/me/a.mjs:9:1)'], '/home/me/a.mjs:9'],
    [[`    at f (${import.meta.url}:1:2)`, '    at f (/x/node_modules/zod/a.js:1:2)'], null],
    [[], null],
  ])('in %j is %j', (lines, place) => {
    expect(placeOf(stacked(...lines))).toBe(place)
  })

  it('precedes the name and the first line of the message', () => {
    expect(messageWithPlace(stacked('    at f (/home/me/a.mjs:9:1)'))).toBe(
      '/home/me/a.mjs:9: TypeError: gone',
    )
    expect(messageWithPlace(stacked())).toBe('gone')
  })
})

describe('an error in a protocol of the user', () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-own-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const core = new URL('../../dist/core/public.js', import.meta.url).href
  const rules = readFileSync(new URL('../../examples/own-protocol/ballot.mjs', import.meta.url), 'utf8')
    .replaceAll("'conclave/core'", JSON.stringify(core))
    .replace("'zod'", JSON.stringify(import.meta.resolve('zod')))
    .replace(
      "'./one-winner.mjs'",
      JSON.stringify(new URL('../../examples/own-protocol/one-winner.mjs', import.meta.url).href),
    )
  const scenario = join(folder, 'scenario.json')
  writeFileSync(scenario, JSON.stringify({ protocol: 'ballot', nodes: [1, 2, 3], seed: 1, untilMs: 2000 }))

  it.each([
    ['a syntax error', 'syntax.mjs', `import {{ } from 'x'\n${rules}`, 2, 1],
    ['an error while it is loaded', 'load.mjs', `nothing.there\n${rules}`, 2, 1],
    [
      'an error in a step',
      'step.mjs',
      rules.replace("if (input.type === 'timer') return stand(state)", 'state.nothing.there'),
      1,
      rules.split('\n').findIndex((line) => line.includes("if (input.type === 'timer')")) + 1,
    ],
  ])('%s names the file and the line', async (_what, name, content, exit, line) => {
    const file = join(folder, name)
    writeFileSync(file, content)
    const { code, stderr } = await conclave(['sim', scenario, '--load', file])
    expect(code).toBe(exit)
    expect(stderr).toContain(`${file}:${line}`)
  })

  it('names the file and the line in a campaign, too', async () => {
    const seeds = ['--protocol', 'ballot', '--nodes', '3', '--seeds', '1..2', '--workers', '1']
    const { stdout } = await conclave(['sim', ...seeds, '--load', join(folder, 'step.mjs'), '--json'])
    expect(JSON.parse(stdout).violations[0].why).toMatch(/step\.mjs:\d+: TypeError: Cannot read properties/)
  })
})
