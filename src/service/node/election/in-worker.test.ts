/** The worker of the election, when the application is blocked, fails or ends; with real processes. */
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { Program } from '../../../../test/support/program.ts'
import { until } from '../../../../test/support/wait.ts'

/** Joins with two others that only vote, leads, and then acts as its arguments say. */
const LEADER = `
import { join } from 'conclave'
const [ports, maxStallMs, blockMs, isolation, sigmaMs] = JSON.parse(process.argv[2])
const say = (...words) => console.log(words.join(' '))
const key = new Uint8Array(32).fill(7)
const ids = ['a', 'b', 'c']
const member = (id, more) => join({
  group: 'g', id, key, listen: '127.0.0.1:' + ports[ids.indexOf(id)],
  peers: ids.filter((other) => other !== id).map((other) => other + '=127.0.0.1:' + ports[ids.indexOf(other)]),
  options: { sigmaMs }, ...more,
})
const node = await member('a', { maxStallMs, isolation })
node.on('revoked', ({ reason }) => say('revoked', reason))
node.on('warning', ({ what, detail }) => say('warning', what, detail))
const block = (ms) => { const end = performance.now() + ms; while (performance.now() < end) ; }
let terms = 0
await node.lead(async (term) => {
  terms += 1
  say('term', term.token)
  if (terms > 1) return
  // A blocked thread handles no messages: the question after it must be answered without them.
  block(blockMs)
  try { term.assertHeld(); say('after', 'held') } catch (error) { say('after', error.name) }
  await new Promise((resolve) => setTimeout(resolve, 50))
  try { term.assertHeld(); say('later', 'held') } catch (error) { say('later', error.name, error.reason) }
  // A work that returns would hand over.
  if (!term.signal.aborted) await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
})
`

/** Votes, and prints the leader that it sees. */
const VOTER = `
import { join } from 'conclave'
const [id, ports, sigmaMs] = JSON.parse(process.argv[2])
const ids = ['a', 'b', 'c']
const node = await join({
  group: 'g', id, key: new Uint8Array(32).fill(7), listen: '127.0.0.1:' + ports[ids.indexOf(id)],
  peers: ids.filter((other) => other !== id).map((other) => other + '=127.0.0.1:' + ports[ids.indexOf(other)]),
  options: { sigmaMs },
})
for await (const { leader } of node.observe()) console.log('sees ' + (leader === null ? 'none' : leader.id))
`

let programs: Program[] = []

afterEach(async () => {
  await Promise.all(programs.map((program) => program.kill()))
  programs = []
})

function started(source: string, words: unknown): Program {
  const program = new Program(source, [JSON.stringify(words)])
  programs.push(program)
  return program
}

async function blocked(
  maxStallMs: number,
  blockMs: number,
  isolation: string,
  sigmaMs = 100,
): Promise<[Program, Program]> {
  const ports = await freePorts(3)
  const leader = started(LEADER, [ports, maxStallMs, blockMs, isolation, sigmaMs])
  const voter = started(VOTER, ['b', ports, sigmaMs])
  await until(() => leader.said('later').length > 0 || leader.process.exitCode !== null)
  return [leader, voter]
}

describe('a main thread that is blocked', () => {
  it('for longer than its lease keeps the term, if not for longer than maxStallMs', async () => {
    // The lease lasts about 2 s: long enough for the worker of a busy machine, and it ends within the block.
    const [leader, voter] = await blocked(20_000, 6000, 'worker', 1000)
    expect([leader.said('after'), leader.said('later')]).toEqual([['held'], ['held']])
    const seen = voter.said('sees')
    expect(seen.slice(seen.indexOf('a'))).not.toContain('none')
    expect(leader.said('term')).toHaveLength(1)
  }, 40_000)

  it('loses its term after maxStallMs, in time, and knows at once; then it leads again', async () => {
    const [leader, voter] = await blocked(300, 3000, 'worker', 1000)
    expect(leader.said('after')).toEqual(['LeadershipLostError'])
    expect(leader.said('later')).toEqual(['LeadershipLostError stalled'])
    expect(leader.said('revoked')).toEqual(['stalled'])
    expect(leader.said('warning').some((text) => text.startsWith('stalled '))).toBe(true)
    await until(() => leader.said('term').length > 1)
    const [first, second] = leader.said('term').map(Number)
    expect(second).toBeGreaterThan(first as number)
    expect(voter.said('sees')).toContain('none')
  }, 40_000)

  it('loses its term when its lease ends, if the election runs in the same thread', async () => {
    const [leader] = await blocked(20_000, 3000, 'thread')
    expect(leader.said('after')).toEqual(['LeadershipLostError'])
    await until(() => leader.said('term').length > 1)
  }, 40_000)
})

/** Leads alone, then acts as its argument says. */
const ALONE = `
import { join } from 'conclave'
const threads = []
process.on('worker', (worker) => threads.push(worker))
const node = await join({ group: 'g', id: 'a', key: new Uint8Array(32).fill(7), listen: '127.0.0.1:0', peers: [] })
const say = (...words) => console.log(words.join(' '))
node.on('elected', ({ token }) => say('elected', token))
node.on('revoked', ({ reason }) => say('revoked', reason))
node.on('warning', ({ what, detail }) => say('warning', what, detail))
const what = JSON.parse(process.argv[2])
const led = node.lead(async (term) => {
  say('term', term.token)
  if (what === 'exit') process.exit(5)
  if (what === 'close') return void node.close()
  if (what === 'terminate') await threads[0].terminate()
  if (what === 'work') throw new Error('the work failed')
  if (!term.signal.aborted) await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
  try { term.assertHeld() } catch (error) { say('asked', error.name) }
})
led.then(() => say('led', 'until closed'), (error) => say('led', error.name, error.message))
`

describe('a process', () => {
  it('ends by itself once its node is closed', async () => {
    const program = started(ALONE, 'close')
    expect(await program.ended).toBe(0)
    expect(program.said('led')).toEqual(['until closed'])
    // On a busy machine it may have led once more before it was closed.
    expect(program.said('elected').length).toBeGreaterThan(0)
    expect(program.said('revoked')).toHaveLength(program.said('elected').length)
  }, 30_000)

  it('ends at once on process.exit, although its node is not closed', async () => {
    const program = started(ALONE, 'exit')
    expect(await program.ended).toBe(5)
  }, 30_000)

  it('whose worker of the election dies loses its term, reports it, and survives', async () => {
    const program = started(ALONE, 'terminate')
    expect(await program.ended).toBe(0)
    // On a busy machine a lease may have expired before.
    expect(program.said('revoked')).toHaveLength(program.said('elected').length)
    expect(program.said('asked').at(-1)).toBe('LeadershipLostError')
    expect(program.said('warning').join()).toContain('the worker thread of the election is gone')
    expect(program.said('led').join()).toContain('WorkerLostError')
    expect(program.errors).toEqual([])
  }, 30_000)

  it('whose work fails gets the error from lead, and continues', async () => {
    const program = started(ALONE, 'work')
    await until(() => program.said('led').length > 0)
    expect(program.said('led')).toEqual(['Error the work failed'])
    await until(() => program.said('revoked').length > 0)
    expect(program.process.exitCode).toBeNull()
  }, 30_000)
})
