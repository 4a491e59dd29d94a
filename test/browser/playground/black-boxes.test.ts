/** The black boxes of agents in the playground: one picture of one run, judged as `conclave replay` judges it. */
import { describe, expect, it } from 'vitest'
import { present } from '../../../src/core/index.ts'
import { protocolNamed } from '../../../src/protocols/index.ts'
import { writeTrace } from '../../../src/workbench/trace/index.ts'
import type { Problem } from '../../../web/playground/src/engine/messages.ts'
import { createSession } from '../../../web/playground/src/engine/session.ts'
import { recordings } from '../../support/recordings.ts'

type File = { readonly name: string; readonly text: string }

async function boxes(protocol: string, most?: number): Promise<readonly File[]> {
  const scenario = {
    protocol,
    nodes: ['a', 'b', 'c'],
    untilMs: 1500,
    clocks: { driftPpm: 50 },
    events: [
      { atMs: 600, crash: 'a' },
      { atMs: 900, recover: 'a' },
    ],
  }
  const { files } = await recordings(scenario, present(protocolNamed(protocol), protocol), most)
  return files.map(({ file, trace }) => ({ name: file, text: writeTrace(trace) }))
}

const problemsOf = (asked: Promise<unknown>): Promise<readonly Problem[]> =>
  asked.then(
    () => [],
    (error: { readonly problems: readonly Problem[] }) => error.problems,
  )

describe.each(['local-leader', 'omega'])('black boxes of %s', (protocol) => {
  it('show every step of every node, and the leader', async () => {
    const files = await boxes(protocol)
    const session = createSession()
    const { picture } = await session.ask({ type: 'open', files })
    expect(picture.nodes).toEqual(['a', 'b', 'c'])
    expect(picture.moments.length).toBeGreaterThan(50)
    expect(picture.flights.some(({ endedAt }) => endedAt !== null)).toBe(true)
    const leaders = picture.lanes
      .filter(({ roles }) => roles.some(({ leads }) => leads))
      .map(({ node }) => node)
    expect(leaders).toContain('a')
    expect(picture.verdicts.filter(({ verdict }) => verdict === 'violated')).toEqual([])
    const shown = await session.ask({ type: 'inspect', moment: picture.moments.length - 1, node: 'b' })
    expect(shown.state).not.toBeNull()
    expect(await session.ask({ type: 'why', moment: picture.moments.length - 1 })).not.toEqual([])
  })

  it('show the end of a run whose first steps are not kept', async () => {
    const { picture } = await createSession().ask({ type: 'open', files: await boxes(protocol, 40) })
    expect(picture.moments.filter(({ kind }) => kind === 'resume').length).toBeGreaterThan(0)
    expect(picture.lanes.some(({ roles }) => roles.some(({ leads }) => leads))).toBe(true)
  })

  it('of some nodes are shown, with what is missing', async () => {
    const files = (await boxes(protocol)).filter(({ name }) => !name.startsWith('c'))
    const { notice } = await createSession().ask({ type: 'open', files })
    expect(notice).toContain('there is no black box of c')
  })

  it('of another version are refused in words', async () => {
    const [first, ...rest] = await boxes(protocol)
    const lines = first?.text.split('\n') ?? []
    const index = lines.findLastIndex((line) => line.includes('"setTimer"'))
    const text = lines.with(index, lines[index]?.replace('"setTimer"', '"stopTimer"') ?? '').join('\n')
    const files = [{ name: 'a-0.ndjson', text }, ...rest]
    expect(await problemsOf(createSession().ask({ type: 'open', files }))).toEqual([
      {
        place: `a-0.ndjson line ${index + 1}`,
        message: expect.stringMatching(/^another version of Conclave wrote this black box/) as string,
      },
    ])
  })
})

it('a trace and a black box cannot be opened together', async () => {
  const [box] = await boxes('local-leader')
  const session = createSession()
  await session.ask({
    type: 'run',
    scenario: { protocol: 'bully', nodes: [1, 2], untilMs: 10 },
    module: null,
  })
  const files = [
    present(box, 'black box'),
    { name: 'run.ndjson', text: await session.ask({ type: 'trace' }) },
  ]
  expect((await problemsOf(session.ask({ type: 'open', files })))[0]?.message).toMatch(
    /not a trace of a real process/,
  )
})
