/** Jobs of real processes that are killed: they continue from the last committed checkpoint, and no output is lost or repeated. */
import { expect, it } from 'vitest'
import { expectOnce, JobNodes, until } from '../../../../test/support/job-nodes.ts'
import { sized } from '../../../../test/support/sizes.ts'

const LAST = 20

/** Counts, with one output and one checkpoint per number. It does not pass 8 before the test lets it. */
const COUNT = `
const handle = cluster.job('count', async (ctx) => {
  let { n } = (await ctx.restore()) ?? { n: 0 }
  say('from', n, ctx.token)
  while (n < ${LAST}) {
    while (n === 8 && !has('go')) { ctx.signal.throwIfAborted(); await wait(10) }
    n += 1
    ctx.emit(n, 'output ' + n)
    await ctx.checkpoint({ n, picture: new Uint8Array(50_000).fill(n) })
    say('committed', n)
    ctx.progress(n / ${LAST}, 'number ' + n)
  }
  return { total: n }
})
follow(handle).then(async () => {
  const outputs = await cluster.logs('count')
  say('outputs', outputs.map(({ seq }) => seq).join(), outputs.every(({ seq, output }) => output === 'output ' + seq))
})
`

async function expectDone(nodes: JobNodes): Promise<void> {
  for (const result of await nodes.all('result count')) expect(JSON.parse(result)).toEqual({ total: LAST })
  for (const line of await nodes.all('outputs')) {
    const [numbers = '', isRight] = line.split(' ')
    expect(isRight).toBe('true')
    expectOnce(numbers, LAST)
  }
}

it('continues a job of a killed owner from its last checkpoint, and every output is accepted once', async () => {
  const nodes = await JobNodes.start('abc', COUNT)
  const [owner] = await nodes.first('committed 8')
  await nodes.kill(owner)
  nodes.tell('go')
  const [heir, from] = await nodes.first('from 8')
  expect(heir).not.toBe(owner)
  expect(Number(from)).toBeGreaterThan(Number(nodes.said(owner, 'from')[0]?.split(' ')[1]))
  await expectDone(nodes)
  nodes.revive(owner)
  await expectDone(nodes)
}, 180_000)

/** Holders fetch columns as large as these. */
it('continues a job with 12 MB of state', async () => {
  const nodes = await JobNodes.start(
    'abc',
    `
// A loop that is fast also on a busy machine: a job that blocks its thread is moved.
const picture = new Uint8Array(12_000_000)
for (let at = 0; at < picture.length; at += 1) picture[at] = at % 251
follow(cluster.job('large', async (ctx) => {
  const found = await ctx.restore()
  if (found !== undefined) {
    const isGood = Buffer.compare(found.picture, picture) === 0
    say('restored', isGood)
    return { isGood }
  }
  await ctx.checkpoint({ picture })
  say('stored')
  while (true) { ctx.signal.throwIfAborted(); await wait(10) }
}))
`,
  )
  const [owner] = await nodes.first('stored')
  await nodes.kill(owner)
  const [heir, isGood] = await nodes.first('restored')
  expect(heir).not.toBe(owner)
  expect(isGood).toBe('true')
  for (const result of await nodes.all('result large')) expect(JSON.parse(result)).toEqual({ isGood: true })
}, 180_000)

it('continues a job whose owner is killed when it begins a checkpoint (step 1)', async () => {
  const nodes = await JobNodes.start('abc', COUNT)
  const [owner] = await nodes.first('committed 8')
  nodes.tell(`die-${owner}`, '1')
  nodes.tell('go')
  await until(() => nodes.isDead(owner))
  const [, from] = await nodes.first('from')
  expect(Number(from.split(' ')[0])).toBeGreaterThanOrEqual(8)
  await expectDone(nodes)
}, 180_000)

it('continues a job when its owner is killed, returns, and is killed when it reports its columns (step 8)', async () => {
  const nodes = await JobNodes.start('abc', COUNT)
  const [owner] = await nodes.first('committed 8')
  await nodes.kill(owner)
  nodes.tell(`die-${owner}`, '8')
  nodes.revive(owner)
  await until(() => nodes.isDead(owner))
  nodes.take(`die-${owner}`)
  nodes.revive(owner)
  nodes.tell('go')
  const [heir] = await nodes.first('from 8')
  expect(nodes.ids).toContain(heir)
  await expectDone(nodes)
}, 180_000)

it.each(sized([2, 5, 7], [2, 3, 4, 5, 6, 7]))(
  'continues a job when the node that begins step %i of its recovery is killed',
  async (step) => {
    const nodes = await JobNodes.start('abcde', COUNT)
    const [owner] = await nodes.first('committed 8')
    nodes.tell('die', String(step))
    await nodes.kill(owner)
    await until(() => nodes.living.length < 4)
    nodes.take('die')
    nodes.tell('go')
    // At most two are gone: the number that five nodes tolerate.
    expect(nodes.living).toHaveLength(3)
    await nodes.first('from 8')
    await expectDone(nodes)
  },
  180_000,
)
