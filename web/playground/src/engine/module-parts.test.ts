import { describe, expect, it } from 'vitest'
import type { EngineError } from './engine-error.ts'
import type { Done, OwnModule, Problem } from './messages.ts'
import { createSession } from './session.ts'

/** Every node leads. `next` comes from another file. */
const MAIN = `import { define } from 'conclave/core'
import { z } from 'zod'
import { next } from './next.mjs'

const view = { role: 'leader', leader: null, token: null, until: null, members: null, detail: null }
const again = (now) => [{ type: 'setTimer', name: 'tick', at: now + 1000 }]
export const protocol = define({
  name: 'proud', title: 'every node leads', source: 'a test', kinds: ['hello'],
  options: () => z.strictObject({}), promises: ['one-leader'], settlesWithin: () => 1000,
  create: () => ({
    start: (stable, now) => ({ state: { n: 0 }, effects: again(now) }),
    step: (state, input, now) => ({ state: { n: next(state) }, effects: again(now) }),
    view: () => view,
    shift: (state) => state,
  }),
})
`
const LIMIT = { name: 'limit.mjs', text: 'export const limit = 2\n' }

function run(next: string, parts = [LIMIT]): Promise<Done['run']> {
  const module: OwnModule = {
    name: 'proud.mjs',
    text: MAIN,
    parts: [...parts, { name: 'next.mjs', text: next }],
  }
  return createSession().ask({ type: 'run', scenario: { nodes: [1, 2], untilMs: 10 }, module })
}

function problemsOf(asked: Promise<unknown>): Promise<readonly Problem[]> {
  return asked.then(
    () => [],
    ({ problems }: EngineError) => problems,
  )
}

describe('a module with the files that it imports', () => {
  it('runs, and its files may import each other', async () => {
    const { picture } = await run(
      "import { limit } from './limit.mjs'\nexport const next = ({ n }) => Math.min(limit, n + 1)\n",
    )
    expect(picture).toMatchObject({ protocol: 'proud', cutShort: null })
  })

  it('has errors with the name of the file and the line', async () => {
    const { picture } = await run('\nexport const next = (state) => state.no.such()\n')
    expect(picture.cutShort).toMatch(/by an error: next\.mjs line 2: TypeError: /)
    expect(await problemsOf(run('\n\nnull.x\nexport const next = 1\n'))).toMatchObject([
      { place: 'next.mjs line 3' },
    ])
  })

  it('is refused with the line of an import that is missing', async () => {
    const missing = run("import { limit } from './limit.mjs'\nexport const next = ({ n }) => n\n", [])
    expect(await problemsOf(missing)).toEqual([
      { place: 'next.mjs line 1', message: expect.stringMatching(/^cannot import \.\/limit\.mjs: /) },
    ])
  })
})
