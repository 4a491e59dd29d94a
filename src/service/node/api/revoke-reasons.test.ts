/** The reason of a revoked term as the application receives it, with real processes that are stopped and continued. */
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { Program } from '../../../../test/support/program.ts'
import { until } from '../../../../test/support/wait.ts'

/**
 * Leads alone, with work that notices the end of its term in one of several ways. The longer stop is longer than
 * maxStallMs, which a busy machine does not reach.
 */
const LEADER = `
import { join } from 'conclave'
import { setTimeout as sleep } from 'node:timers/promises'
const [isolation, way] = JSON.parse(process.argv[2])
const say = (...words) => console.log(words.join(' '))
const node = await join({
  group: 'g', id: 'a', key: new Uint8Array(32).fill(7), listen: '127.0.0.1:0', peers: [], isolation, maxStallMs: 2000, options: { sigmaMs: 100 },
})
node.on('revoked', ({ token, reason, detail, cause }) => { say('revoked', token, reason); say('why', cause.kind, detail); say('text', cause.text) })
node.on('warning', ({ what, detail }) => say('warning', what, detail))
await node.lead(async (term) => {
  say('term', term.token)
  const tell = () => { say('signal', term.token, term.signal.reason.reason); say('message', term.signal.reason.message) }
  if (term.signal.aborted) tell()
  else term.signal.addEventListener('abort', tell)
  if (way === 'asserts') for (;;) { term.assertHeld(); await sleep(1) }
  if (way === 'asks') while (term.remaining() > 0) await sleep(1)
  if (way === 'awaits') await sleep(3_600_000, undefined, { signal: term.signal })
  if (way === 'steps down') { while (term.remaining() > 0) await sleep(1); say('steps', term.token); void node.stepDown() }
})
`

let programs: Program[] = []

afterEach(async () => {
  for (const program of programs) program.process.kill('SIGCONT')
  await Promise.all(programs.map((program) => program.kill()))
  programs = []
})

/** The cause of an end, in words. */
const PAUSED = /^a was (stopped for|late by) \d/

const tokenOf = (text: string): string => text.split(' ')[0] as string

/** Whether the work of the newest term runs. On a busy machine a term can end before its work begins. */
function isWorking(program: Program): boolean {
  const newest = program.said('term').at(-1)
  return newest !== undefined && !program.said('revoked').some((text) => tokenOf(text) === newest)
}

/** Stops processes that lead, and waits until each reports the end of a term. */
async function stopFor(stopped: readonly Program[], stoppedMs: number): Promise<void> {
  await until(() => stopped.every((program) => isWorking(program)))
  const before = stopped.map((program) => program.said('text').length)
  for (const program of stopped) program.process.kill('SIGSTOP')
  await setTimeout(stoppedMs)
  for (const program of stopped) program.process.kill('SIGCONT')
  await until(() =>
    stopped.every((program, index) => program.said('text').length > (before[index] as number)),
  )
}

describe('a process that was stopped for longer than its lease', () => {
  it('reports that the lease expired, no matter how its work noticed', async () => {
    const cases = ['worker', 'thread'].flatMap((isolation) =>
      ['asserts', 'asks', 'awaits', 'steps down'].map((way) => [isolation, way] as const),
    )
    programs = cases.map((words) => new Program(LEADER, [JSON.stringify(words)]))
    for (const stoppedMs of [600, 2600]) {
      const ended = new Map(programs.map((program) => [program, program.said('text').length]))
      const isNoticed = (program: Program): boolean =>
        program
          .said('text')
          .slice(ended.get(program))
          .some((text) => PAUSED.test(text))
      // On a busy machine a term may end by itself just before the stop. Then that process is stopped again.
      for (let attempt = 0; attempt < 10 && !programs.every(isNoticed); attempt += 1) {
        const others = programs.filter((program) => !isNoticed(program))
        // oxlint-disable-next-line no-await-in-loop -- one stop after the other
        await stopFor(others, stoppedMs)
      }
    }
    for (const [index, program] of programs.entries()) {
      // On a busy machine a new term may have begun by then, and that one is stepped down.
      const stepped = new Set(program.said('steps'))
      const isNewer = (text: string): boolean => text.endsWith(' stepped down') && !stepped.has(tokenOf(text))
      const reasons = program
        .said('revoked')
        .flatMap((text) => (stepped.size > 0 && isNewer(text) ? [] : [text.replace(/^\d+ /, '')]))
      expect({ case: cases[index], reasons: [...new Set(reasons)] }).toEqual({
        case: cases[index],
        reasons: ['expired'],
      })
      // The signal and the event have the same reason, in every term whose work began.
      const began = new Set(program.said('term'))
      const revoked = program.said('revoked').filter((text) => began.has(tokenOf(text)))
      expect(program.said('signal').slice(0, revoked.length)).toEqual(revoked)
      // The pause is named in the event, in its sentence, and in the error of the signal.
      const paused = /this node was (stopped for|late by) \d/
      expect(program.said('why')).toContainEqual(expect.stringMatching(paused))
      expect(program.said('text')).toContainEqual(expect.stringMatching(PAUSED))
      const message = new RegExp(`^this node no longer leads: expired: ${paused.source}`)
      expect(program.said('message')).toContainEqual(expect.stringMatching(message))
      // Warnings gather what happens within a second.
      // oxlint-disable-next-line no-await-in-loop -- one program after the other
      await until(() => program.said('warning').some((text) => /^(paused|late) this node was /.test(text)))
    }
  }, 60_000)
})
